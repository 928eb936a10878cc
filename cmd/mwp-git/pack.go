package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// Limits on what a server may send. A few kilobytes of deltas can unfold into any
// number of bytes and objects, so each of them counts what comes out, not what
// comes in.
const (
	maxPack    = 512 << 20
	maxObjects = 1 << 20
	// maxUnfolded bounds all objects of a pack together, maxDelta one that is stored
	// as a difference and has to be in memory, maxHeld those that are in memory at
	// once while a pack is indexed, maxDepth a chain of differences, which git itself
	// cuts at 4095.
	maxUnfolded = 4 << 30
	maxDelta    = 128 << 20
	maxHeld     = 512 << 20
	maxDepth    = 4095
	// maxReread bounds the bytes that unfolding chains again produces while a module
	// is read.
	maxReread = 8 << 30
)

// pack is a received pack file with an index. The library's own parser and storage
// read the same format; they keep every object of a chain in memory and believe
// the sizes in headers.
type pack struct {
	file    *os.File
	scanner *packfile.Scanner
	entries []packEntry
	byID    map[plumbing.Hash]int32
	reread  int64
}

type packEntry struct {
	offset int64
	// stored is the length of what the pack has, size that of the object.
	stored, size int64
	kind         plumbing.ObjectType
	id           plumbing.Hash
	// base is the entry that a difference applies to, -1 for a whole object.
	base int32
}

// savePack copies a pack from the network into a file in dir and rewinds it.
func savePack(ctx context.Context, r io.Reader, dir string, p *progress) (*os.File, error) {
	f, err := os.CreateTemp(dir, "pack-")
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*os.File, error) { return nil, errors.Join(err, f.Close()) }
	var total int64
	buffer := make([]byte, 128<<10)
	for {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		n, err := r.Read(buffer)
		if total += int64(n); total > maxPack {
			return fail(tooMuch("bytes on the wire", maxPack))
		}
		if _, err := f.Write(buffer[:n]); err != nil {
			return fail(err)
		}
		if err == io.EOF {
			_, err := f.Seek(0, io.SeekStart)
			if err != nil {
				return fail(err)
			}
			return f, nil
		}
		if err != nil {
			return fail(err)
		}
		p.count("received %d KiB", total>>10)
	}
}

func tooMuch(what string, limit int64) error {
	return fail(protocol.TooLarge, "the repository sends more than %d %s", limit, what).hint("import from a smaller repository")
}

// indexPack reads a whole pack once and names every object in it. The pack owns
// the file from then on.
func indexPack(ctx context.Context, f *os.File, p *progress) (*pack, error) {
	k := &pack{file: f, scanner: packfile.NewScanner(f), byID: map[plumbing.Hash]int32{}}
	x := &indexing{pack: k, byOffset: map[int64]int32{}, children: map[int32][]int32{}, waiting: map[plumbing.Hash][]int32{}}
	err := x.scan(ctx, p)
	if err == nil {
		err = x.unfold(ctx, p)
	}
	if err != nil {
		k.close()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return k, nil
}

// indexing is a pack whose objects are being named.
type indexing struct {
	*pack
	byOffset map[int64]int32
	// children are the differences to an entry, waiting those to an object that has
	// not been named yet.
	children map[int32][]int32
	waiting  map[plumbing.Hash][]int32
	unfolded int64
}

// scan reads the entries in order and names the whole objects.
func (x *indexing) scan(ctx context.Context, p *progress) error {
	_, count, err := x.scanner.Header()
	if err != nil {
		return err
	}
	if count > maxObjects {
		return tooMuch("objects", maxObjects)
	}
	for i := range int32(count) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.scanEntry(i); err != nil {
			return err
		}
		p.count("read %d of %d objects", i+1, count)
	}
	_, err = x.scanner.Checksum()
	return err
}

func (x *indexing) scanEntry(i int32) error {
	h, err := x.scanner.NextObjectHeader()
	if err != nil {
		return err
	}
	if x.unfolded += h.Length; h.Length < 0 || x.unfolded > maxUnfolded {
		return tooMuch("bytes when unpacked", maxUnfolded)
	}
	e := packEntry{offset: h.Offset, stored: h.Length, size: h.Length, kind: h.Type, base: -1}
	var n int64
	switch h.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		hash := plumbing.NewHasher(h.Type, h.Length)
		if n, _, err = x.scanner.NextObject(hash); err == nil {
			e.id = hash.Sum()
		}
	case plumbing.OFSDeltaObject, plumbing.REFDeltaObject:
		var head prefix
		if n, _, err = x.scanner.NextObject(&head); err == nil {
			e.size, err = deltaSize(head.bytes)
		}
		e.kind = plumbing.InvalidObject
		if h.Length > maxDelta || e.size > maxDelta {
			return tooMuch("bytes in one object that is stored as a difference", maxDelta)
		}
		if x.unfolded += e.size; x.unfolded > maxUnfolded {
			return tooMuch("bytes when unpacked", maxUnfolded)
		}
	default:
		return fmt.Errorf("the pack has an object of the unknown kind %d", h.Type)
	}
	if err == nil && n != h.Length {
		err = fmt.Errorf("an object of the pack has %d bytes and promised %d", n, h.Length)
	}
	if err != nil {
		return err
	}
	x.entries = append(x.entries, e)
	x.byOffset[h.Offset] = i
	switch h.Type {
	case plumbing.OFSDeltaObject:
		base, ok := x.byOffset[h.OffsetReference]
		if !ok {
			return errors.New("the pack has a difference to nothing")
		}
		x.children[base] = append(x.children[base], i)
	case plumbing.REFDeltaObject:
		x.waiting[h.Reference] = append(x.waiting[h.Reference], i)
	default:
		x.name(i, e.id)
	}
	return nil
}

// name records an object and hands it the differences that waited for it.
func (x *indexing) name(i int32, id plumbing.Hash) {
	x.entries[i].id = id
	if _, ok := x.byID[id]; ok {
		return
	}
	x.byID[id] = i
}

// adopt moves the differences that name an object by its id to it.
func (x *indexing) adopt(i int32) {
	id := x.entries[i].id
	x.children[i] = append(x.children[i], x.waiting[id]...)
	delete(x.waiting, id)
}

// held is an object in memory whose differences are being applied.
type held struct {
	entry   int32
	depth   int
	content []byte
}

// unfold names the objects that are stored as differences, from their bases down.
// A content is dropped before its last difference is followed, so that a chain
// takes the memory of two objects.
func (x *indexing) unfold(ctx context.Context, p *progress) error {
	for i := range x.entries {
		if x.entries[i].kind == plumbing.InvalidObject {
			continue
		}
		x.adopt(int32(i))
		if len(x.children[int32(i)]) == 0 {
			continue
		}
		if x.entries[i].size > maxDelta {
			return tooMuch("bytes in one object that is stored as a difference", maxDelta)
		}
		content, err := x.stored(int32(i))
		if err != nil {
			return err
		}
		if err := x.unfoldFrom(ctx, held{int32(i), 0, content}, p); err != nil {
			return err
		}
	}
	for i := range x.entries {
		if x.entries[i].kind == plumbing.InvalidObject {
			return errors.New("the pack has a difference to an object that it does not have")
		}
	}
	return nil
}

func (x *indexing) unfoldFrom(ctx context.Context, root held, p *progress) error {
	stack := []held{root}
	size := int64(len(root.content))
	for len(stack) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		top := stack[len(stack)-1]
		children := x.children[top.entry]
		child := children[0]
		x.children[top.entry] = children[1:]
		if len(children) == 1 {
			stack = stack[:len(stack)-1]
			size -= int64(len(top.content))
		}
		content, err := x.apply(child, top.content)
		if err != nil {
			return err
		}
		e := &x.entries[child]
		e.kind, e.base = x.entries[top.entry].kind, top.entry
		x.name(child, plumbing.ComputeHash(e.kind, content))
		x.adopt(child)
		p.count("unfolded %d objects", len(x.byID))
		if len(x.children[child]) == 0 {
			continue
		}
		if top.depth+1 >= maxDepth {
			return tooMuch("differences in one chain", maxDepth)
		}
		if size += int64(len(content)); size > maxHeld {
			return tooMuch("bytes in objects that build on each other", maxHeld)
		}
		stack = append(stack, held{child, top.depth + 1, content})
	}
	return nil
}

// stored reads what the pack has for an entry.
func (k *pack) stored(i int32) ([]byte, error) {
	e := k.entries[i]
	if _, err := k.scanner.SeekObjectHeader(e.offset); err != nil {
		return nil, err
	}
	// The size is what scanEntry counted, not only what a header says.
	b := bytes.NewBuffer(make([]byte, 0, e.stored))
	_, _, err := k.scanner.NextObject(b)
	return b.Bytes(), err
}

// apply reads a difference and applies it to its base.
func (k *pack) apply(i int32, base []byte) ([]byte, error) {
	delta, err := k.stored(i)
	if err != nil {
		return nil, err
	}
	content, err := packfile.PatchDelta(base, delta)
	if err == nil && int64(len(content)) != k.entries[i].size {
		err = errors.New("a difference gives another size than it promised")
	}
	return content, err
}

// object implements objects.
func (k *pack) object(ctx context.Context, id string, limit int64) (string, []byte, error) {
	i, ok := k.byID[plumbing.NewHash(id)]
	if !ok || len(id) != 40 {
		return "", nil, fmt.Errorf("%w: %s", errMissing, id)
	}
	e := k.entries[i]
	if e.size > limit {
		return "", nil, tooLong(id, e.size, limit)
	}
	var chain []int32
	for at := i; at >= 0; at = k.entries[at].base {
		chain = append(chain, at)
	}
	content, err := k.stored(chain[len(chain)-1])
	for n := len(chain) - 2; n >= 0 && err == nil; n-- {
		if k.reread += int64(len(content)); k.reread > maxReread {
			return "", nil, tooMuch("bytes when chains of differences are unfolded", maxReread)
		}
		if err := ctx.Err(); err != nil {
			return "", nil, err
		}
		content, err = k.apply(chain[n], content)
	}
	return e.kind.String(), content, err
}

func (k *pack) close() {
	_ = k.file.Close()
	_ = os.Remove(k.file.Name())
}

// prefix keeps the first bytes written to it, which hold the sizes of a delta.
type prefix struct{ bytes []byte }

func (p *prefix) Write(b []byte) (int, error) {
	p.bytes = append(p.bytes, b[:min(len(b), 20-len(p.bytes))]...)
	return len(b), nil
}

// deltaSize returns the size of what a difference gives, its second number.
func deltaSize(b []byte) (int64, error) {
	var size int64
	for range 2 {
		size = 0
		for shift := 0; ; shift += 7 {
			if len(b) == 0 || shift > 56 {
				return 0, errors.New("the pack has a difference without sizes")
			}
			size |= int64(b[0]&0x7f) << shift
			more := b[0]&0x80 != 0
			b = b[1:]
			if !more {
				break
			}
		}
	}
	return size, nil
}

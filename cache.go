package mwp

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// CacheFormat is the version of the formats in the cache, the name of the
// directory that holds them.
const CacheFormat = "v1"

// Cache is the cache of one workspace, for looking at and for upkeep. What is in
// it can be computed again; nothing else is touched through it.
type Cache struct{ area *cas.Area }

// CacheStatus is what a cache holds and where (D-54).
type CacheStatus struct {
	// Dir is the directory of this version of the formats, "" when there is none:
	// without an anchor nothing is kept (D-04).
	Dir string
	// Size is in bytes. Slots are finished maps, Records the parts they were computed
	// from, in Segments files.
	Size                     int64
	Slots, Records, Segments int
	// Oldest and Newest are when the entries were last used, to the hour; zero when
	// there are none.
	Oldest, Newest time.Time
	// Last is the last run that computed something, nil when none is recorded.
	Last *LastRun
	// NotWritable says why nothing can be kept, nil when it can (U-21).
	NotWritable error
}

// LastRun says how much of a map came from the cache.
type LastRun struct {
	// Target is relative to the workspace root, "." for the whole project.
	Target                 string
	Hits, Computed, Leaves int64
	At                     time.Time
}

// FsckReport is what Cache.Fsck found.
type FsckReport = cas.FsckReport

// Cache returns the cache that maps around Options.Dir use.
func (w *Workspace) Cache(ctx context.Context) (*Cache, error) {
	if w.o.CacheDir != "" {
		return &Cache{w.area(candidate{}).Area}, nil
	}
	p, err := w.find(w.orDir(""))
	if err != nil {
		return nil, err
	}
	s, _, err := w.locate(ctx, p)
	if err != nil {
		return nil, err
	}
	if s.area == nil {
		return &Cache{}, nil
	}
	return &Cache{s.area.Area}, nil
}

// Status measures the cache. It reads the slots last used, and writes one block that it
// removes again: only writing tells whether a disk is full.
func (c *Cache) Status() (CacheStatus, error) {
	if c.area == nil {
		return CacheStatus{}, nil
	}
	u, err := c.area.Usage()
	notWritable := c.area.Check()
	if notWritable == nil {
		notWritable = tryWrite(c.area.Dir())
	}
	if err != nil && notWritable == nil {
		return CacheStatus{}, environment(ir.Unreadable, err, "", "cannot measure the cache %s: %s", c.area.Dir(), reason(err))
	}
	return CacheStatus{
		Dir: c.area.Dir(), Size: u.Bytes, Slots: u.Slots, Records: u.Records, Segments: u.Segments,
		Oldest: u.Oldest, Newest: u.Newest, Last: readLast(c.area), NotWritable: notWritable,
	}, nil
}

// Clean removes finished maps and the parts they were computed from, and nothing
// else: modules, guard results, sessions and trust are not here (D-54).
func (c *Cache) Clean() error {
	if c.area == nil {
		return nil
	}
	if err := c.area.Clean(); err != nil {
		return environment(ir.Unreadable, err, "", "cannot clean the cache %s: %s", c.area.Dir(), reason(err))
	}
	return nil
}

// Fsck checks every byte of the cache.
func (c *Cache) Fsck() (FsckReport, error) {
	if c.area == nil {
		return FsckReport{}, nil
	}
	r, err := c.area.Fsck()
	if err != nil {
		return r, environment(ir.Unreadable, err, "", "cannot check the cache %s: %s", c.area.Dir(), reason(err))
	}
	return r, nil
}

// tryWrite writes a block in the nearest directory that exists.
func tryWrite(dir string) error {
	for {
		info, err := os.Stat(dir)
		if err == nil && info.IsDir() {
			break
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil || dir == filepath.Dir(dir) {
			return &fs.PathError{Op: "write", Path: dir, Err: errors.New("not a directory")}
		}
		dir = filepath.Dir(dir)
	}
	f, err := createTemp(dir, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	err = errors.Join(err, f.Close())
	return errors.Join(err, os.Remove(f.Name()))
}

// lastSlots is how many slots are looked at for the last computed one. The last
// used come first, and a slot that is only served is marked as used once an hour.
const lastSlots = 64

// readLast returns the counts of the last run whose slot is still there.
func readLast(area *cas.Area) *LastRun {
	var last *LastRun
	slots := area.Slots()
	for _, k := range slots.Recent(lastSlots) {
		b, err := slots.Read(k)
		if err != nil {
			continue
		}
		s, err := eval.DecodeSlot(b)
		if err != nil {
			continue
		}
		m, err := cas.DecodeValue(s.Meta, codeSlotMeta)
		if at := time.Unix(0, s.Created).UTC(); err == nil && (last == nil || at.After(last.At)) {
			last = &LastRun{Target: m.target, Hits: m.hits, Computed: m.computed, Leaves: m.leaves, At: at}
		}
	}
	return last
}

// CacheEntry returns what is kept for a target's JSON map in the fields of the
// proposal's section 5.4, as JSON: schema_version, target, inputs_hash,
// contributing_files, created_at and ir. The hash covers every recorded fact the
// map rests on, absences and listings included. A target without an entry is a
// *Refusal.
func (w *Workspace) CacheEntry(ctx context.Context, target string) ([]byte, error) {
	q := Request{Target: target}
	p, s, err := w.enter(ctx, target)
	if err != nil {
		return nil, err
	}
	absent := func() error {
		return &Refusal{[]ir.Diagnostic{{
			Code: noEntry, Severity: ir.SeverityError, Source: s.target,
			Message: "the cache holds no JSON map of this target", Hint: "make one with `mwp map`, then ask again",
		}}}
	}
	if s.area == nil {
		return nil, absent()
	}
	n := q.rendered(s.candidate, fromOf(p, s.candidate))
	b, err := s.area.Slots().Read(slotKey(n))
	if err != nil {
		return nil, absent()
	}
	slot, err := eval.DecodeSlot(b)
	if err != nil || len(slot.Result) == 0 {
		return nil, absent()
	}
	return appendEntry(nil, n.Target, n.Orientation, slot), nil
}

// noEntry is the code of a question about an entry that is not there.
const noEntry ir.Code = "cache_entry_absent"

func appendEntry(b []byte, target string, orientation bool, s *eval.Slot) []byte {
	var inputs cas.Encoder
	var files []string
	for _, l := range s.Leaves {
		inputs.String(l.Kind)
		inputs.Bytes(l.Params)
		inputs.Bytes(l.State)
		k := kindByName(l.Kind)
		if k == nil || !k.Leaf {
			continue
		}
		t, err := k.DecodeParams(l.Params)
		if err != nil {
			continue
		}
		if f, ok := t.(graph.File); ok {
			if v, err := k.DecodeValue(l.State); err == nil && v.(graph.FileState).Type == graph.Regular {
				files = append(files, f.Path)
			}
		}
	}
	slices.SortFunc(files, ir.ComparePaths)
	files = slices.Compact(files)

	b = append(b, "{\n  \"schema_version\": "...)
	b = ir.AppendString(b, ir.SchemaVersion)
	b = append(b, ",\n  \"target\": "...)
	if orientation {
		b = append(b, "null"...)
	} else {
		b = ir.AppendString(b, target)
	}
	b = append(b, ",\n  \"inputs_hash\": "...)
	b = ir.AppendString(b, cas.Sum(inputs.Encoded()).Tagged())
	b = append(b, ",\n  \"contributing_files\": ["...)
	for i, f := range files {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, "\n    "...)
		b = ir.AppendString(b, f)
	}
	if len(files) > 0 {
		b = append(b, "\n  "...)
	}
	b = append(b, "],\n  \"created_at\": "...)
	b = ir.AppendString(b, time.Unix(0, s.Created).UTC().Format(time.RFC3339))
	b = append(b, ",\n  \"ir\": "...)
	// Line ends inside of strings are escaped, so these are all between tokens.
	b = append(b, bytes.ReplaceAll(bytes.TrimSpace(s.Result), []byte("\n"), []byte("\n  "))...)
	return append(b, "\n}\n"...)
}

package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// maxHeader bounds commits and tag objects, maxTree one directory.
const (
	maxHeader = 1 << 20
	maxTree   = 8 << 20
)

// objects are the objects of a repository that were received.
type objects interface {
	// object returns an object's kind (commit, tag, tree, blob) and content. It fails
	// with errMissing, and with a failure when the content is longer than limit.
	object(ctx context.Context, id string, limit int64) (kind string, content []byte, err error)
	close()
}

// tooLong is the failure of an object beyond a limit.
func tooLong(id string, size, limit int64) error {
	return fail(protocol.TooLarge, "the object %s has %d bytes; the limit is %d", id, size, limit)
}

// headerID returns the id in the first line of a commit or a tag object.
func headerID(content []byte, name string, digits int) (string, error) {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	id, ok := bytes.CutPrefix(line, []byte(name+" "))
	if !ok || len(id) != digits || !pin.IsCommit(string(id)) {
		return "", fail(protocol.Unsafe, "expected a line %q with an id in a commit or tag object, found %s", name, quote(string(line)))
	}
	return string(id), nil
}

// Modes that an entry of a directory can have.
const (
	modeFile      = 0o100644
	modeExec      = 0o100755
	modeLink      = 0o120000
	modeDir       = 0o040000
	modeSubmodule = 0o160000
)

// treeEntry is one line of a directory.
type treeEntry struct {
	name string
	mode uint32
	id   string
}

// parseTree takes a directory apart. It judges neither names nor modes.
func parseTree(content []byte, digits int) ([]treeEntry, error) {
	var entries []treeEntry
	for len(content) > 0 {
		mode, rest, ok := bytes.Cut(content, []byte(" "))
		name, rest, ok2 := bytes.Cut(rest, []byte{0})
		// Old tools wrote modes with a leading zero; nothing else is odd about them.
		bits, err := strconv.ParseUint(string(mode), 8, 32)
		if !ok || !ok2 || err != nil || len(mode) > 7 || len(rest) < digits/2 {
			return nil, fmt.Errorf("a directory object is damaged near %s", quote(string(content[:min(len(content), 40)])))
		}
		entries = append(entries, treeEntry{string(name), uint32(bits), hex.EncodeToString(rest[:digits/2])})
		content = rest[digits/2:]
	}
	return entries, nil
}

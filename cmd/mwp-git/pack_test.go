package main

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// backwards is a pack in which every difference comes before its base and names it
// by its id, which git never writes and a server may.
func backwards() (pack []byte, first, second plumbing.Hash) {
	const base = "0123456789abcdef"
	deflate := func(s string) string {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, _ = z.Write([]byte(s))
		_ = z.Close()
		return b.String()
	}
	id := plumbing.ComputeHash(plumbing.BlobObject, []byte(base))
	first = plumbing.ComputeHash(plumbing.BlobObject, []byte(base+"x"))
	second = plumbing.ComputeHash(plumbing.BlobObject, []byte(base+"xy"))
	text := "PACK\x00\x00\x00\x02\x00\x00\x00\x03" +
		"\x76" + string(first[:]) + deflate("\x11\x12\x90\x11\x01y") +
		"\x76" + string(id[:]) + deflate("\x10\x11\x90\x10\x01x") +
		"\xb0\x01" + deflate(base)
	sum := sha1.Sum([]byte(text))
	return append([]byte(text), sum[:]...), first, second
}

func TestPackBackwards(t *testing.T) {
	content, first, second := backwards()
	p := newProgress(io.Discard, fixedClock)
	f, err := savePack(t.Context(), bytes.NewReader(content), t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	k, err := indexPack(t.Context(), f, p)
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	for id, want := range map[plumbing.Hash]string{first: "0123456789abcdefx", second: "0123456789abcdefxy"} {
		if _, got, err := k.object(t.Context(), id.String(), 100); err != nil || string(got) != want {
			t.Errorf("object %s = %q, %v, want %q", id, got, err, want)
		}
	}
}

// FuzzPack indexes anything. What is accepted can be read again, object by object,
// and has the ids that the index says.
func FuzzPack(f *testing.F) {
	// An empty pack with its sum, one that is cut off, and less.
	for _, seed := range []string{
		"PACK\x00\x00\x00\x02\x00\x00\x00\x00\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e",
		"PACK\x00\x00\x00\x02\x00\x00\x00\x01\x33x\x9c",
		"PACK",
	} {
		f.Add([]byte(seed))
	}
	seed, _, _ := backwards()
	f.Add(seed)
	f.Fuzz(func(t *testing.T, content []byte) {
		name := filepath.Join(t.TempDir(), "pack")
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		k, err := indexPack(t.Context(), file, newProgress(&bytes.Buffer{}, fixedClock))
		if err != nil {
			return
		}
		defer k.close()
		for id := range k.byID {
			kind, content, err := k.object(t.Context(), id.String(), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := plumbing.ParseObjectType(kind)
			if err != nil || plumbing.ComputeHash(parsed, content) != id {
				t.Errorf("%s is not %s: %v", kind, id, err)
			}
		}
	})
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// TestUnsafeNames puts one bad name into an otherwise good module. Nothing of it
// may be written, in the module's root and in a directory of it.
func TestUnsafeNames(t *testing.T) {
	tests := []struct {
		name string
		// entries are mode and name, all with the same content.
		entries [][2]string
		code    string
	}{
		{"step out", [][2]string{{"100644", ".."}}, protocol.Unsafe},
		{"dot", [][2]string{{"100644", "."}}, protocol.Unsafe},
		{"empty", [][2]string{{"100644", ""}}, protocol.Unsafe},
		{"slash", [][2]string{{"100644", "a/b"}}, protocol.Unsafe},
		{"absolute", [][2]string{{"100644", "/etc/passwd"}}, protocol.Unsafe},
		{".git", [][2]string{{"100644", ".git"}}, protocol.Unsafe},
		{".GIT", [][2]string{{"100644", ".GIT"}}, protocol.Unsafe},
		{"short .git", [][2]string{{"100644", "git~1"}}, protocol.Unsafe},
		{".git with an invisible character", [][2]string{{"100644", ".g\u200cit"}}, protocol.Unsafe},
		{".git with a stream", [][2]string{{"100644", ".git::$INDEX_ALLOCATION"}}, protocol.Unsafe},
		{".git with a dot", [][2]string{{"100644", ".git."}}, protocol.Unsafe},
		{"backslash", [][2]string{{"100644", `..\x`}}, protocol.Unsafe},
		{"drive", [][2]string{{"100644", "C:x"}}, protocol.Unsafe},
		{"control character", [][2]string{{"100644", "a\x1b[31m"}}, protocol.Unsafe},
		{"newline", [][2]string{{"100644", "a\nb"}}, protocol.Unsafe},
		{"not UTF-8", [][2]string{{"100644", "a\xff"}}, protocol.Unsafe},
		{"device", [][2]string{{"100644", "aux.md"}}, protocol.Unsafe},
		{"right to left", [][2]string{{"100644", "a\u202eb"}}, protocol.Unsafe},
		{"case", [][2]string{{"100644", "A.md"}, {"100644", "a.md"}}, protocol.Unsafe},
		{"composition", [][2]string{{"100644", "caf\u00e9.md"}, {"100644", "cafe\u0301.md"}}, protocol.Unsafe},
		{"full case folding", [][2]string{{"100644", "stra\u00dfe"}, {"100644", "STRASSE"}}, protocol.Unsafe},
		{"file and directory", [][2]string{{"100644", "a"}, {"40000", "a"}}, protocol.Unsafe},
		{"file and directory by case", [][2]string{{"40000", "A"}, {"100644", "a"}}, protocol.Unsafe},
		{"same name twice", [][2]string{{"100644", "a"}, {"100644", "a"}}, protocol.Unsafe},
		{"directories by case", [][2]string{{"40000", "A"}, {"40000", "a"}}, protocol.Unsafe},
		{"link and file by case", [][2]string{{"120000", "A"}, {"100644", "a"}}, protocol.Unsafe},
		{"group may write", [][2]string{{"100664", "a"}}, protocol.Unsafe},
		{"set user id", [][2]string{{"104755", "a"}}, protocol.Unsafe},
		{"device mode", [][2]string{{"60000", "a"}}, protocol.Unsafe},
		{"long", [][2]string{{"100644", strings.Repeat("a", pin.MaxPathBytes+1)}}, protocol.TooLarge},
	}
	for _, test := range tests {
		for _, dir := range []string{"", "sub"} {
			t.Run(test.name+" "+dir, func(t *testing.T) {
				w := newWorld(t).withoutGit()
				b := w.bareRepo("m")
				blob := b.put("blob", "good.md")
				inner := b.tree(entry("100644", "x", blob))
				entries := []string{entry("100644", "good.md", blob)}
				for _, e := range test.entries {
					id := blob
					if e[0] == "40000" {
						id = inner
					}
					entries = append(entries, entry(e[0], e[1], id))
				}
				tree := b.tree(entries...)
				if dir != "" {
					tree = b.tree(entry("40000", dir, tree))
				}
				b.tag(tree)
				r, into := w.fetch(b.url(), "v1")
				wantError(t, r, test.code)
				if left := files(t, into); left != "" {
					t.Errorf("left behind:\n%s", left)
				}
				if strings.ContainsFunc(r.Error.Message, func(c rune) bool { return c < ' ' || c > '~' && c != '…' }) {
					t.Errorf("unescaped: %q", r.Error.Message)
				}
			})
		}
	}
}

// TestUnsafeElsewhere imports a good directory of a repository with bad names
// elsewhere, which are none of its business.
func TestUnsafeElsewhere(t *testing.T) {
	w := newWorld(t).withoutGit()
	b := w.bareRepo("m")
	blob := b.put("blob", "x")
	b.tag(b.tree(entry("100644", "..", blob), entry("40000", "good", b.tree(entry("100644", "a", blob)))))
	into := w.into()
	r := w.ask(protocol.Request{Op: protocol.Fetch, URL: b.url(), Dir: "good", Ref: "v1", Into: into})
	if r.Error != nil || r.Files != 1 || files(t, into) != "-rw-r--r-- a \"x\"\n" {
		t.Errorf("%+v\n%s", r, files(t, into))
	}
}

func TestLinks(t *testing.T) {
	link := func(path, target string) [2]string { return [2]string{path, target} }
	tests := []struct {
		name  string
		links [][2]string
		// want are the files beside a.md, dir/b.md and run; notes is one word of each
		// note.
		want  []string
		notes []string
		code  string
	}{
		{"to a file", [][2]string{link("l", "a.md")}, []string{`-rw-r--r-- l "a"`}, nil, ""},
		{"to a program", [][2]string{link("l", "run")}, []string{`-rwxr-xr-x l "run"`}, nil, ""},
		{"into a directory", [][2]string{link("l", "./dir//b.md")}, []string{`-rw-r--r-- l "b"`}, nil, ""},
		{"up and down", [][2]string{link("dir/l", "../dir/../a.md")}, []string{`-rw-r--r-- dir/l "a"`}, nil, ""},
		{"to a link", [][2]string{link("l", "k"), link("k", "a.md")}, []string{`-rw-r--r-- k "a"`, `-rw-r--r-- l "a"`}, nil, ""},
		{"through a link", [][2]string{link("l", "k/b.md"), link("k", "dir")}, []string{`-rw-r--r-- l "b"`}, []string{"directory"}, ""},
		{"to a directory", [][2]string{link("l", "dir")}, nil, []string{"directory"}, ""},
		{"to the module", [][2]string{link("dir/l", "..")}, nil, []string{"directory"}, ""},
		{"to nothing", [][2]string{link("l", "none")}, nil, []string{"nothing"}, ""},
		{"through a file", [][2]string{link("l", "a.md/x")}, nil, []string{"nothing"}, ""},
		{"to itself", [][2]string{link("l", "l")}, nil, []string{"circle"}, ""},
		{"to each other", [][2]string{link("l", "k"), link("k", "l")}, nil, []string{"circle"}, ""},
		{"a circle that grows", [][2]string{link("l", "l/x")}, nil, []string{"circle"}, ""},
		{"out", [][2]string{link("l", "../x")}, nil, nil, protocol.Unsafe},
		{"out and back", [][2]string{link("l", "../m/a.md")}, nil, nil, protocol.Unsafe},
		{"out through a link", [][2]string{link("l", "k/../../x"), link("k", "dir")}, nil, nil, protocol.Unsafe},
		{"absolute", [][2]string{link("l", "/etc/passwd")}, nil, nil, protocol.Unsafe},
		{"drive", [][2]string{link("l", "C:/x")}, nil, nil, protocol.Unsafe},
		{"backslash", [][2]string{link("l", `..\x`)}, nil, nil, protocol.Unsafe},
		{"empty", [][2]string{link("l", "")}, nil, nil, protocol.Unsafe},
		{"zero byte", [][2]string{link("l", "a.md\x00")}, nil, nil, protocol.Unsafe},
		{"long", [][2]string{link("l", strings.Repeat("x", maxLink+1))}, nil, nil, protocol.TooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t).withoutGit()
			b := w.bareRepo("m")
			root := []string{entry("100644", "a.md", b.put("blob", "a")), entry("100755", "run", b.put("blob", "run"))}
			dir := []string{entry("100644", "b.md", b.put("blob", "b"))}
			for _, l := range test.links {
				if name, ok := strings.CutPrefix(l[0], "dir/"); ok {
					dir = append(dir, entry("120000", name, b.put("blob", l[1])))
				} else {
					root = append(root, entry("120000", l[0], b.put("blob", l[1])))
				}
			}
			b.tag(b.tree(append(root, entry("40000", "dir", b.tree(dir...)))...))
			r, into := w.fetch(b.url(), "v1")
			if test.code != "" {
				wantError(t, r, test.code, `"l"`[1:2])
				return
			}
			if r.Error != nil {
				t.Fatalf("%+v", r.Error)
			}
			want := append([]string{`-rw-r--r-- a.md "a"`, `-rw-r--r-- dir/b.md "b"`, `-rwxr-xr-x run "run"`}, test.want...)
			got := strings.Split(strings.TrimSpace(files(t, into)), "\n")
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if len(r.Notes) != len(test.notes) {
				t.Fatalf("notes %q, want %q", r.Notes, test.notes)
			}
			for i, word := range test.notes {
				if !strings.Contains(r.Notes[i], word) {
					t.Errorf("note %q, want %q in it", r.Notes[i], word)
				}
			}
		})
	}
}

func TestSubmodulesAndPointers(t *testing.T) {
	w := newWorld(t).withoutGit()
	b := w.bareRepo("m")
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
	b.tag(b.tree(
		entry("100644", "big.bin", b.put("blob", pointer)),
		entry("160000", "dep", strings.Repeat("1", 40)),
		entry("160000", "dep2", strings.Repeat("2", 40)),
		entry("100644", "text.md", b.put("blob", "about "+pointer)),
	))
	r, into := w.fetch(b.url(), "v1")
	if r.Error != nil {
		t.Fatalf("%+v", r.Error)
	}
	if diff := cmp.Diff([]string{`left out the submodules "dep", "dep2"`, `Git LFS holds the content of "big.bin"`}, r.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if got := files(t, into); !strings.Contains(got, "size 1") || strings.Contains(got, "dep") {
		t.Errorf("files:\n%s", got)
	}
}

// TestTreeBombs has few objects that name very much.
func TestTreeBombs(t *testing.T) {
	tests := []struct {
		name  string
		build func(b *bareRepo) (tree string)
		words string
	}{
		{"exponential directories", func(b *bareRepo) string {
			tree := b.tree()
			for range 30 {
				tree = b.tree(entry("40000", "a", tree), entry("40000", "b", tree))
			}
			return tree
		}, "entries"},
		{"exponential files", func(b *bareRepo) string {
			tree := b.tree(entry("100644", "x", b.put("blob", "x")))
			for range 30 {
				tree = b.tree(entry("40000", "a", tree), entry("40000", "b", tree))
			}
			return tree
		}, "files"},
		{"many files", func(b *bareRepo) string {
			blob := b.put("blob", "x")
			var entries []string
			for i := range pin.MaxFiles + 1 {
				entries = append(entries, entry("100644", fmt.Sprint("f", i), blob))
			}
			return b.tree(entries...)
		}, "files"},
		{"many copies", func(b *bareRepo) string {
			entries := []string{entry("100644", "a", b.put("blob", "x"))}
			link := b.put("blob", "a")
			for i := range pin.MaxFiles {
				entries = append(entries, entry("120000", fmt.Sprint("l", i), link))
			}
			return b.tree(entries...)
		}, "files"},
		{"deep", func(b *bareRepo) string {
			tree := b.tree(entry("100644", "x", b.put("blob", "x")))
			for range pin.MaxDepth {
				tree = b.tree(entry("40000", "a", tree))
			}
			return tree
		}, "inside each other"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t).withoutGit()
			b := w.bareRepo("m")
			b.tag(test.build(b))
			urls := []string{b.url()}
			if test.name == "deep" {
				// The library's server would walk the exponential ones to the end.
				urls = append(urls, libraryServer(t, filepath.Join(w.dir, "served")).URL+"/m.git")
			}
			for _, url := range urls {
				r, into := w.fetch(url, "v1")
				wantError(t, r, protocol.TooLarge, test.words)
				if left := files(t, into); left != "" {
					t.Errorf("left behind:\n%.200s", left)
				}
			}
		})
	}
}

// shelf is a repository in memory, whose objects need not be hashed.
type shelf map[string]shelved

type shelved struct {
	kind    string
	content []byte
}

func (s shelf) object(_ context.Context, id string, limit int64) (string, []byte, error) {
	o := s[id]
	if int64(len(o.content)) > limit {
		return "", nil, tooLong(id, int64(len(o.content)), limit)
	}
	return o.kind, o.content, nil
}

func (shelf) close() {}

// TestSize has modules of just the size that is allowed and of one byte more.
func TestSize(t *testing.T) {
	const root, blob, rest, more = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222", "3333333333333333333333333333333333333333", "4444444444444444444444444444444444444444"
	half := make([]byte, pin.MaxBytes/2)
	o := shelf{blob: {"blob", half}, rest: {"blob", half}, more: {"blob", make([]byte, pin.MaxBytes+1)}}
	for _, test := range []struct {
		name    string
		entries []string
		ok      bool
	}{
		{"all there may be", []string{entry("100644", "a", blob), entry("100644", "b", rest)}, true},
		{"one file too large", []string{entry("100644", "a", more)}, false},
		{"one file many times", []string{entry("100644", "a", blob), entry("100644", "b", blob), entry("100644", "c", blob)}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			o[root] = shelved{"tree", []byte(strings.Join(test.entries, ""))}
			dir := t.TempDir()
			tree, err := readTree(t.Context(), o, root, "")
			if err != nil {
				t.Fatal(err)
			}
			size, _, err := tree.write(t.Context(), dir, newProgress(io.Discard, fixedClock))
			if test.ok {
				if err != nil || size != pin.MaxBytes {
					t.Errorf("%d bytes, %v", size, err)
				}
				return
			}
			if f, ok := errors.AsType[*failure](err); !ok || f.answer.Code != protocol.TooLarge {
				t.Errorf("error %v, want %s", err, protocol.TooLarge)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestLies has objects that are not what other objects say they are.
func TestLies(t *testing.T) {
	w := newWorld(t).withoutGit()
	b := w.bareRepo("m")
	blob := b.put("blob", "x")
	good := b.tree(entry("100644", "a", blob))
	commit := b.tag(good)
	tests := []struct{ name, tree, word string }{
		{"a blob for a directory", b.tree(entry("40000", "a", blob)), "blob"},
		{"a directory for a file", b.tree(entry("100644", "a", good)), "tree"},
		{"a commit for a link", b.tree(entry("120000", "a", commit)), "commit"},
		{"damaged", b.put("tree", "100644 a"), "damaged"},
		{"missing", b.tree(entry("100644", "a", strings.Repeat("7", 40))), "missing"},
	}
	for _, test := range tests {
		b.tag(test.tree)
		r, _ := w.fetch(b.url(), "v1")
		if r.Error == nil || !strings.Contains(r.Error.Message, test.word) {
			t.Errorf("%s: %+v, want %q in it", test.name, r.Error, test.word)
		}
	}
	b.tag(good)
	b.write("objects/"+blob[:2]+"/"+blob[2:], zlibbed(t, "blob 1\x00y"))
	r, _ := w.fetch(b.url(), "v1")
	wantError(t, r, protocol.Unsafe, "not what its name says")
	loop := strings.Repeat("9", 40)
	b.write("refs/tags/v1", loop+"\n")
	r, _ = w.fetch(b.url(), "v1")
	if r.Error == nil {
		t.Error("a tag of nothing was fetched")
	}
}

func TestIntoIsNotEmpty(t *testing.T) {
	w := newWorld(t).withoutGit()
	b := w.bareRepo("m")
	b.tag(b.tree(entry("100644", "a", b.put("blob", "x"))))
	w.write("full/a", "mine", 0o644)
	r := w.ask(protocol.Request{Op: protocol.Fetch, URL: b.url(), Ref: "v1", Into: filepath.Join(w.dir, "full")})
	wantError(t, r, protocol.IO, "empty directory")
	if got := files(t, filepath.Join(w.dir, "full")); !strings.Contains(got, "mine") {
		t.Errorf("the file that was there: %s", got)
	}
	r = w.ask(protocol.Request{Op: protocol.Fetch, URL: b.url(), Ref: "v1", Into: filepath.Join(w.dir, "none")})
	wantError(t, r, protocol.IO)
}

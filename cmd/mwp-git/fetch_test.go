package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	gitserver "github.com/go-git/go-git/v5/plumbing/transport/server"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// ways are the servers that one repository is read from, each of which must give
// the same.
var ways = []struct {
	name string
	old  bool
	git  bool
	file bool
}{
	{name: "http protocol 2, git", git: true},
	{name: "http protocol 0, git", git: true, old: true},
	{name: "http protocol 2, no git"},
	{name: "http protocol 0, no git", old: true},
	{name: "file, no git", file: true},
}

func TestFetch(t *testing.T) {
	needGit(t)
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			w := newWorld(t)
			bare, first, second := w.moduleRepo("m")
			url := "file://" + filepath.ToSlash(bare)
			if !way.file {
				url = w.serve(way.old, nil, false).URL + "/m.git"
			}
			if !way.git {
				w.withoutGit()
			}
			tests := []struct {
				name     string
				request  protocol.Request
				kind     string
				commit   string
				code     string
				words    []string
				hasNotes int
			}{
				{name: "annotated tag", request: protocol.Request{Ref: "v0.1.0"}, kind: pin.Tag, commit: first},
				{name: "tag of a tag", request: protocol.Request{Ref: "nested"}, kind: pin.Tag, commit: first},
				{name: "plain tag", request: protocol.Request{Ref: "light"}, kind: pin.Tag, commit: first},
				{name: "tag and branch", request: protocol.Request{Ref: "both"}, kind: pin.Tag, commit: first, hasNotes: 1},
				{name: "pinned tag", request: protocol.Request{Ref: "v0.1.0", Commit: first}, kind: pin.Tag, commit: first},
				{name: "moved tag", request: protocol.Request{Ref: "v0.1.0", Commit: second}, code: protocol.TagMoved, words: []string{first, second, "v0.1.0"}},
				{name: "tag of a tree", request: protocol.Request{Ref: "tree"}, code: protocol.RefNotFound, words: []string{"tree"}},
				{name: "commit at a branch", request: protocol.Request{Ref: second}, kind: pin.Commit, commit: second},
				{name: "older commit", request: protocol.Request{Ref: first}, kind: pin.Commit, commit: first},
				{name: "commit that does not exist", request: protocol.Request{Ref: strings.Repeat("5", 40)}, code: protocol.RefNotFound, words: []string{strings.Repeat("5", 40)}},
				{name: "commit of the wrong length", request: protocol.Request{Ref: strings.Repeat("5", 64)}, code: protocol.RefNotFound, words: []string{"40 digits"}},
				{name: "branch", request: protocol.Request{Ref: "main"}, code: protocol.FloatingRef, words: []string{`"main"`}},
				{name: "branch allowed", request: protocol.Request{Ref: "main", Floating: true}, kind: pin.Branch, commit: second},
				{name: "branch pinned", request: protocol.Request{Ref: "main", Floating: true, Commit: first}, kind: pin.Branch, commit: first},
				{name: "branch gone", request: protocol.Request{Ref: "gone", Floating: true, Commit: first}, kind: pin.Branch, commit: first, hasNotes: 1},
				{name: "no reference", request: protocol.Request{}, code: protocol.FloatingRef},
				{name: "no reference allowed", request: protocol.Request{Floating: true}, kind: pin.Branch, commit: second},
				{name: "no reference pinned", request: protocol.Request{Floating: true, Commit: first}, kind: pin.Branch, commit: first},
				{name: "no such tag", request: protocol.Request{Ref: "v0.1.1"}, code: protocol.RefNotFound, words: []string{`"v0.1.1"`, `such as "v0.1.0"`}},
				{name: "directory", request: protocol.Request{Ref: "v0.1.0", Dir: "rules"}, kind: pin.Tag, commit: first},
				{name: "no such directory", request: protocol.Request{Ref: "v0.1.0", Dir: "rules/none"}, code: protocol.RefNotFound, words: []string{"rules/none"}},
				{name: "a file for a directory", request: protocol.Request{Ref: "v0.1.0", Dir: "rules/rule.md"}, code: protocol.RefNotFound},
			}
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					r := test.request
					r.Op, r.URL, r.Into, r.Insecure = protocol.Fetch, url, w.into(), true
					got, said := w.askLoud(r)
					if test.code != "" {
						wantError(t, got, test.code, test.words...)
						if test.code == protocol.TagMoved && got.Error.Found != first {
							t.Errorf("found %q, want %q", got.Error.Found, first)
						}
						if left := files(t, r.Into); left != "" {
							t.Errorf("left behind:\n%s", left)
						}
						return
					}
					if got.Error != nil {
						t.Fatalf("error %+v", got.Error)
					}
					if got.Kind != test.kind || got.Commit != test.commit || len(got.Notes) != test.hasNotes {
						t.Errorf("kind %s, commit %s, notes %q; want %s, %s, %d notes", got.Kind, got.Commit, got.Notes, test.kind, test.commit, test.hasNotes)
					}
					want := firstFiles
					if test.commit == second {
						want += "-rw-r--r-- second.md \"second\\n\"\n"
					}
					if r.Dir != "" {
						want = "-rw-r--r-- rule.md \"be kind\\r\\nand brief\\n\"\n"
					}
					if diff := cmp.Diff(want, files(t, r.Into)); diff != "" {
						t.Errorf("files (-want +got):\n%s", diff)
					}
					if got.Files != strings.Count(want, "\n") || !strings.Contains(said, "fetching "+url) {
						t.Errorf("%d files, progress %q", got.Files, said)
					}
				})
			}
			tags := w.ask(protocol.Request{Op: protocol.Tags, URL: url, Insecure: true})
			if i := slices.IndexFunc(tags.Tags, func(n protocol.TagName) bool { return n.Name == "nested" }); len(tags.Tags) != 5 || i < 0 || tags.Tags[i].Commit != first {
				t.Errorf("tags %+v, want 5 with nested at %s", tags, first)
			}
		})
	}
}

// TestFetchOfHiddenCommit asks for a commit that no reference leads to: the newer
// protocol and a server that allows it give it, an old server does not.
func TestFetchOfHiddenCommit(t *testing.T) {
	w := newWorld(t)
	server := w.serve(true, nil, false)
	bare, _, second := w.moduleRepo("m")
	hidden := w.git(bare, "commit-tree", second+"^{tree}", "-m", "hidden")
	r, _ := w.fetch(server.URL+"/m.git", hidden)
	wantError(t, r, protocol.RefNotFound, hidden)
	w.git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
	r, _ = w.fetch(server.URL+"/m.git", hidden)
	if r.Error != nil || r.Commit != hidden {
		t.Errorf("with permission: %+v", r.Error)
	}
	w.git(bare, "config", "uploadpack.allowAnySHA1InWant", "false")
	r, _ = w.fetch(w.serve(false, nil, false).URL+"/m.git", hidden)
	if r.Error != nil || r.Commit != hidden {
		t.Errorf("protocol 2: %+v", r.Error)
	}
}

func TestSHA256(t *testing.T) {
	for _, scheme := range []string{"http", "file"} {
		t.Run(scheme, func(t *testing.T) {
			w := newWorld(t)
			server := w.serve(false, nil, false)
			bare, first, second := w.moduleRepo("m", "--object-format=sha256")
			url := server.URL + "/m.git"
			if scheme == "file" {
				url = "file://" + bare
			}
			for _, ref := range []string{"v0.1.0", "nested", first} {
				r, dir := w.fetch(url, ref)
				if r.Error != nil || r.Commit != first {
					t.Fatalf("%s: %+v", ref, r)
				}
				if diff := cmp.Diff(firstFiles, files(t, dir)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", ref, diff)
				}
			}
			r := w.ask(protocol.Request{Op: protocol.Fetch, URL: url, Ref: "light", Commit: second, Into: w.into(), Insecure: true})
			wantError(t, r, protocol.TagMoved, first)
			w.withoutGit()
			r, _ = w.fetch(url, "v0.1.0")
			wantError(t, r, protocol.Unreachable, "SHA-256", "install git")
		})
	}
}

// libraryServer serves repositories with the library's own server: no shallow
// fetches, no ids that are not listed, no git program.
func libraryServer(t *testing.T, root string) *httptest.Server {
	t.Helper()
	loader := gitserver.NewFilesystemLoader(osfs.New(root))
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		name, action, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
		session, err := gitserver.NewServer(loader).NewUploadPackSession(&transport.Endpoint{Path: name + ".git"}, nil)
		if err != nil {
			http.NotFound(rw, r)
			return
		}
		if action == "info/refs" {
			listed, err := session.AdvertisedReferencesContext(r.Context())
			if err != nil {
				http.Error(rw, err.Error(), 500)
				return
			}
			listed.Prefix = [][]byte{[]byte("# service=git-upload-pack"), {}}
			_ = listed.Encode(rw)
			return
		}
		request := packp.NewUploadPackRequest()
		if err := request.UploadRequest.Decode(r.Body); err != nil {
			http.Error(rw, err.Error(), 400)
			return
		}
		if !request.Depth.IsZero() {
			t.Error("asked a server for a depth that it does not offer")
		}
		response, err := session.UploadPack(r.Context(), request)
		if err != nil {
			http.Error(rw, err.Error(), 500)
			return
		}
		_ = response.Encode(rw)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestWithoutGit needs git neither for the server nor for the client.
func TestWithoutGit(t *testing.T) {
	w := newWorld(t).withoutGit()
	b := w.bareRepo("m")
	old := b.tag(b.tree(entry("100644", "a.md", b.put("blob", "old\n"))))
	tree := b.tree(entry("100644", "a.md", b.put("blob", "new\n")))
	now := b.put("commit", "tree "+tree+"\nparent "+old+"\nauthor a <a@example.invalid> 1700000000 +0000\ncommitter a <a@example.invalid> 1700000000 +0000\n\nx\n")
	b.write("refs/heads/main", now+"\n")
	object := b.put("tag", "object "+old+"\ntype commit\ntag v2\ntagger a <a@example.invalid> 1700000000 +0000\n\nx\n")
	b.write("refs/tags/v2", object+"\n")
	s := libraryServer(t, filepath.Join(w.dir, "served"))
	for _, ref := range []string{"v1", "v2", old} {
		r, dir := w.fetch(s.URL+"/m.git", ref)
		if r.Error != nil || r.Commit != old || files(t, dir) != "-rw-r--r-- a.md \"old\\n\"\n" {
			t.Errorf("%s: %+v\n%s", ref, r, files(t, dir))
		}
	}
	r, _ := w.fetch(s.URL+"/m.git", strings.Repeat("1", 40))
	wantError(t, r, protocol.RefNotFound, strings.Repeat("1", 40))
}

// TestServedConfiguration serves a repository full of commands, none of which may
// run, from files and through a server.
func TestServedConfiguration(t *testing.T) {
	w := newWorld(t)
	server := w.serve(false, nil, false)
	bare, first, _ := w.moduleRepo("m")
	pwned := filepath.Join(w.dir, "PWNED")
	for _, hook := range []string{"post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change", "upload-pack"} {
		w.write("served/m.git/hooks/"+hook, "#!/bin/sh\ntouch "+pwned+"\n", 0o755)
	}
	for key, value := range map[string]string{
		"core.fsmonitor": "touch " + pwned, "core.sshCommand": "touch " + pwned, "uploadpack.packObjectsHook": "touch " + pwned,
		"core.alternateRefsCommand": "touch " + pwned, "credential.helper": "!touch " + pwned, "core.pager": "touch " + pwned,
		"filter.x.smudge": "touch " + pwned, "remote.origin.uploadpack": "touch " + pwned,
	} {
		w.git(bare, "config", key, value)
	}
	for _, url := range []string{"file://" + bare, server.URL + "/m.git"} {
		if r, _ := w.fetch(url, first); r.Error != nil {
			t.Errorf("%s: %+v", url, r.Error)
		}
	}
	// The git program would have to read this one.
	w.git(bare, "config", "extensions.partialClone", "origin")
	w.write("served/m.git/objects/info/alternates", filepath.Join(w.dir, "src-m", ".git", "objects")+"\n", 0o644)
	r, _ := w.fetch("file://"+bare, first)
	wantError(t, r, protocol.Refused, "partialclone")
	if _, err := os.Stat(pwned); err == nil {
		t.Error("a command of the repository ran")
	}
}

// TestBorrowedObjects reads a repository that has its objects elsewhere.
func TestBorrowedObjects(t *testing.T) {
	needGit(t)
	w := newWorld(t)
	bare, first, _ := w.moduleRepo("m")
	shared := filepath.Join(w.dir, "shared.git")
	w.git(w.dir, "clone", "-q", "--bare", "--shared", bare, shared)
	if r, _ := w.fetch("file://"+shared, "v0.1.0"); r.Error != nil || r.Commit != first {
		t.Errorf("%+v", r.Error)
	}
}

// TestWorktree reads a repository through a linked work tree.
func TestWorktree(t *testing.T) {
	needGit(t)
	w := newWorld(t)
	_, first, _ := w.moduleRepo("m")
	linked := filepath.Join(w.dir, "linked")
	w.git(filepath.Join(w.dir, "src-m"), "worktree", "add", "-q", "--detach", linked, first)
	r := w.withoutGit().ask(protocol.Request{Op: protocol.Fetch, URL: "file://" + linked, Floating: true, Into: w.into()})
	if r.Error != nil || r.Commit != first {
		t.Errorf("%+v", r)
	}
}

// TestUserConfiguration gives the user settings that would lead a URL elsewhere.
func TestUserConfiguration(t *testing.T) {
	w := newWorld(t)
	server := w.serve(false, nil, false)
	_, first, _ := w.moduleRepo("m")
	pwned := filepath.Join(w.dir, "PWNED")
	w.git(w.dir, "config", "--global", "protocol.ext.allow", "always")
	w.git(w.dir, "config", "--global", "url.ext::sh -c touch% "+pwned+" .insteadOf", server.URL)
	w.git(w.dir, "config", "--global", "core.hooksPath", filepath.Join(w.home, "hooks"))
	w.write("home/hooks/reference-transaction", "#!/bin/sh\ntouch "+pwned+"\n", 0o755)
	w.set("GIT_DIR", filepath.Join(w.dir, "src-m", ".git"))
	w.set("GIT_CONFIG_COUNT", "1")
	w.set("GIT_CONFIG_KEY_0", "core.sshCommand")
	w.set("GIT_CONFIG_VALUE_0", "touch "+pwned)
	r, dir := w.fetch(server.URL+"/m.git", first)
	if r.Error != nil || files(t, dir) != firstFiles {
		t.Errorf("%+v", r.Error)
	}
	if _, err := os.Stat(pwned); err == nil {
		t.Error("a command ran")
	}
	if refs := w.git(filepath.Join(w.dir, "src-m"), "for-each-ref", "refs/mwp"); refs != "" {
		t.Errorf("wrote into the surrounding repository: %s", refs)
	}
}

// TestPackBombs sends packs by hand.
func TestPackBombs(t *testing.T) {
	deflate := func(s string) string { return zlibbed(t, s) }
	head := func(count uint32) string {
		return "PACK" + string(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 2), count))
	}
	varint := func(n int64) string {
		var b []byte
		for ; n >= 0x80; n >>= 7 {
			b = append(b, byte(n)|0x80)
		}
		return string(append(b, byte(n)))
	}
	object := func(kind byte, size int64, body string) string {
		first := kind<<4 | byte(size&15)
		if size >>= 4; size == 0 {
			return string([]byte{first}) + body
		}
		return string([]byte{first | 0x80}) + varint(size) + body
	}
	const base = "0123456789abcdef"
	huge := varint(16) + varint(1<<40)
	tests := []struct {
		name, pack, code, words string
	}{
		{"too many objects", head(1 << 30), protocol.TooLarge, "objects"},
		{"a blob of a terabyte", head(1) + object(3, 1<<40, ""), protocol.TooLarge, "bytes when unpacked"},
		{"a delta to a terabyte", head(2) + object(3, 16, deflate(base)) + object(6, int64(len(huge)), "\x1a"+deflate(huge)), protocol.TooLarge, "difference"},
		{"longer than promised", head(1) + object(3, 3, deflate(base)), protocol.Unreachable, ""},
		{"shorter than promised", head(1) + object(3, 17, deflate(base)), protocol.Unreachable, "promised"},
		{"unknown kind", head(1) + object(5, 3, deflate("abc")), protocol.Unreachable, "kind"},
		{"a delta without sizes", head(2) + object(3, 16, deflate(base)) + object(6, 1, "\x1a"+deflate("\x80")), protocol.Unreachable, ""},
		{"a delta to nothing", head(1) + object(7, 4, strings.Repeat("\x01", 20)+deflate("\x10\x10\x90\x10")), protocol.Unreachable, ""},
		{"cut off", head(3) + object(3, 16, deflate(base)), protocol.Unreachable, "EOF"},
		{"no pack", "hello", protocol.Unreachable, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := &job{progress: newProgress(&bytes.Buffer{}, fixedClock)}
			f, err := savePack(t.Context(), strings.NewReader(test.pack), t.TempDir(), j.progress)
			if err == nil {
				var k *pack
				if k, err = indexPack(t.Context(), f, j.progress); err == nil {
					k.close()
					t.Fatal("the pack was taken")
				}
			}
			if got := j.explain(err); got.Code != test.code || !strings.Contains(got.Message, test.words) {
				t.Errorf("%+v, want %s with %q", got, test.code, test.words)
			}
		})
	}
}

// TestPackOfGit reads packs with long chains as git writes them and compares every
// object with what git says.
func TestPackOfGit(t *testing.T) {
	needGit(t)
	for _, args := range [][]string{{"--delta-base-offset"}, {}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			w := newWorld(t)
			src := filepath.Join(w.dir, "src")
			w.git(w.dir, "init", "-q", src)
			var ids strings.Builder
			text := strings.Repeat("a line that stays the same, again and again\n", 60)
			for i := range 120 {
				text = fmt.Sprintf("%sline %d\n", text, i)
				ids.WriteString(w.gitInput(text, src, "hash-object", "-w", "--stdin") + "\n")
			}
			name := w.gitInput(ids.String(), src, append([]string{"pack-objects", "-q", "--depth=100", "--window=50"}, append(args, filepath.Join(w.dir, "p"))...)...)
			f, err := os.Open(filepath.Join(w.dir, "p-"+name+".pack"))
			if err != nil {
				t.Fatal(err)
			}
			p := newProgress(&bytes.Buffer{}, fixedClock)
			k, err := indexPack(t.Context(), f, p)
			if err != nil {
				t.Fatal(err)
			}
			defer k.close()
			depth := 0
			for _, e := range k.entries {
				if e.base >= 0 {
					depth++
				}
			}
			if depth < 50 {
				t.Fatalf("only %d differences in the pack", depth)
			}
			for id := range strings.Lines(ids.String()) {
				kind, content, err := k.object(t.Context(), strings.TrimSpace(id), 1<<20)
				if err != nil || kind != "blob" {
					t.Fatal(kind, err)
				}
				if got := w.gitInput(string(content), src, "hash-object", "--stdin"); got != strings.TrimSpace(id) {
					t.Errorf("content of %s has the id %s", strings.TrimSpace(id), got)
				}
			}
			if _, _, err := k.object(t.Context(), strings.TrimSpace(ids.String()[:41]), 10); err == nil {
				t.Error("read an object beyond the limit")
			}
		})
	}
}

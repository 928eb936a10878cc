package main

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

func fixedClock() time.Time { return time.Time{} }

func zlibbed(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := io.WriteString(z, s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHostileURLs asks for what is no repository: case 27 and its relatives. The
// user's own git would allow the ext transport.
func TestHostileURLs(t *testing.T) {
	w := newWorld(t)
	w.write("home/.gitconfig", "[protocol \"ext\"]\n\tallow = always\n", 0o644)
	pwned := filepath.Join(w.dir, "PWNED")
	tests := []struct{ url, dir, ref string }{
		{"ext::sh -c touch% " + pwned, "", "v1"},
		{"ext::sh", "", "v1"},
		{"--upload-pack=touch " + pwned, "", "v1.0.0"},
		{"-c core.sshCommand=touch%20" + pwned, "", "v1.0.0"},
		{"file:///dev/null", "", "--upload-pack=touch " + pwned},
		{"ssh://-oProxyCommand=touch%20PWNED/x.git", "", "v1.0.0"},
		{"ssh://host/x.git%0a-oProxyCommand=x", "", "v1"},
		{"ssh://%2doProxyCommand=x@host/x.git", "", "v1"},
		{"git@host:-oProxyCommand=x", "", "v1"},
		{"git@[host:x.git", "", "v1"},
		{"https://127.0.0.1:9/../../../../tmp/x.git", "", "../../../escape"},
		{"https://127.0.0.1:9/%2e%2e/x.git", "", "v1"},
		{"file:///tmp/%2e%2e/x.git", "", "v1"},
		{"file:///tmp/%00/x.git", "", "v1"},
		{"file://host/x.git", "", "v1"},
		{"http://127.0.0.1:9/x.git", "", "v1"},
		{"git://127.0.0.1:9/x.git", "", "v1"},
		{"ftp://127.0.0.1:9/x.git", "", "v1"},
		{"HTTPS://127.0.0.1:9/x.git", "", "v1"},
		{"https://127.0.0.1:9/x.git@v2", "", "v1"},
		{"https://127.0.0.1:9/x.git", "../x", "v1"},
		{"https://127.0.0.1:9/x.git", ".git/hooks", "v1"},
		{"https://127.0.0.1:9/x.git", "", "v1..v2"},
		{"https://127.0.0.1:9/x.git", "", "abc1234def"},
		{"https://127.0.0.1:9/x.git", "", "^1.2"},
		{"ssh://git:password@host/x.git", "", "v1"},
		{"https://127.0.0.1:9/x.git\nHost: y", "", "v1"},
		{"", "", "v1"},
		{"rules", "", "v1"},
	}
	for _, test := range tests {
		r := protocol.Request{Op: protocol.Fetch, URL: test.url, Dir: test.dir, Ref: test.ref, Into: w.into()}
		got := w.ask(r)
		if got.Error == nil || got.Error.Code != protocol.Refused {
			t.Errorf("%q %q %q: %+v, want %s", test.url, test.dir, test.ref, got.Error, protocol.Refused)
			continue
		}
		if strings.ContainsFunc(got.Error.Message, func(c rune) bool { return c < ' ' }) || strings.Contains(got.Error.Message, "password@") {
			t.Errorf("%q: message %q", test.url, got.Error.Message)
		}
	}
	_ = filepath.WalkDir(w.dir, func(p string, _ os.DirEntry, _ error) error {
		if strings.Contains(p, "PWNED") || strings.Contains(p, "escape") {
			t.Error("made", p)
		}
		return nil
	})
}

func TestRequestFields(t *testing.T) {
	ok := protocol.Request{Op: protocol.Fetch, URL: "https://h/x.git", Ref: "v1", Into: "/tmp/x"}
	if os.PathSeparator == '\\' {
		ok.Into = `C:\x`
	}
	if _, err := checkRequest(ok); err != nil {
		t.Fatal(err)
	}
	id, other := strings.Repeat("a", 40), strings.Repeat("b", 40)
	for name, change := range map[string]func(*protocol.Request){
		"unknown operation":  func(r *protocol.Request) { r.Op = "push" },
		"relative directory": func(r *protocol.Request) { r.Into = "x" },
		"no directory":       func(r *protocol.Request) { r.Into = "" },
		"short commit":       func(r *protocol.Request) { r.Commit = "abc" },
		"two commits":        func(r *protocol.Request) { r.Ref, r.Commit = id, other },
	} {
		r := ok
		change(&r)
		if _, err := checkRequest(r); err == nil {
			t.Errorf("%s was let through", name)
		}
	}
}

func TestParsePlace(t *testing.T) {
	tests := []struct{ url, scheme, user, password, host, path, shown string }{
		{"https://h/o/r.git", "https", "", "", "h", "/o/r.git", "https://h/o/r.git"},
		{"https://u:p%40ss@h:8443/o/r.git", "https", "u", "p@ss", "h", "/o/r.git", "https://h:8443/o/r.git"},
		{"https://h/a%20b/r.git", "https", "", "", "h", "/a%20b/r.git", "https://h/a%20b/r.git"},
		{"ssh://git@h:22/o/r.git", "ssh", "git", "", "h", "/o/r.git", "ssh://git@h:22/o/r.git"},
		{"ssh://git@h/~u/r.git", "ssh", "git", "", "h", "~u/r.git", "ssh://git@h/~u/r.git"},
		{"git@h:o/r.git", "ssh", "git", "", "h", "o/r.git", "git@h:o/r.git"},
		{"file:///a/b%20c.git", "file", "", "", "", "/a/b c.git", "file:///a/b%20c.git"},
		{"https://[::1]:8443/r.git", "https", "", "", "[::1]", "/r.git", "https://[::1]:8443/r.git"},
	}
	for _, test := range tests {
		p, err := parsePlace(test.url)
		if err != nil {
			t.Errorf("parsePlace(%q): %v", test.url, err)
			continue
		}
		got := [...]string{p.scheme, p.user, p.password, p.host, p.path, p.url}
		if want := [...]string{test.scheme, test.user, test.password, test.host, test.path, test.shown}; got != want {
			t.Errorf("parsePlace(%q) = %q, want %q", test.url, got, want)
		}
	}
}

func TestDecodeRequest(t *testing.T) {
	for _, text := range []string{
		``, `{`, `[]`, `null x`, `{"op":1}`, `{"op":"fetch"}{"op":"fetch"}`, `{"op":"fetch"} x`, `{"unknown":1}`,
		`{"url":"` + strings.Repeat("x", maxRequest) + `"}`, strings.Repeat("[", 1000), "\x00",
	} {
		if r, err := decodeRequest(strings.NewReader(text)); err == nil && text != `null x` {
			t.Errorf("decodeRequest(%.40q) = %+v, want an error", text, r)
		}
	}
	if r, err := decodeRequest(strings.NewReader(" {\"op\":\"tags\"}\n")); err != nil || r.Op != protocol.Tags {
		t.Errorf("%+v, %v", r, err)
	}
}

// FuzzRequest decodes and checks anything: what gets through is a reference that
// reads back as its parts, in a scheme that is allowed.
func FuzzRequest(f *testing.F) {
	for _, r := range []protocol.Request{
		{Op: protocol.Fetch, URL: "https://u:p@h:1/o/r.git", Dir: "a/b", Ref: "v1", Into: "/x"},
		{Op: protocol.Tags, URL: "git@h:o/r.git"},
		{Op: protocol.Fetch, URL: "ssh://-oX=y@h/%2e%2e/r", Ref: "a@b", Into: "/x"},
		{Op: protocol.Fetch, URL: "file:///%2e%2e/%00", Ref: strings.Repeat("a", 64), Into: "/x", Insecure: true},
	} {
		text, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decodeRequest(bytes.NewReader(text))
		if err != nil {
			return
		}
		p, err := checkRequest(r)
		if err != nil {
			j := &job{}
			if m := j.explain(err).Message; strings.ContainsFunc(m, func(c rune) bool { return c < ' ' || c == 0x7f }) {
				t.Errorf("message %q", m)
			}
			return
		}
		ref := pin.Ref{URL: r.URL, Dir: r.Dir, Name: r.Ref}
		if again, err := pin.ParseRef(r.URL + strings.TrimPrefix(ref.Key(), pin.Ref{URL: r.URL}.Key())); err != nil || again != ref {
			t.Errorf("%+v reads back as %+v, %v", ref, again, err)
		}
		switch {
		case p.scheme != "https" && p.scheme != "ssh" && p.scheme != "file" && !(p.scheme == "http" && r.Insecure):
			t.Errorf("scheme %q", p.scheme)
		case p.scheme != "file" && (p.host == "" || strings.HasPrefix(p.host, "-")):
			t.Errorf("host %q", p.host)
		case strings.HasPrefix(p.url, "-") || strings.HasPrefix(p.user, "-") || strings.HasPrefix(p.path, "-"):
			t.Errorf("%+v has an option in it", p)
		case p.password != "" && p.scheme != "ssh" && strings.Contains(p.url, "@"):
			t.Errorf("%q has user-info", p.url)
		}
	})
}

// FuzzTree takes directories apart: what is accepted is what was written.
func FuzzTree(f *testing.F) {
	f.Add([]byte(entry("100644", "a", strings.Repeat("1", 40))), 40)
	f.Add([]byte("40000 \x00"), 64)
	f.Fuzz(func(t *testing.T, content []byte, digits int) {
		if digits != 64 {
			digits = 40
		}
		entries, err := parseTree(content, digits)
		if err != nil {
			return
		}
		size := 0
		for _, e := range entries {
			if !pin.IsCommit(e.id) || len(e.id) != digits || strings.Contains(e.name, "\x00") {
				t.Errorf("%+v", e)
			}
			size += len(e.name) + digits/2 + 2
		}
		if size > len(content) {
			t.Errorf("%d bytes out of %d", size, len(content))
		}
	})
}

package mcp

import (
	"errors"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// TestSpellings: one file has many spellings, and a relative one that leads out of the root
// is none. Where an absolute one leads, the root package sees (bind_test.go there). An
// answer that begins with "!" is a code.
func TestSpellings(t *testing.T) {
	const outside = "!" + string(ir.TargetOutsideRoot)
	unix := spelling{root: "/home/u/p"}
	windows := spelling{root: `C:\Users\u\p`, windows: true}
	for _, c := range []struct {
		s            spelling
		target, want string
	}{
		{unix, "a/b.ts", "a/b.ts"},
		{unix, "./a", "./a"},
		{unix, ".", "."},
		{unix, "a/../b", "a/../b"},
		{unix, "a/", "a/"},
		{unix, "..a/b", "..a/b"},
		{unix, ".../a", ".../a"},
		{unix, "/home/u/p", "/home/u/p"},
		{unix, "/home/u/p/a", "/home/u/p/a"},
		{unix, "/home/u/p/x/../a", "/home/u/p/x/../a"},
		{unix, "//home/u/p/a", "//home/u/p/a"},
		{unix, "file:///home/u/p/a%20b", "/home/u/p/a b"},
		{unix, "FILE://localhost/home/u/p/a", "/home/u/p/a"},
		{unix, "file:/home/u/p/a", "/home/u/p/a"},
		{unix, "file:///home/u/p/a%23b#L10", "/home/u/p/a#b"},
		{unix, "file:///home/u/p/%C3%BC", "/home/u/p/ü"},
		{unix, "file:///home/u/p/a%00b", "/home/u/p/a\x00b"},
		{unix, "filed/a", "filed/a"},
		{unix, `a\b`, `a\b`},
		{unix, `..\b`, `..\b`},
		{unix, "a%2e", "a%2e"},
		{unix, "C:/x", "C:/x"},
		{unix, "..", outside},
		{unix, "../p", outside},
		{unix, "a/../..", outside},
		{unix, "a/../../p/a", outside},
		{unix, "./../a", outside},
		{unix, "/home/u/p/..", "/home/u/p/.."},
		{unix, "/home/u/p2", "/home/u/p2"},
		{unix, "/home/u", "/home/u"},
		{unix, "/", "/"},
		{unix, "/etc/passwd", "/etc/passwd"},
		{unix, "file:///etc", "/etc"},
		{unix, "file:///home/u/p/%2e%2E/x", "/home/u/p/../x"},
		{unix, "file:///home/u/p/..%2fx", "/home/u/p/../x"},
		{unix, "file://host/home/u/p", "!" + string(ir.TargetInvalid)},
		{unix, "file:a", "!" + string(ir.TargetInvalid)},
		{unix, "file:", "!" + string(ir.TargetInvalid)},
		{unix, "file:///a%", "!" + string(ir.TargetInvalid)},
		{unix, "file:///a%2", "!" + string(ir.TargetInvalid)},
		{unix, "file:///a%2g", "!" + string(ir.TargetInvalid)},
		{unix, "", "!usage"},

		{spelling{root: "/"}, "/etc", "/etc"},
		{spelling{root: "/"}, "..", outside},

		{windows, `src\a.ts`, "src/a.ts"},
		{windows, `.\src`, "./src"},
		{windows, `C:\Users\u\p\src`, "C:/Users/u/p/src"},
		{windows, `c:\Users\u\p\src`, "C:/Users/u/p/src"},
		{windows, `c:/users/U/P/src`, "C:/users/U/P/src"},
		{windows, "file:///c:/Users/u/p/a%20b", "C:/Users/u/p/a b"},
		{windows, "file:///C%3A/Users/u/p/a", "C:/Users/u/p/a"},
		{windows, "file:/0:", "/0:"},
		{windows, `..\x`, outside},
		{windows, `src\..\..\x`, outside},
		{windows, `D:\Users\u\p\src`, "D:/Users/u/p/src"},
		{windows, `C:\Users\u\p2`, "C:/Users/u/p2"},
		{windows, `C:\Users\u\p\..\x`, "C:/Users/u/p/../x"},
		{windows, `\\host\share\x`, "//host/share/x"},
		{windows, `\Windows`, "/Windows"},
		{windows, "C:x", "C:x"},
		{windows, "file:///C:/Users/u", "C:/Users/u"},
		{spelling{root: `d:\p`, windows: true}, `D:\p\a`, "d:/p/a"},
	} {
		got, err := c.s.read(c.target)
		if err != nil {
			var misuse *mwp.UsageError
			if !errors.As(err, &misuse) {
				t.Fatalf("read(%q) at %s: %v", c.target, c.s.root, err)
			}
			got = "!" + string(misuse.Diagnostic.Code)
		}
		if got != c.want {
			t.Errorf("read(%q) at %s = %q, want %q", c.target, c.s.root, got, c.want)
		}
	}
}

// FuzzSpelling: nothing relative that is let through is outside of the root by its name,
// and what is absolute is told to be.
func FuzzSpelling(f *testing.F) {
	for _, s := range []string{"a/b", "../x", "/r/p/../x", "file:///r/p/%2e%2e/x", `c:\r\p\..\x`, "file://localhost/r/p/a?b#c", "%", "a/./b//..", "\x00", "file:///c:/r", `a\..\..`, "file:../x"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, target string, windows bool) {
		s := spelling{root: "/r/p", windows: windows}
		if windows {
			s.root = `C:\r\p`
		}
		path, err := s.read(target)
		if err != nil || s.isAbs(path) {
			return
		}
		if len(target) >= 5 && strings.EqualFold(target[:5], "file:") {
			t.Errorf("read(%q) at %s = %q, which is relative", target, s.root, path)
		}
		root := s.slashed(s.root)
		if cleaned := clean(root + "/" + path); cleaned != root && !strings.HasPrefix(cleaned, root+"/") {
			t.Errorf("read(%q) at %s = %q, which is %q", target, s.root, path, cleaned)
		}
	})
}

// FuzzEscape: a path comes back from its URI.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a/b", "a b/ü#%.d", "?", "\xff\x00", "%41", "a:b@c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if strings.HasPrefix(path, "/") {
			return
		}
		uri := contextURI + escape(path)
		for i := range len(uri) {
			if uri[i] <= ' ' || uri[i] >= 0x7f || strings.IndexByte(`"<>\^{|}`+"`", uri[i]) >= 0 {
				t.Fatalf("escape(%q) = %q, which is no URI", path, uri)
			}
		}
		if got, ok := pathOf(uri); !ok || got != path {
			t.Errorf("pathOf(%q) = %q, %v, want %q", uri, got, ok, path)
		}
	})
}

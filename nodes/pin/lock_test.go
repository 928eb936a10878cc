package pin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var tree = strings.Repeat("ab", 32)

func lockText(lines ...string) string {
	return "mwp-modules 1\n" + strings.Join(lines, "\n") + "\n"
}

func TestParseLock(t *testing.T) {
	b := Record{"https://h/b@v1", Tag, sha, tree}
	a := Record{"https://h/a@" + sha, Commit, sha, tree}
	c := Record{"https://h/c//d", Branch, sha, tree}
	text := lockText("# a comment", "", "https://h/b@v1 tag "+sha+" blake3:"+tree,
		"https://h/a@"+sha+" commit "+sha+" blake3:"+tree, "https://h/c//d branch "+sha+" blake3:"+tree)
	want := Lock{[]Record{a, b, c}}
	for _, in := range []string{text, strings.ReplaceAll(text, "\n", "\r\n"), strings.TrimSuffix(text, "\n")} {
		got, bad := ParseLock([]byte(in))
		if diff := cmp.Diff(want, got); diff != "" || len(bad) > 0 {
			t.Errorf("ParseLock(%q): %v %s", in, bad, diff)
		}
	}
	for _, r := range want.Records {
		if got, ok := want.Find(r.Key); !ok || got != r {
			t.Errorf("Find(%s) = %v, %v", r.Key, got, ok)
		}
	}
	if got, ok := want.Find("https://h/bb@v1"); ok {
		t.Errorf("Find of an unknown key = %v", got)
	}
}

// TestParseLockMistakes: each mistake with its place, all at once.
func TestParseLockMistakes(t *testing.T) {
	good := "https://h/b@v1 tag " + sha + " blake3:" + tree
	for in, want := range map[string][]string{
		"":                       {`1:1: expected the line mwp-modules 1, found ""`},
		"mwp-modules 2\n" + good: {"1:13: expected format 1, found format 2"},
		"mwp-modules \n":         {"1:1: expected the line"},
		"mwp-modules x\n":        {"1:1: expected the line"},
		"\ufeffmwp-modules 1\n":  {"1:1: expected the line"},
		"# x\nmwp-modules 1\n":   {"1:1: expected the line"},
		lockText("x"):            {`2:1: expected REFERENCE KIND COMMIT TREE with one blank between them, found "x"`},
		lockText(good + " "):     {"2:1: expected REFERENCE"},
		lockText(good, good):     {"3:1: the reference \"https://h/b@v1\" is pinned twice"},
		lockText("<<<<<<< ours", good, "=======", ">>>>>>> theirs", "||||||| base"): {
			"2:1: found the mark of a merge", "4:1: found the mark of a merge", "5:1: found the mark of a merge", "6:1: found the mark of a merge"},
		lockText("x tag " + sha + " blake3:" + tree):                               {"2:1: expected a full URL"},
		lockText("https://u:hunter2@h/b@v1 tag " + sha + " blake3:" + tree):        {"2:1: expected a reference without user name and password, found \"https://***@h/b@v1\""},
		lockText(strings.Replace(good, "tag", "tree", 1)):                          {`2:16: expected tag, commit or branch, found "tree"`},
		lockText("https://h/ö@v1 trée " + sha + " blake3:" + tree):                 {`2:16: expected tag, commit or branch, found "trée"`},
		lockText(strings.Replace(good, sha, sha[:39], 1)):                          {"2:20: expected a commit in full"},
		lockText(strings.Replace(good, sha, strings.ToUpper(sha), 1)):              {"2:20: expected a commit in full"},
		lockText(strings.Replace(good, "tag", "commit", 1)):                        {"2:23: the reference names one commit and the line another"},
		lockText("https://h/b@" + sha + " tag " + sha + " blake3:" + tree):         {"the reference names one commit and the line another"},
		lockText("https://h/b@" + sha + " commit " + sha[1:] + "0 blake3:" + tree): {"the reference names one commit and the line another"},
		lockText(strings.Replace(good, "blake3:", "", 1)):                          {"2:61: expected blake3: and 64 hex digits"},
		lockText(strings.Replace(good, "blake3:", "sha256:", 1)):                   {"2:61: expected blake3: and 64 hex digits"},
		lockText(good[:len(good)-1]):                                               {"2:61: expected blake3: and 64 hex digits"},
		lockText(strings.ToUpper(good[len(good)-1:])+"\x1b[2J", good+"x"):          {"2:1: expected REFERENCE", "3:61: expected blake3:"},
	} {
		_, bad := ParseLock([]byte(in))
		if len(bad) != len(want) {
			t.Errorf("ParseLock(%q): %v, want %v", in, bad, want)
			continue
		}
		for i := range bad {
			if !strings.Contains(bad[i].Error(), want[i]) || strings.ContainsAny(bad[i].Error(), "\x1b\n") || bad[i].Hint == "" {
				t.Errorf("ParseLock(%q): %q, hint %q, want %q", in, bad[i], bad[i].Hint, want[i])
			}
		}
	}
}

func TestParseLockBounds(t *testing.T) {
	var lines []string
	for i := range maxLockRecords + 1 {
		lines = append(lines, fmt.Sprintf("https://h/r%d@v1 tag %s blake3:%s", i, sha, tree))
	}
	if _, bad := ParseLock([]byte(lockText(lines...))); len(bad) != 1 || bad[0].Line != maxLockRecords+2 {
		t.Errorf("one record too many: %v", bad)
	}
	if l, bad := ParseLock([]byte(lockText(lines[1:]...))); len(bad) != 0 || len(l.Records) != maxLockRecords {
		t.Errorf("as many as may be: %v", bad)
	}
	if _, bad := ParseLock([]byte(lockText(strings.Repeat("x\n", 5000)))); len(bad) != 100 {
		t.Errorf("%d mistakes are reported", len(bad))
	}
	if _, bad := ParseLock([]byte(lockText(strings.Repeat("x", 1<<20)))); len(bad) != 1 || len(bad[0].Message) > 500 {
		t.Error("a long line is repeated in the message")
	}
}

// TestSet: records stay in order, each key once, and a copy is not changed.
func TestSet(t *testing.T) {
	var l Lock
	for _, key := range []string{"c", "a", "b", "a"} {
		l.Set(Record{Key: key, Kind: Tag, Commit: key})
	}
	before := l
	l.Set(Record{Key: "a", Kind: Tag, Commit: "new"})
	l.Remove("b")
	l.Remove("none")
	want := []Record{{Key: "a", Kind: Tag, Commit: "new"}, {Key: "c", Kind: Tag, Commit: "c"}}
	if diff := cmp.Diff(want, l.Records); diff != "" {
		t.Error(diff)
	}
	if r, _ := before.Find("a"); r.Commit != "a" || len(before.Records) != 3 {
		t.Errorf("the copy is now %v", before)
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte(lockText("# c", "https://h/b@v1 tag "+sha+" blake3:"+tree)))
	f.Add([]byte(lockText("https://h/a@"+sha+" commit "+sha+" blake3:"+tree, "<<<<<<< x")))
	f.Add([]byte("mwp-modules 9\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, bad := ParseLock(text)
		for _, e := range bad {
			if e.Line < 1 || e.Column < 1 || e.Message == "" || strings.ContainsAny(e.Message, "\x1b\n") {
				t.Errorf("ParseLock(%q): %#v", text, e)
			}
		}
		if len(bad) > 0 {
			return
		}
		formatted := AppendLock(nil, l)
		again, bad := ParseLock(formatted)
		if diff := cmp.Diff(l, again); diff != "" || len(bad) > 0 {
			t.Errorf("ParseLock(%q), formatted %q: %v %s", text, formatted, bad, diff)
		}
	})
}

package pin

import (
	"errors"
	"strings"
	"testing"
	"unicode"
)

const sha = "0123456789abcdef0123456789abcdef01234567"

func TestParseRef(t *testing.T) {
	for in, want := range map[string]Ref{
		"https://h/o/r.git@v1":                     {"https://h/o/r.git", "", "v1"},
		"https://h/o/r@v1":                         {"https://h/o/r", "", "v1"},
		"https://h/o/r":                            {"https://h/o/r", "", ""},
		"https://h/o/r@" + sha:                     {"https://h/o/r", "", sha},
		"https://h:8443/o/r@release/v1":            {"https://h:8443/o/r", "", "release/v1"},
		"https://h/o/r.git@pkg@1.2.0":              {"https://h/o/r.git", "", "pkg@1.2.0"},
		"https://h/o/r@pkg@1.2.0":                  {"https://h/o/r", "", "pkg@1.2.0"},
		"https://h/o/r//d/e@v1":                    {"https://h/o/r", "d/e", "v1"},
		"https://h/o/r//@team/rules@v1":            {"https://h/o/r", "@team/rules", "v1"},
		"https://h/@scope/r@v1":                    {"https://h/@scope/r", "", "v1"},
		"https://h/o/r.git//d@v1":                  {"https://h/o/r.git", "d", "v1"},
		"https://user:pw@h/o/r@v1":                 {"https://user:pw@h/o/r", "", "v1"},
		"https://user@pw@h/o/r@v1":                 {"https://user@pw@h/o/r", "", "v1"},
		"https://h/r//@v1":                         {"https://h/r", "@v1", ""},
		"https://h/r//d/@v1":                       {"https://h/r", "d/@v1", ""},
		"http://h/r@v1":                            {"http://h/r", "", "v1"},
		"https://[::1]:80/r@v1":                    {"https://[::1]:80/r", "", "v1"},
		"ssh://git@h/o/r.git@v1":                   {"ssh://git@h/o/r.git", "", "v1"},
		"ssh://git@h:22/o/r.git@v1":                {"ssh://git@h:22/o/r.git", "", "v1"},
		"git@h.example:o/r.git@v1":                 {"git@h.example:o/r.git", "", "v1"},
		"git@h.example:o/r@v1":                     {"git@h.example:o/r", "", "v1"},
		"git@h.example:r.git//d@v1":                {"git@h.example:r.git", "d", "v1"},
		"file:///srv/git/r.git@v1":                 {"file:///srv/git/r.git", "", "v1"},
		"file:///dev/null@v1":                      {"file:///dev/null", "", "v1"},
		"https://h/ö/r@v1":                         {"https://h/ö/r", "", "v1"},
		"https://h/r//" + strings.Repeat("d", 180): {"https://h/r", strings.Repeat("d", 180), ""},
		"https://h/r//d%2Fe@v1":                    {"https://h/r", "d%2Fe", "v1"},
		"https://h/o/r@v1.0.0-rc.1+build":          {"https://h/o/r", "", "v1.0.0-rc.1+build"},
	} {
		got, err := ParseRef(in)
		if got != want || err != nil {
			t.Errorf("ParseRef(%q) = %+v, %v, want %+v", in, got, err, want)
		}
	}
}

// TestParseRefRefuses: cases 27 and what is like them. Each message says what is
// wrong, and how a reference is written.
func TestParseRefRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "found nothing",
		strings.Repeat("a", 5000):              "found 5000 bytes; the limit is 2048",
		"https://h/r@v 1":                      "without blanks",
		"https://h/r@v1\n":                     "without blanks",
		"https://h/r\u202e@v1":                 "without blanks",
		"https://h/\xff@v1":                    "without blanks",
		"ext::sh@v1":                           `transport "ext::" is not supported`,
		"ext::sh -c touch% PWNED@v1":           "without blanks",
		"--upload-pack=touch@v1":               "found the option",
		"-c@v1":                                "found the option",
		"ssh://-oProxyCommand=x/r@v1":          "begins like an option",
		"ssh://git@-oProxyCommand=x/r@v1":      "begins like an option",
		"git@-oProxyCommand=x:r@v1":            "begins like an option",
		"https://127.0.0.1:9/../../x.git@v1":   `found ".."`,
		"https://h/./r@v1":                     `found "."`,
		"https://h/r@../../escape":             `a name has no ".."`,
		"file:///dev/null@--upload-pack=touch": "begins like an option",
		"file://relative/r@v1":                 "expected file:/// and an absolute path",
		"file:r@v1":                            "expected a git URL",
		"git://h/r@v1":                         `transport "git" is not supported`,
		"ftp://h/r@v1":                         `transport "ftp" is not supported`,
		"mwp-rust-idiomatic@v2":                `the short name "mwp-rust-idiomatic@v2"; there is no registry`,
		"./local/dir":                          "short name",
		"host:r@v1":                            "expected a git URL",
		"a/b@h:r@v1":                           "expected a git URL",
		"https://h@v1":                         "expected a repository after the host",
		"https://h/":                           "expected a repository after the host",
		"https:///r@v1":                        "expected the name of a host",
		"https://h//d@v1":                      "expected a repository after the host",
		"https://h/r//../d@v1":                 "expected a directory of the repository after //",
		"https://h/r///d@v1":                   "expected a directory of the repository after //",
		"https://h/r//a/.git@v1":               "look-alike",
		"https://h/r//a//b@v1":                 "expected a directory of the repository after //",
		"https://h/r//" + strings.Repeat("d/", 90) + "d@v1": "more than 180 bytes",
		"https://h/r?x=1@v1":      `without \, ? and #`,
		"https://h/r#d@v1":        `without \, ? and #`,
		`https://h/a\b@v1`:        `without \, ? and #`,
		"https://h/r@":            "there is none",
		"https://h/r@v1..v2":      `a name has no ".."`,
		"https://h/r@HEAD~1":      "a name has no",
		"https://h/r@v1^{}":       "a name has no",
		"https://h/r@a@{1}":       "a name has no",
		"https://h/r@refs/tags/":  "no empty part",
		"https://h/r@a//b":        "expected",
		"https://h/r@.a":          "begins with a dot",
		"https://h/r@a.lock":      "ends in .lock",
		"https://h/r@a.lock/b":    "ends in .lock",
		"https://h:x/r@v1":        "the port is no number",
		"https://h:/r@v1":         "the port is no number",
		"https://h:123456/r@v1":   "the port is no number",
		"https://[::1/r@v1":       "in brackets",
		"https://[::1]22/r@v1":    "in brackets",
		"https://[::1]:x/r@v1":    "the port is no number",
		"https://[h]/r@v1":        "letters, digits",
		"git@[::1]:o/r@v1":        "is not supported",
		"https://h%2f/r@v1":       "letters, digits, dots and hyphens",
		"https://$(touch x)/r@v1": "without blanks",
		"https://$(touch)/r@v1":   "letters, digits, dots and hyphens",
	} {
		r, err := ParseRef(in)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRef(%q) = %+v, %v, want an error with %q", in, r, err, want)
			continue
		}
		if !strings.HasPrefix(e.Hint, "- git: https://") || r != (Ref{}) {
			t.Errorf("ParseRef(%q): %+v, the hint is %q", in, r, e.Hint)
		}
	}
	if _, err := ParseRef("team/rules.git@v2"); err == nil || err.(*Error).Hint != "- git: https://HOST/OWNER/rules.git@v2" {
		t.Errorf("the hint for a short name: %+v", err)
	}
}

// TestErrorsKeepSecrets: U-45.
func TestErrorsKeepSecrets(t *testing.T) {
	for _, in := range []string{
		"https://user:hunter2@h o/r@v1", "https://user:hunter2@$h/r@v1", "https://user:hunter2@h", "https://user:hunter2@h/../r@v1",
		"https://user:hunter2@h/r?x@v1", "https://user:hun/ter2@h/r@v1", "https://user:hunter2/x@h/r@v1", "file://user:hunter2@h/r@v1",
		"ftp://user:hunter2@h/r@v1", "user:hunter2@h:r@v1", `https://user:hun"ter2@h/../r@v1`, "-https://user:hunter2@h/r@v1",
		"https://hunter2@h/../r@v1", "ssh://user:hunter2@h/../r@v1", "ht!tp://user:hunter2@h/r@v1", "https://user:hunter2@h:x/r@v1",
	} {
		_, err := ParseRef(in)
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ter2") {
			t.Errorf("ParseRef(%q): %v", in, err)
		}
	}
}

func TestVague(t *testing.T) {
	for name, want := range map[string]string{
		"v1.0.0": "", sha: "", "main": "", "deadbeef": "", "1234567": "", "release-1": "",
		"0123abc": "an abbreviated commit", sha[:39]: "an abbreviated commit", strings.ToUpper(sha): "a commit is written in lower case",
		">=1.0": "no version ranges", "v1.x": "no version ranges", "1.0,2.0": "no version ranges", "a|b": "no version ranges", "<2": "no version ranges",
	} {
		got := Ref{Name: name}.Vague()
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("Vague of %q = %q, want %q", name, got, want)
		}
	}
}

func TestIsCommit(t *testing.T) {
	for s, want := range map[string]bool{
		sha: true, sha + sha[:24]: true, sha[:39]: false, sha + "0": false, strings.ToUpper(sha): false,
		strings.Repeat("g", 40): false, "": false, "../" + sha[3:]: false,
	} {
		if got := IsCommit(s); got != want || (Ref{Name: s}).Commit() != want {
			t.Errorf("IsCommit(%q) = %v, want %v", s, got, want)
		}
	}
}

// TestKey: the lock file never has a password, and two spellings of a repository
// are one where versions are compared.
func TestKey(t *testing.T) {
	for in, want := range map[string][2]string{
		"https://user:pw@Host.example/o/r.git//d@v1": {"https://Host.example/o/r.git//d@v1", "https://host.example/o/r"},
		"https://token@h/o/r@v1":                     {"https://h/o/r@v1", "https://h/o/r"},
		"https://a@b@h/o/r@v1":                       {"https://h/o/r@v1", "https://h/o/r"},
		"ssh://git:pw@h/o/r@v1":                      {"ssh://git@h/o/r@v1", "ssh://git@h/o/r"},
		"ssh://git@h/o/r@v1":                         {"ssh://git@h/o/r@v1", "ssh://git@h/o/r"},
		"git@h:o/r.git@v1":                           {"git@h:o/r.git@v1", "git@h:o/r"},
		"https://h/o/r/":                             {"https://h/o/r/", "https://h/o/r"},
		"file:///srv/R.git":                          {"file:///srv/R.git", "file:///srv/R"},
	} {
		r, err := ParseRef(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{r.Key(), r.Repository()}; got != want {
			t.Errorf("ParseRef(%q): key and repository %q, want %q", in, got, want)
		}
		if secret := strings.Contains(in, "pw@") || strings.HasPrefix(in, "https://token") || strings.HasPrefix(in, "https://a@"); r.Secret() != secret {
			t.Errorf("ParseRef(%q).Secret() = %v", in, r.Secret())
		}
	}
}

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"no url @ all":                 "no url @ all",
		"https://h/r@v1":               "https://h/r@v1",
		"https:/u:p@h/r@v1":            "https:/u:***@h/r@v1",
		"u:p@h:r.git":                  "u:***@h:r.git",
		"git@h:r?p@v1":                 "git@h:r?***",
		"git@h:o/r.git@v1":             "git@h:o/r.git@v1",
		"https://h/r.git?t=p@v1":       "https://h/r.git?***",
		"https://h/r@v1?t=p":           "https://h/r@v1?***",
		"https://h/r@v1#p":             "https://h/r@v1#***",
		"a.md:3:5: packages/@s/x":      "a.md:3:5: packages/@s/x",
		"https://h:443/r@v1":           "https://h:443/r@v1",
		"https://u:p@h/r@v1":           "https://***@h/r@v1",
		"https://u:p@q@h/r":            "https://***@h/r",
		"a https://u:p@h, HTTP://t@h":  "a https://***@h, HTTP://***@h",
		"'https://u:p@h/' failed":      "'https://***@h/' failed",
		`https://u:p"q@h/`:             "https://***@h/",
		"https://u:p/q@h/r":            "https://***@h/r",
		"ssh://git@h/r":                "ssh://git@h/r",
		"ssh://git:p@h/r":              "ssh://***@h/r",
		"https://[::1]:80/r@v1":        "https://[::1]:80/r@v1",
		"://u:p@h":                     "://***@h",
		"https://u:p":                  "https://u:p",
		"https://a:b/c https://u:p@h/": "https://a:b/c https://***@h/",
	} {
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
	// Quadratic time would not end.
	long := strings.Repeat("x://u:p/", 1<<20)
	if got := Mask(long); got != long {
		t.Error("a long text without any '@' changed")
	}
}

func FuzzMask(f *testing.F) {
	f.Add("https", "user", "secret", "h/r@v1")
	f.Add("ssh", "git", "p@q:r", "[::1]:22/r")
	f.Fuzz(func(t *testing.T, scheme, user, password, rest string) {
		if len(password) < 8 || strings.ContainsFunc(user+password, unicode.IsSpace) || strings.Contains(user+password, "://") || !isScheme(scheme) {
			return
		}
		if strings.Contains(user+password, "/") && strings.Contains(user+password, "@") {
			return // nobody can tell where the host begins
		}
		if strings.Contains(user, "/") && !strings.Contains(user, ":") || strings.Contains(scheme+"://***@"+rest, password) {
			return
		}
		masked := Mask("see " + scheme + "://" + user + ":x" + password + "@" + rest)
		if strings.Contains(masked, password) {
			t.Errorf("%s://%s:x%s@%s is shown as %q", scheme, user, password, rest, masked)
		}
		if again := Mask(masked); again != masked {
			t.Errorf("masked twice: %q, then %q", masked, again)
		}
	})
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{
		"https://h/o/r.git//d@v1", "git@h:o/r@v1", "ssh://git:p@h:22/r", "file:///r@v1", "ext::x@v1", "-x@v1", "a@b",
		"https://u:p@h/@s/r//@t/d@p@1", "https://[::1]/r@" + sha,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRef(s)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Message == "" || strings.ContainsFunc(e.Message, unicode.IsControl) {
				t.Errorf("ParseRef(%q) fails with %#v", s, err)
			}
			return
		}
		if strings.HasPrefix(r.URL, "-") || strings.HasPrefix(r.Name, "-") || strings.Contains(r.URL, "::") && !strings.Contains(r.URL, "[") && !strings.Contains(r.URL, "://") {
			t.Errorf("ParseRef(%q) = %+v", s, r)
		}
		if r.Dir != "" && CheckPath(r.Dir) != nil {
			t.Errorf("ParseRef(%q) has the directory %q", s, r.Dir)
		}
		if _, list := Store(sha+sha[:24], r.Dir); len(list) > 255 {
			t.Errorf("ParseRef(%q): the list's name has %d bytes", s, len(list))
		}
		again, err := ParseRef(r.Key())
		if err != nil || again.Key() != r.Key() || again.Dir != r.Dir || again.Name != r.Name || again.Repository() != r.Repository() {
			t.Errorf("ParseRef(%q) = %+v, and of its key %q: %+v, %v", s, r, r.Key(), again, err)
		}
		line := r.Key() + " tag " + sha + " blake3:" + sha + sha[:24]
		if _, column, why := parseRecord(line); why != "" && !r.Commit() {
			t.Errorf("the record %q: %d: %s", line, column, why)
		}
	})
}

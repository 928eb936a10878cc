package pin

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ref is a git import, taken apart.
type Ref struct {
	// URL is the repository as git takes it, with user-info as written.
	URL string
	// Dir is the module's directory in the repository, "" for its root.
	Dir string
	// Name is the tag, branch or commit after the '@', "" when there is none.
	Name string
}

// Error says why a text is no reference, and what to write instead.
type Error struct{ Message, Hint string }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

const exampleRef = "- git: https://HOST/OWNER/REPOSITORY.git@TAG"

func refuse(message string) error { return &Error{message, exampleRef} }

// maxRefBytes bounds a reference; hosts take no URL that is much longer.
const maxRefBytes = 2048

// ParseRef takes a reference apart (D-36): after scheme, user-info and host, the
// URL ends at the first ".git@", else at the first '@' that does not directly
// follow a '/', so that scopes such as //@team/rules and tags such as pkg@1.2.0
// are kept whole. Everything that git or a shell could read as an option, a
// command or another transport is refused with an *Error.
func ParseRef(s string) (Ref, error) {
	switch {
	case s == "":
		return Ref{}, refuse("expected a git URL, found nothing")
	case len(s) > maxRefBytes:
		return Ref{}, refuse("expected a git URL, found " + strconv.Itoa(len(s)) + " bytes; the limit is " + strconv.Itoa(maxRefBytes))
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }):
		return Ref{}, refuse("expected a git URL without blanks and control characters, found " + strconv.QuoteToASCII(Mask(s)))
	case strings.HasPrefix(s, "-"):
		return Ref{}, refuse("expected a git URL, found the option " + strconv.Quote(Mask(s)))
	}
	at, err := pathStart(s)
	if err != nil {
		return Ref{}, err
	}
	location, name := splitName(s, at)
	r := Ref{Name: name, URL: location}
	if i := strings.Index(location[at:], "//"); i >= 0 {
		r.URL, r.Dir = location[:at+i], location[at+i+2:]
		if err := checkDir(r.Dir); err != nil {
			return Ref{}, refuse("expected a directory of the repository after //, found " + strconv.Quote(r.Dir) + ": " + err.Error())
		}
	}
	for segment := range strings.SplitSeq(r.URL[at:], "/") {
		if segment == ".." || segment == "." {
			return Ref{}, refuse("expected a plain path in the URL, found " + strconv.Quote(segment) + " in " + strconv.Quote(Mask(s)))
		}
	}
	if strings.Trim(r.URL[at:], "/") == "" {
		return Ref{}, refuse("expected a repository after the host, found none in " + strconv.Quote(Mask(s)))
	}
	if strings.ContainsAny(r.URL[at:], `\?#`) {
		return Ref{}, refuse("expected a URL without \\, ? and #, found " + strconv.Quote(Mask(s)))
	}
	if r.Name != "" || strings.HasSuffix(s, "@") {
		if why := checkName(r.Name); why != "" {
			shown, query, _ := strings.Cut(name, "?")
			if query != "" {
				shown += "?***"
			}
			return Ref{}, refuse("expected a tag or a commit after the @, found " + strconv.Quote(Mask(shown)) + ": " + why)
		}
	}
	return r, nil
}

// checkDir returns why a path can be no module's directory: beside what holds for
// all paths, a file has to be named after it (Store).
func checkDir(dir string) error {
	if len(escapeDir(dir)) > MaxPathBytes {
		return errors.New("a path of more than 180 bytes, each slash counting as three")
	}
	return CheckPath(dir)
}

// pathStart returns where the path of a URL begins, after scheme and host.
func pathStart(s string) (int, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || !isScheme(scheme) {
		return scpStart(s)
	}
	from := len(scheme) + len("://")
	slash := strings.IndexByte(rest, '/')
	switch scheme {
	case "https", "http", "ssh":
		if slash < 0 {
			return 0, refuse("expected a repository after the host, found none in " + strconv.Quote(Mask(s)))
		}
		host := rest[strings.LastIndexByte(rest[:slash], '@')+1 : slash]
		if why := checkHost(host, rest[:slash]); why != "" {
			// What follows the colon may be half of a password.
			shown, _, _ := strings.Cut(host, ":")
			return 0, refuse("expected the name of a host, found " + strconv.Quote(shown) + why)
		}
		return from + slash, nil
	case "file":
		if slash != 0 {
			return 0, refuse("expected file:/// and an absolute path, found " + strconv.Quote(Mask(s)))
		}
		return from, nil
	}
	return 0, &Error{"the transport " + strconv.Quote(scheme) + " is not supported; the transports are https, ssh and file", exampleRef}
}

func isScheme(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}

// scpStart handles user@host:path. What comes before the colon has no slash, and
// "::" is git's syntax for running a transport program.
func scpStart(s string) (int, error) {
	colon := strings.IndexByte(s, ':')
	if colon < 0 {
		return 0, shortName(s)
	}
	if strings.HasPrefix(s[colon:], "::") {
		return 0, &Error{"the transport " + strconv.Quote(s[:colon]+"::") + " is not supported; the transports are https, ssh and file", exampleRef}
	}
	user, host, ok := strings.Cut(s[:colon], "@")
	if !ok || user == "" || strings.Contains(s[:colon], "/") {
		return 0, refuse("expected a git URL, found " + strconv.Quote(maskShort(s)))
	}
	if why := checkHost(host, s[:colon]); why != "" {
		return 0, refuse("expected the name of a host, found " + strconv.Quote(s[:colon]) + why)
	}
	return colon + 1, nil
}

// shortName refuses a value without a scheme (D-95): guessing where to download
// from would be a hole.
func shortName(s string) error {
	name, ref, ok := strings.Cut(s, "@")
	if !ok || ref == "" {
		ref = "TAG"
	}
	name = strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], ".git")
	return &Error{
		"expected a full URL, found the short name " + strconv.Quote(s) + "; there is no registry of names",
		"- git: https://HOST/OWNER/" + name + ".git@" + ref,
	}
}

// checkHost refuses what ssh could take for an option and what is no host name.
func checkHost(host, authority string) string {
	name, port, hasPort := host, "", false
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 || end+1 < len(host) && host[end+1] != ':' {
			return ": an address in brackets is followed by nothing or a colon and the port"
		}
		name, port = host[1:end], strings.TrimPrefix(host[end+1:], ":")
		hasPort = len(host) > end+1
	} else {
		name, port, hasPort = strings.Cut(host, ":")
	}
	letters := "abcdefghijklmnopqrstuvwxyz0123456789.-_"
	if strings.HasPrefix(host, "[") {
		letters = "abcdef0123456789:."
	}
	switch {
	case strings.HasPrefix(name, "-") || strings.HasPrefix(authority, "-"):
		return ": it begins like an option"
	case name == "" || strings.Trim(strings.ToLower(name), letters) != "":
		return ": a host is written in letters, digits, dots and hyphens"
	case hasPort && (port == "" || len(port) > 5 || strings.Trim(port, "0123456789") != ""):
		return ": the port is no number"
	}
	return ""
}

// splitName cuts the tag or commit off; at is where the URL's path begins.
func splitName(s string, at int) (location, name string) {
	rest := s[at:]
	if i := strings.Index(rest, ".git@"); i >= 0 {
		return s[:at+i+len(".git")], rest[i+len(".git@"):]
	}
	for i := 1; i < len(rest); i++ {
		if rest[i] == '@' && rest[i-1] != '/' {
			return s[:at+i], rest[i+1:]
		}
	}
	return s, ""
}

// checkName applies git's rules for the names of tags and branches, "" when it
// passes.
func checkName(name string) string {
	switch {
	case name == "":
		return "there is none"
	case strings.Contains(name, "#"):
		return "sections are for local and workspace imports; a module's manifest says which parts it brings"
	case strings.HasPrefix(name, "-"):
		return "it begins like an option"
	case strings.Contains(name, ".."), strings.Contains(name, "@{"), strings.ContainsAny(name, `~^:?*[\`):
		return `a name has no "..", "@{", ~ ^ : ? * [ or \`
	case strings.HasPrefix(name, "/"), strings.HasSuffix(name, "/"), strings.Contains(name, "//"), strings.HasSuffix(name, "."):
		return "a name has no empty part and does not end in a dot"
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return "no part of a name begins with a dot or ends in .lock"
		}
	}
	return ""
}

// Commit reports whether the reference names a commit in full: 40 or 64 hex
// digits (D-33).
func (r Ref) Commit() bool { return IsCommit(r.Name) }

// IsCommit reports whether s is the id of a git object in full, in lower case.
func IsCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// Vague returns why a name can be no pin although a server might accept it: an
// abbreviated commit or a range of versions, "" for any other (D-33).
func (r Ref) Vague() string {
	lower := strings.ToLower(r.Name)
	hex := strings.Trim(lower, "0123456789abcdef") == ""
	switch {
	case hex && lower != r.Name && IsCommit(lower):
		return "a commit is written in lower case"
	case hex && len(lower) >= 7 && !r.Commit() && strings.ContainsAny(lower, "0123456789") && strings.ContainsAny(lower, "abcdef"):
		return "an abbreviated commit is ambiguous; write all 40 digits"
	case strings.ContainsAny(r.Name, "<>=|,") || strings.HasPrefix(r.Name, "v") && strings.HasSuffix(r.Name, ".x"):
		return "there are no version ranges; write one tag"
	}
	return ""
}

// Key returns the reference as the lock file has it: without passwords, so that
// none is ever committed (U-45).
func (r Ref) Key() string {
	key := withoutUserInfo(r.URL)
	if r.Dir != "" {
		key += "//" + r.Dir
	}
	if r.Name != "" {
		key += "@" + r.Name
	}
	return key
}

// Repository returns the URL in a form that is equal for the usual spellings of
// one repository: for telling that two references mean different versions of it.
func (r Ref) Repository() string {
	u := strings.TrimSuffix(strings.TrimRight(withoutUserInfo(r.URL), "/"), ".git")
	if scheme, rest, ok := strings.Cut(u, "://"); ok {
		host, repository, _ := strings.Cut(rest, "/")
		return scheme + "://" + strings.ToLower(host) + "/" + repository
	}
	return u
}

// Secret reports whether the URL carries a password or token.
func (r Ref) Secret() bool { return Mask(r.URL) != r.URL }

// withoutUserInfo drops what comes before the host, except the user name that ssh
// needs.
func withoutUserInfo(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	authority, tail, slash := strings.Cut(rest, "/")
	i := strings.LastIndexByte(authority, '@')
	if i < 0 {
		return url
	}
	user, _, _ := strings.Cut(authority[:i], ":")
	host := authority[i+1:]
	if scheme == "ssh" && user != "" {
		host = user + "@" + host
	}
	if slash {
		host += "/" + tail
	}
	return scheme + "://" + host
}

// maskShort masks what could be a password in a text that is no URL, as in
// user:password@host:path.
func maskShort(s string) string {
	at := strings.IndexByte(s, '@')
	if colon := strings.IndexByte(s, ':'); colon >= 0 && colon < at {
		return s[:colon+1] + "***" + s[at:]
	}
	if at := strings.IndexByte(s, '@'); at > strings.IndexByte(s, ':') && !strings.Contains(s[:at], "/") {
		return "***" + s[at:]
	}
	return Mask(s)
}

// Mask returns text with the user-info of every URL in it replaced by "***", for
// messages (U-45), and with it what follows a '?' or '#', where tokens are put too.
// The user of an ssh URL without a password stays. Its time is linear in the text.
//
// What is no URL and looks like a broken one is masked too: whoever mistypes an
// address has typed the password all the same.
func Mask(s string) string { return maskWords(maskQueries(maskUsers(s))) }

// maskWords hides what stands between a colon and the first '@' of a word, and
// behind a '?' in a word with an '@'.
func maskWords(s string) string {
	if strings.IndexByte(s, '@') < 0 {
		return s
	}
	var b strings.Builder
	for s != "" {
		end := firstOf(s, endsWord)
		word := s[:end]
		if at := strings.IndexByte(word, '@'); at >= 0 {
			if q := strings.IndexByte(word, '?'); q >= 0 {
				word = word[:q+1] + "***"
				at = strings.IndexByte(word, '@')
			}
			if colon := strings.LastIndexByte(word[:max(at, 0)], ':'); colon >= 0 && colon+1 < at && !strings.Contains(word[colon:at], "/") {
				word = word[:colon+1] + "***" + word[at:]
			}
		}
		b.WriteString(word)
		rest := s[end:]
		skip := firstOf(rest, func(c rune) bool { return !endsWord(c) })
		b.WriteString(rest[:skip])
		s = rest[skip:]
	}
	return b.String()
}

func endsWord(c rune) bool { return unicode.IsSpace(c) || c == '"' || c == '\'' || c == '`' }

// maskQueries hides a URL's query and fragment.
func maskQueries(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "://")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + firstOf(s[i:], func(c rune) bool { return unicode.IsSpace(c) || c == '"' || c == '`' })
		if q := strings.IndexAny(s[i:end], "?#"); q >= 0 {
			b.WriteString(s[:i+q+1] + "***")
		} else {
			b.WriteString(s[:end])
		}
		s = s[end:]
	}
}

func maskUsers(s string) string {
	var b strings.Builder
	sought := len(s) // what is left after the last word without an '@'
	for {
		i := strings.Index(s, "://")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		start := strings.LastIndexFunc(s[:i], func(c rune) bool { return !isScheme(string(c)) }) + 1
		scheme := strings.ToLower(s[start:i])
		i += len("://")
		b.WriteString(s[:i])
		s = s[i:]
		authority := s[:firstOf(s, func(c rune) bool { return c == '/' || unicode.IsSpace(c) })]
		at := strings.LastIndexByte(authority, '@')
		if at < 0 && len(s) <= sought && !plainPort(authority) {
			word := s[:firstOf(s, unicode.IsSpace)]
			if at = strings.LastIndexByte(word, '@'); at < 0 {
				sought = len(s) - len(word)
			}
		}
		if at < 0 {
			continue
		}
		// A reference may end right after the host: then the '@' belongs to the tag,
		// and showing stars for it loses nothing.
		if scheme != "ssh" || strings.Contains(s[:at], ":") {
			b.WriteString("***")
			s = s[at:]
		}
	}
}

// plainPort reports whether nothing but a port follows the host. A password with a
// slash in it, which no URL may have, would begin like another one.
func plainPort(authority string) bool {
	if strings.HasPrefix(authority, "[") {
		authority = authority[strings.IndexByte(authority, ']')+1:]
	}
	_, port, _ := strings.Cut(authority, ":")
	return strings.Trim(port, "0123456789") == ""
}

func firstOf(s string, is func(rune) bool) int {
	if i := strings.IndexFunc(s, is); i >= 0 {
		return i
	}
	return len(s)
}

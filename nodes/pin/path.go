package pin

import (
	"errors"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of one module (D-102). A listing of that many files stays below what one
// input may have.
const (
	MaxFiles     = 5000
	MaxDepth     = 32
	MaxPathBytes = 180
	MaxBytes     = 64 << 20
)

// reserved are device names on Windows, where a file of that name cannot exist.
var reserved = [...]string{
	"con", "prn", "aux", "nul", "conin$", "conout$",
	"com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
}

// CheckPath returns why a path from a foreign tree may not become a file here, nil
// when it may: it has to mean the same one file below the module on every system.
func CheckPath(p string) error {
	switch {
	case p == "":
		return errors.New("an empty name")
	case !utf8.ValidString(p):
		return errors.New("a name that is not UTF-8")
	case len(p) > MaxPathBytes:
		return errors.New("a path of more than 180 bytes")
	case strings.HasPrefix(p, "/") || path.Clean(p) != p:
		return errors.New("a path that is not relative and clean")
	case strings.Count(p, "/") >= MaxDepth:
		return errors.New("more than 32 directories inside each other")
	case strings.ContainsAny(p, "\\:*?\"<>|"):
		return errors.New(`one of the characters \ : * ? " < > |`)
	case strings.ContainsFunc(p, func(c rune) bool {
		return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || c == utf8.RuneError
	}):
		return errors.New("a control or invisible character")
	}
	for name := range strings.SplitSeq(p, "/") {
		if err := checkSegment(strings.ToLower(name)); err != nil {
			return err
		}
	}
	return nil
}

func checkSegment(name string) error {
	stem, _, _ := strings.Cut(name, ".")
	switch {
	case name == "..":
		return errors.New("a step out of the module")
	case name == ".git" || strings.HasPrefix(name, "git~"):
		return errors.New("the name .git or a look-alike")
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return errors.New("a name that ends in a dot or a blank")
	case slices.Contains(reserved[:], strings.TrimRight(stem, " ")):
		return errors.New("a name that is a device on Windows")
	}
	return nil
}

package mcp

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// codeUsage is the command line's code for what makes no sense as typed.
const codeUsage = "usage"

func refuse(code ir.Code, hint, format string, args ...any) error {
	return &mwp.UsageError{Diagnostic: ir.Diagnostic{
		Code: code, Severity: ir.SeverityError, Message: fmt.Sprintf(format, args...), Hint: hint,
	}}
}

const targetHint = "name a target below the root"

// spelling reads targets as clients spell them (D-65): relative to the root, absolute,
// as a file URI; on Windows with either slash and a drive letter of either case.
type spelling struct {
	// root is the workspace root, absolute.
	root    string
	windows bool
}

func newSpelling(root string) spelling {
	return spelling{root: root, windows: filepath.Separator == '\\'}
}

// read returns the target as the root package takes it: a path relative to the root, or
// an absolute one. What leads out of the root by its name is refused whichever way it is
// spelled.
func (s spelling) read(target string) (string, error) {
	if target == "" {
		return "", refuse(codeUsage, "name a file or directory, or leave the target out for the whole project", "the target is empty")
	}
	path, err := s.fromURI(target)
	if err != nil {
		return "", err
	}
	if s.windows {
		path = strings.ReplaceAll(path, `\`, "/")
		path = s.sameDrive(path)
	}
	if s.leaves(path) {
		return "", refuse(ir.TargetOutsideRoot, targetHint, "the target %s is outside the root %s", clean(s.slashed(s.root)+"/"+path), s.root)
	}
	return path, nil
}

// fromURI returns the path of a file URI, and anything else as it is. The part behind
// "#" is a place in a file, as editors link to one.
func (s spelling) fromURI(target string) (string, error) {
	const scheme = "file:"
	if len(target) < len(scheme) || !strings.EqualFold(target[:len(scheme)], scheme) {
		return target, nil
	}
	bad := func(why string) error {
		return refuse(ir.TargetInvalid, targetHint, "%s is no file URI of this machine: %s", target, why)
	}
	path := target[len(scheme):]
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		host, _, _ := strings.Cut(rest, "/")
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", bad("it names the host " + host)
		}
		path = rest[len(host):]
	}
	if !strings.HasPrefix(path, "/") {
		return "", bad("its path is not absolute")
	}
	path, ok := unescape(path)
	if !ok {
		return "", bad("a % begins no escape in it")
	}
	if s.windows && hasDrive(path[1:]) {
		path = path[1:]
	}
	return path, nil
}

// unescape decodes percent-escapes.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			return "", false
		}
		b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
		i += 2
	}
	return string(b), true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

// escape returns a path as it stands in a URI: letters, digits, and what a path may
// hold as it is.
func escape(path string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/!$&'()*+,;=:@", c) >= 0 {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// sameDrive gives a path the root's spelling of the drive letter.
func (s spelling) sameDrive(path string) string {
	if hasDrive(path) && hasDrive(s.root) && strings.EqualFold(path[:1], s.root[:1]) {
		return s.root[:1] + path[1:]
	}
	return path
}

func hasDrive(path string) bool {
	return len(path) >= 2 && path[1] == ':' && (path[0]|0x20 >= 'a' && path[0]|0x20 <= 'z')
}

func (s spelling) isAbs(path string) bool {
	return strings.HasPrefix(path, "/") || s.windows && hasDrive(path)
}

func (s spelling) slashed(path string) string {
	if s.windows {
		return strings.ReplaceAll(path, `\`, "/")
	}
	return path
}

// leaves reports whether a relative path leads out of the root by its name. Of an absolute
// one the root package tells, and it looks where links lead.
func (s spelling) leaves(path string) bool {
	return path != "" && !s.isAbs(path) && above(path)
}

// above reports whether a relative path leads out of the directory that it starts from.
func above(path string) bool {
	depth := 0
	for name := range strings.SplitSeq(path, "/") {
		switch name {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return true
		}
	}
	return false
}

// clean resolves the dots of an absolute path with slashes.
func clean(path string) string {
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "" || name == ".":
		case name == ".." && len(names) > 0:
			names = names[:len(names)-1]
		case name == "..":
		default:
			names = append(names, name)
		}
	}
	cleaned := strings.Join(names, "/")
	if strings.HasPrefix(path, "/") {
		return "/" + cleaned
	}
	return cleaned
}

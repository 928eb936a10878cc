package mwp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// membersPatience is how long init waits for others that change the same list. Each
// holds it for as long as one small file takes to write.
const membersPatience = 5 * time.Second

// join adds the directory to the workspace's list of members. The list is read
// again under a lock: what was read before it may lack what another process has
// added since.
func (s *scaffold) join() error {
	ws := s.joins
	if ws == nil {
		return nil
	}
	if !s.o.DryRun {
		unlock, err := ws.lock(s.ctx, membersPatience)
		if err != nil {
			return err
		}
		defer unlock()
		if added, err := ws.enlist(s.rel(ws)); err != nil || !added {
			return err
		}
	}
	s.r.Made = append(s.r.Made, ws.config)
	return nil
}

// lock takes the lock of the list of members. Its file lies in the cache, which
// version control ignores.
func (a *parentAnchor) lock(ctx context.Context, patience time.Duration) (unlock func() error, err error) {
	cache := filepath.Join(a.state, "cache")
	dir := filepath.Join(cache, CacheFormat)
	for _, d := range []string{a.state, cache, dir} {
		info, err := os.Lstat(d)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, initFailed(err, "look at", d)
		}
		if err == nil && !info.IsDir() {
			return nil, refuse(initRefused, d, moveAway, "expected a directory or nothing, found %s", noun(info.Mode()))
		}
	}
	if err := cas.Prepare(cache); err != nil {
		return nil, initFailed(err, "make", cache)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, initFailed(err, "make", dir)
	}
	path := filepath.Join(dir, "members.lock")
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, refuse(initRefused, path, moveAway, "expected a regular file or nothing, found %s", noun(info.Mode()))
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	unlock, err = cas.Lock(limited, path, nil)
	switch {
	case err == nil:
		return unlock, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, environment(ir.Unreadable, err, "run the command again when that process has ended",
			"cannot change the members in %s: another process has held %s for %v", a.config, path, patience)
	}
	return nil, initFailed(err, "lock", path)
}

// enlist adds a member to the configuration as it is now. It reports false when
// the list has it.
func (a *parentAnchor) enlist(member string) (added bool, err error) {
	text, err := readRegular(a.config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, readFailed(ir.ConfigInvalid, err, a.config)
	}
	if c, _ := nodes.ParseConfig(text); nodes.MemberMatch(c.Members, member) {
		return false, nil
	}
	if text, err = a.add(text, member); err != nil {
		return false, err
	}
	if err := replaceFile(a.config, text); err != nil {
		return false, initFailed(err, "write", a.config)
	}
	return true, nil
}

// add returns the configuration's text with one more member, or a refusal that
// says what to write by hand.
func (a *parentAnchor) add(text []byte, member string) ([]byte, error) {
	edited, err := addMember(text, member)
	if err != nil {
		c, _ := nodes.ParseConfig(text)
		return nil, refuse(membersManual, a.config, "write this line there, then run the command again: "+membersLine(c.Members, member),
			"the list of members cannot be changed safely: %v", err)
	}
	return edited, nil
}

// addMember returns a configuration's text with one more member, everything else
// left byte for byte as it was. It parses what came out, and fails where that is
// not the old configuration and the member: then a person has to edit.
func addMember(text []byte, member string) ([]byte, error) {
	if bytes.HasPrefix(text, []byte("\ufeff")) || !utf8.Valid(text) {
		return nil, errors.New("the file is not plain UTF-8")
	}
	old, problems := nodes.ParseConfig(text)
	if hasErrors(problems) {
		return nil, errors.New("the file has mistakes: " + problems[0].Message)
	}
	place, err := findMembers(text)
	if err != nil {
		return nil, err
	}
	edited := place.insert(text, quoteTOML(member))
	changed, problems := nodes.ParseConfig(edited)
	if hasErrors(problems) {
		return nil, errors.New("the result would not parse: " + problems[0].Message)
	}
	want := old
	want.Members = append(append([]string(nil), old.Members...), member)
	if !reflect.DeepEqual(withoutLines(changed), withoutLines(want)) {
		return nil, errors.New("the result would mean something else")
	}
	if !nodes.MemberMatch(changed.Members, member) {
		return nil, fmt.Errorf("%s would not match the directory, because of an exclusion or of characters that have a meaning in patterns", quoteTOML(member))
	}
	if strings.ContainsAny(member, "*?[") {
		return nil, fmt.Errorf("%s would be read as a pattern and match other directories", quoteTOML(member))
	}
	return edited, nil
}

// withoutLines returns a configuration without what an added line moves: the
// settings, which repeat the values, and the lines of directories.
func withoutLines(c nodes.Config) nodes.Config {
	c.Settings = nil
	c.Directories = slices.Clone(c.Directories)
	for i := range c.Directories {
		c.Directories[i].Line = 0
	}
	return c
}

func hasErrors(ds []ir.Diagnostic) bool {
	for _, d := range ds {
		if d.Severity == ir.SeverityError {
			return true
		}
	}
	return false
}

// memberList is where a configuration's members stand, as offsets.
type memberList struct {
	found bool
	// lastEnd is behind the last element, 0 when there is none; comma is set when a
	// comma follows it; close is the closing bracket.
	lastEnd, close int
	comma          bool
	// at is where a list can be added: behind the last key of the top level.
	at int
}

// insert writes one more element, in the style of those that are there.
func (m memberList) insert(text []byte, element string) []byte {
	eol := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		eol = "\r\n"
	}
	splice := func(at int, s string) { text = append(text[:at:at], append([]byte(s), text[at:]...)...) }
	if !m.found {
		line := "members = [" + element + "]" + eol
		if m.at > 0 && text[m.at-1] != '\n' {
			line = eol + line
		}
		splice(m.at, line)
		return text
	}
	line := bytes.LastIndexByte(text[:m.close], '\n') + 1
	ownLine := len(bytes.TrimLeft(text[line:m.close], " \t")) == 0
	switch {
	case m.lastEnd == 0 && !ownLine:
		splice(m.close, element)
	case m.lastEnd == 0:
		splice(line, "  "+element+","+eol)
	case ownLine:
		first := bytes.LastIndexByte(text[:m.lastEnd], '\n') + 1
		indent := text[first : first+len(text[first:])-len(bytes.TrimLeft(text[first:], " \t"))]
		added := string(indent) + element
		if m.comma {
			added += ","
		}
		splice(line, added+eol)
		if !m.comma {
			splice(m.lastEnd, ",")
		}
	case m.comma:
		splice(m.close, " "+element)
	default:
		splice(m.lastEnd, ", "+element)
	}
	return text
}

// findMembers walks the keys of the top level. It knows enough of TOML to skip
// what it does not look for, and gives up on anything unexpected: the text did
// parse, so that means that it uses a form this walk does not know.
func findMembers(text []byte) (m memberList, err error) {
	s := tomlScanner{text: text}
	for {
		s.space(true)
		if s.done() || s.peek() == '[' {
			return m, nil
		}
		key, err := s.key()
		if err != nil {
			return m, err
		}
		if key != "members" {
			err = s.value()
		} else if s.done() || s.peek() != '[' {
			err = errors.New("members is no list in brackets")
		} else {
			m.found = true
			err = s.array(&m)
		}
		if err != nil {
			return m, err
		}
		if m.found {
			return m, nil
		}
		if i := bytes.IndexByte(text[s.i:], '\n'); i >= 0 {
			m.at = s.i + i + 1
		} else {
			m.at = len(text)
		}
	}
}

// tomlScanner moves over TOML that is known to parse.
type tomlScanner struct {
	text []byte
	i    int
}

func (s *tomlScanner) done() bool { return s.i >= len(s.text) }

func (s *tomlScanner) peek() byte { return s.text[s.i] }

// space skips white space and, with lines set, line ends and comments.
func (s *tomlScanner) space(lines bool) {
	for !s.done() {
		switch c := s.peek(); {
		case c == ' ' || c == '\t':
			s.i++
		case lines && (c == '\n' || c == '\r'):
			s.i++
		case lines && c == '#':
			for !s.done() && s.peek() != '\n' {
				s.i++
			}
		default:
			return
		}
	}
}

var errUnknownForm = errors.New("the file is written in a way that is not understood here")

// key moves over "key =" and returns the key as written, without quotes.
func (s *tomlScanner) key() (string, error) {
	start := s.i
	for !s.done() && s.peek() != '=' {
		switch s.peek() {
		case '"', '\'':
			if err := s.str(); err != nil {
				return "", err
			}
		case '\n', '#':
			return "", errUnknownForm
		default:
			s.i++
		}
	}
	if s.done() {
		return "", errUnknownForm
	}
	key := strings.Trim(strings.TrimSpace(string(s.text[start:s.i])), `"'`)
	s.i++
	s.space(false)
	return key, nil
}

// str moves over a string of any of the four forms.
func (s *tomlScanner) str() error {
	quote := s.text[s.i : s.i+1]
	escapes := quote[0] == '"'
	if triple := bytes.Repeat(quote, 3); bytes.HasPrefix(s.text[s.i:], triple) {
		quote = triple
	}
	s.i += len(quote)
	for !s.done() {
		switch {
		case bytes.HasPrefix(s.text[s.i:], quote):
			s.i += len(quote)
			// Up to two quotes may stand before the closing three.
			for len(quote) == 3 && !s.done() && s.peek() == quote[0] {
				s.i++
			}
			return nil
		case escapes && s.peek() == '\\':
			s.i += 2
		default:
			s.i++
		}
	}
	return errUnknownForm
}

// value moves over one value.
func (s *tomlScanner) value() error {
	if s.done() {
		return errUnknownForm
	}
	switch s.peek() {
	case '"', '\'':
		return s.str()
	case '[':
		return s.array(&memberList{})
	case '{':
		return s.table()
	}
	for !s.done() && !bytes.ContainsRune([]byte(",]}#\r\n"), rune(s.peek())) {
		s.i++
	}
	return nil
}

// array moves over an array and notes where its elements and its end are.
func (s *tomlScanner) array(m *memberList) error {
	s.i++
	for {
		s.space(true)
		if s.done() {
			return errUnknownForm
		}
		switch s.peek() {
		case ']':
			m.close = s.i
			s.i++
			return nil
		case ',':
			m.comma = true
			s.i++
		default:
			before := s.i
			if err := s.value(); err != nil {
				return err
			}
			if s.i == before {
				return errUnknownForm
			}
			m.lastEnd, m.comma = before+len(bytes.TrimRight(s.text[before:s.i], " \t")), false
		}
	}
}

// table moves over an inline table.
func (s *tomlScanner) table() error {
	depth := 0
	for !s.done() {
		switch s.peek() {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"', '\'':
			if err := s.str(); err != nil {
				return err
			}
			continue
		case '#':
			s.space(true)
			continue
		}
		s.i++
		if depth == 0 {
			return nil
		}
	}
	return errUnknownForm
}

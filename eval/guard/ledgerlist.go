package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// listVersion is the version of the format of all side files.
const listVersion = 1

// maxListed is how many objects a side file keeps while some of them are others'.
const maxListed = 2000

// listed is one object in the list of a side file, as it stands there.
type listed struct {
	// id says what the object is about, signer who signed it, when which of several is
	// the newer one.
	id     [32]byte
	signer string
	when   int64
	text   string
}

// findings are what is wrong with a side file.
type findings struct {
	// damaged counts objects that were passed over; broken says where the file ends to
	// make sense, "" nowhere.
	damaged int
	broken  string
}

// problem returns one sentence, "" when nothing is wrong. noun is what an object is.
func (f findings) problem(noun string) string {
	var parts []string
	if f.broken != "" {
		parts = append(parts, f.broken+"; what follows counts for nothing")
	}
	if f.damaged > 0 {
		n, are, count := noun+"s", "are", "count"
		if f.damaged == 1 {
			n, are, count = noun, "is", "counts"
		}
		parts = append(parts, fmt.Sprintf("%d %s %s damaged and %s for nothing", f.damaged, n, are, count))
	}
	return strings.Join(parts, "; ")
}

// readList reads the text of a side file: a version and a list. Each reads one object
// of it, and returns false for one that is damaged. An object that each cannot read is
// damaged too; where not even its end can be found, neither can what follows.
func readList(text, name string, each func(*jsonReader) bool) (f findings) {
	r := &jsonReader{text: text}
	r.expect('{')
	r.field("version", true)
	if at, v := r.at, r.integer(); r.want == "" && v != listVersion {
		r.at = at + 1
		f.broken = fmt.Sprintf("expected format %d, found format %d", listVersion, v)
		return f
	}
	r.field(name, false)
	r.expect('[')
	for first := true; r.want == "" && !r.next(']'); first = false {
		if !first {
			r.expect(',')
		}
		r.blank()
		start := r.at
		if r.want != "" {
			break
		}
		if each(r) {
			continue
		}
		f.damaged++
		if r.want != "" {
			r.want, r.at = "", start
			r.skip(0)
		}
	}
	r.expect('}')
	if r.blank(); r.want == "" && r.at < len(text) {
		r.fail("the end of the file")
	}
	if r.want != "" {
		f.broken = r.place()
	}
	return f
}

// appendList writes a side file.
func appendList(b []byte, name string, list []listed) []byte {
	b = fmt.Appendf(b, "{\n  \"version\": %d,\n  %q: [", listVersion, name)
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, "\n    "...), list[i].text...)
	}
	if len(list) > 0 {
		b = append(b, "\n  "...)
	}
	return append(b, "]\n}\n"...)
}

// listedOverhead is what a file needs beside an object's text, and around all.
const listedOverhead, listOverhead = len(",\n    "), 64

// bounded returns a list in its order in the file, short enough to be read again. Too
// many objects, or too many bytes, cost others' objects first, and the oldest first.
func bounded(list []listed, signer string, limit int) []listed {
	slices.SortStableFunc(list, inFile)
	size := listOverhead
	for i := range list {
		size += len(list[i].text) + listedOverhead
	}
	if len(list) <= maxListed && size <= limit {
		return list
	}
	slices.SortStableFunc(list, func(a, b listed) int {
		return cmp.Or(cmp.Compare(rank(a, signer), rank(b, signer)), cmp.Compare(a.when, b.when))
	})
	for len(list) > 0 && (size > limit || len(list) > maxListed && list[0].signer != signer) {
		size -= len(list[0].text) + listedOverhead
		list = list[1:]
	}
	slices.SortStableFunc(list, inFile)
	return list
}

func inFile(a, b listed) int {
	return cmp.Or(slices.Compare(a.id[:], b.id[:]), cmp.Compare(a.signer, b.signer), cmp.Compare(a.when, b.when))
}

// rank puts what goes first in front.
func rank(l listed, signer string) int {
	if l.signer == signer {
		return 1
	}
	return 0
}

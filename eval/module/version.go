package module

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// version is a tag read as a semantic version. Missing numbers are zero, so that
// v1 and v1.0.0 are equal.
type version struct {
	// prefix is what comes before the version, as in pkg@1.2.0, pkg/v1.2.0 or
	// pkg-v1.2.0. Only tags with the same one are versions of the same thing.
	prefix  string
	numbers [3]string // without leading zeros
	pre     string
}

// versionTag has the shortest prefix that leaves a version. The part after a plus
// sign is a build and has no order.
var versionTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?:.*?[@/-])??)[vV]?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$`)
})

// parseVersion reads a tag, ok is false when it is no version.
func parseVersion(tag string) (v version, ok bool) {
	m := versionTag().FindStringSubmatch(tag)
	if m == nil {
		return v, false
	}
	v.prefix, v.pre = m[1], m[5]
	for i := range v.numbers {
		v.numbers[i] = strings.TrimLeft(m[2+i], "0")
	}
	return v, true
}

// compareNumbers compares decimal numbers of any length without leading zeros.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// compare orders versions of one prefix: a pre-release is lower than its release.
func (v version) compare(w version) int {
	for i := range v.numbers {
		if c := compareNumbers(v.numbers[i], w.numbers[i]); c != 0 {
			return c
		}
	}
	if v.pre == "" || w.pre == "" {
		return cmp.Compare(len(w.pre), len(v.pre)) // both may be empty
	}
	return comparePre(v.pre, w.pre)
}

// comparePre compares pre-releases part by part: numbers by value and below words,
// and a longer one is higher.
func comparePre(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		xn, yn := isNumber(x), isNumber(y)
		c := strings.Compare(x, y)
		switch {
		case xn && yn:
			c = compareNumbers(strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0"))
		case xn:
			c = -1
		case yn:
			c = 1
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// newest returns the highest version above the pinned tag's, false when there is
// none. Pre-releases are offered only to who uses one. Of equal versions, such as
// v2 and v2.0.0, it is the one that says more, which moves less.
func newest(pinned string, tags []protocol.TagName) (protocol.TagName, bool) {
	from, ok := parseVersion(pinned)
	if !ok {
		return protocol.TagName{}, false
	}
	best, found := from, protocol.TagName{}
	for _, t := range tags {
		v, ok := parseVersion(t.Name)
		if !ok || v.prefix != from.prefix || v.pre != "" && from.pre == "" || v.compare(from) <= 0 {
			continue
		}
		c := v.compare(best)
		if c > 0 || c == 0 && cmp.Or(cmp.Compare(len(t.Name), len(found.Name)), strings.Compare(t.Name, found.Name)) > 0 {
			best, found = v, t
		}
	}
	return found, found.Name != ""
}

package pin

import (
	"fmt"
	"slices"
	"strings"
)

// Sum is one file of a module with the BLAKE3 digest of its bytes, in hex.
type Sum struct{ Digest, Path string }

// AppendSums appends the list of a module's files to dst in the format of b3sum,
// sorted by path, so that `b3sum --check` can read it too. The digest of this text
// is the digest of the module's tree (D-34).
func AppendSums(dst []byte, sums []Sum) []byte {
	sums = slices.Clone(sums)
	slices.SortFunc(sums, func(a, b Sum) int { return strings.Compare(a.Path, b.Path) })
	for _, s := range sums {
		dst = append(dst, s.Digest+"  "+s.Path+"\n"...)
	}
	return dst
}

// ParseSums is the inverse of AppendSums. It fails with a *LineError on anything
// that AppendSums would not have written from paths that CheckPath lets through.
func ParseSums(text []byte) ([]Sum, error) {
	var sums []Sum
	rest := string(text)
	for n := 1; rest != ""; n++ {
		line, after, ended := strings.Cut(rest, "\n")
		digest, path, ok := strings.Cut(line, "  ")
		fail := func(message string) ([]Sum, error) {
			return nil, &LineError{n, 1, message, "fetch the module again: `mwp import`"}
		}
		switch {
		case !ended || !ok || !isDigest(digest):
			return fail("expected a digest, two blanks and a path, found " + quote(line))
		case CheckPath(path) != nil:
			return fail("expected a plain path, found " + CheckPath(path).Error())
		case n > MaxFiles:
			return fail(fmt.Sprintf("more than %d files", MaxFiles))
		case n > 1 && sums[n-2].Path >= path:
			return fail("expected paths in order, each once")
		}
		sums = append(sums, Sum{digest, path})
		rest = after
	}
	return sums, nil
}

// FindSum returns the digest of a path in a list that ParseSums returned.
func FindSum(sums []Sum, path string) (digest string, ok bool) {
	i, ok := slices.BinarySearchFunc(sums, path, func(s Sum, path string) int { return strings.Compare(s.Path, path) })
	if !ok {
		return "", false
	}
	return sums[i].Digest, true
}

// Store returns where a pinned module lies below the modules directory: its
// files' directory, and the list that is written last and vouches for them. A
// module that is a directory of its repository has a list of its own.
func Store(commit, dir string) (files, list string) {
	files, list = commit, commit+".b3sums"
	if dir != "" {
		files += "/" + dir
		list = commit + "." + escapeDir(dir) + ".b3sums"
	}
	return files, list
}

func escapeDir(dir string) string {
	return strings.ReplaceAll(strings.ReplaceAll(dir, "%", "%25"), "/", "%2F")
}

package vcs

import (
	"errors"
	"strings"
	"testing"
)

// TestReasons has what git says to standard error, and what is made of it.
func TestReasons(t *testing.T) {
	for _, c := range []struct {
		said   string
		want   error
		reason string
		hint   string
	}{
		{"fatal: not a git repository (or any of the parent directories): .git\n", ErrNoRepository, ErrNoRepository.Error(), "go to"},
		{"error: bad signature 0x6f6e2069\nfatal: index file corrupt\n", ErrIndex, "the index is broken: index file corrupt", "git reset"},
		{"fatal: .git/index: index file smaller than expected\n", ErrIndex, "smaller than expected", "git reset"},
		{"fatal: .git/index: unable to map index file: No such device\n", ErrIndex, "unable to map", "git reset"},
		{"fatal: unordered stage entries in index\n", ErrIndex, "unordered", "git reset"},
		{"fatal: broken index, expect 1 in 2, got 3\n", ErrIndex, "expect", "git reset"},
		{"fatal: .git/index: index file open failed: Permission denied\n", nil, "Permission denied", ""},
		{"fatal: bad object HEAD\n", nil, "bad object HEAD", "git fsck"},
		{"fatal: unable to read tree 0123\n", nil, "unable to read tree", "git fsck"},
		{"warning: lazy fetching disabled; some objects may not be available\nfatal: could not fetch 0123 from promisor remote\n", nil, "could not fetch", "partial clone"},
		{"", nil, "git ended with exit status 128", ""},
	} {
		e := refusal("ask", []byte(c.said), 128)
		if !errors.Is(e, c.want) && c.want != nil || e.Err != c.want || !strings.Contains(e.Reason, c.reason) || !strings.Contains(e.Hint, c.hint) || (c.hint == "") != (e.Hint == "") {
			t.Errorf("refusal(%q) = %#v, want %v, reason %q, hint %q", c.said, e, c.want, c.reason, c.hint)
		}
	}
}

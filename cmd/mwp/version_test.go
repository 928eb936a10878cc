package main

import "testing"

func TestStamped(t *testing.T) {
	for _, c := range []struct {
		stamp string
		want  build
	}{
		{"v1.2.3", build{version: "v1.2.3"}},
		{"v1.2.3,abc", build{version: "v1.2.3", commit: "abc"}},
		{"v1.2.3,abc,modified", build{version: "v1.2.3", commit: "abc", modified: true}},
	} {
		if got := stamped(c.stamp); got != c.want {
			t.Errorf("stamped(%q) = %+v, want %+v", c.stamp, got, c.want)
		}
	}
}

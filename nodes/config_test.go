package nodes

import "testing"

func TestSuppliesIdentity(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"", false},
		{"name = \"x\"", false},
		{"description = \"\"", false},
		{"description = \"x\"", true},
		{"members = []", false},
		{"members = [\"a\"]", true},
		{"[directories]", false},
		{"[directories]\na = {}", true},
		{"[budgets]\nl0 = 1", false},
	} {
		c, ds := ParseConfig([]byte(tt.text))
		if got := c.SuppliesIdentity(); got != tt.want || len(ds) > 0 {
			t.Errorf("ParseConfig(%q).SuppliesIdentity() = %v %v, want %v", tt.text, got, ds, tt.want)
		}
	}
}

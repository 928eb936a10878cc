package ir

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever a file says, it is refused or it is a record that can be written and read again.
func FuzzParseSession(f *testing.F) {
	target := "a"
	r := &SessionRecord{ID: "s", Generation: 2, Client: "c", CallCount: 3, Seen: []Seen{
		{Key: ".", Hash: "blake3:00", Source: ".mwp", Dir: ".", Call: "map_workspace()", State: SeenHeld},
		{Key: "a", Hash: "blake3:01", Source: "a/.mwp-context.md", Layer: 4, Tokens: 7, Dir: "a", State: SeenWithdrawn, Varied: true},
	}, Calls: []SessionCall{{LayersSent: []string{"L0"}, LayersSkipped: []string{}}, {Target: &target, LayersSent: []string{}, LayersSkipped: []string{"L0"}}}}
	f.Add(AppendSessionJSON(nil, r))
	f.Add([]byte(`{"id": "s", "seen": {"\ud800": {"hash": "x", "dir": "d", "state": "lost"}}}`))
	f.Add([]byte(`{"id": "s", "created_at": "0000-01-01T00:00:00Z", "calls": [{}, null]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseSession(text, "s")
		if err != nil {
			return
		}
		again, err := ParseSession(AppendSessionJSON(nil, r), "s")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		third, err := ParseSession(AppendSessionJSON(nil, again), "s")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(again, third); d != "" {
			t.Errorf("another record (-want +got):\n%s", d)
		}
	})
}

package process

import (
	"os"
	"testing"
)

const own = "1234 (name) S 1 1234 1233 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5551 1 2 3\n"

func TestParseStat(t *testing.T) {
	tests := []struct {
		name, text string
		want       seen
		ok         bool
	}{
		{"plain", own, seen{parent: 1, group: 1234, session: 1233, start: 5551}, true},
		{"parentheses", "7 (a) Z 9 (b) R 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5551", seen{parent: 1, group: 2, session: 3, start: 5551}, true},
		{"stopped", "7 (a) T 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5551", seen{parent: 1, group: 2, session: 3, start: 5551, stopped: true}, true},
		{"ended", "7 (a) Z 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5551", seen{}, false},
		{"gone", "7 (a) X 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5551", seen{}, false},
		{"short", "7 (a) R 1 2 3 0 -1", seen{}, false},
		{"no number", "7 (a) R 1 b 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5551", seen{parent: 1, session: 3, start: 5551}, false},
		{"empty", "", seen{}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, ok := parseStat([]byte(test.text)); got != test.want || ok != test.ok {
				t.Errorf("parseStat(%q) = %+v, %v, want %+v, %v", test.text, got, ok, test.want, test.ok)
			}
		})
	}
	if s, ok := look(os.Getpid()); !ok || s.parent != os.Getppid() {
		t.Errorf("look(this process) = %+v, %v", s, ok)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(own))
	f.Add([]byte(")"))
	f.Add([]byte("1 (a) R"))
	f.Fuzz(func(t *testing.T, text []byte) { parseStat(text) })
}

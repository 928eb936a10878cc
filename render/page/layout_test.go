package page

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/render"
)

func randomDrawing(rng *rand.Rand, n int, circles bool) *render.Drawing {
	d := &render.Drawing{Boxes: make([]render.DrawnBox, n)}
	for i := range d.Boxes {
		for j := range d.Boxes {
			if (j > i || circles && j != i) && rng.IntN(6) == 0 {
				d.Boxes[i].Needs = append(d.Boxes[i].Needs, j)
			}
		}
	}
	return d
}

// TestArrange holds that boxes of a column lie apart, that what is needed lies right of
// who needs it, and that everything is inside of the picture.
func TestArrange(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 150 {
		circles := i%5 == 4
		d := randomDrawing(rng, 1+rng.IntN(40), circles)
		l := arrange(d)
		if !circles {
			for a, b := range d.Boxes {
				for _, need := range b.Needs {
					if l.spots[need].column <= l.spots[a].column {
						t.Fatalf("box %d needs %d, which lies in column %d and not right of %d", a, need, l.spots[need].column, l.spots[a].column)
					}
				}
			}
		}
		for _, col := range l.columns {
			for k := 1; k < len(col); k++ {
				a, b := &l.spots[col[k-1]], &l.spots[col[k]]
				if b.y-a.y < (a.height+b.height)/2 {
					t.Fatalf("two spots of a column overlap: %+v and %+v", a, b)
				}
			}
		}
		for k := range l.spots {
			s := &l.spots[k]
			if s.y-s.height/2 < 0 || s.y+s.height/2 > l.height || x(s.column)+boxWidth > l.width {
				t.Fatalf("%+v lies outside of %d×%d", s, l.width, l.height)
			}
		}
		if diff := cmp.Diff(l.lines, arrange(d).lines); diff != "" {
			t.Fatalf("the same drawing is laid out in two ways:\n%s", diff)
		}
	}
}

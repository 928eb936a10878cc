package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// atOnce is how many processes ask at the same time.
const atOnce = 8

// eight compares maps at the same time with as many in turn, warm and from an empty
// cache, and every answer with the first.
func (l *lab) eight(p *place) ([]row, error) {
	if err := l.warmPlace(p); err != nil {
		return nil, err
	}
	var rows []row
	for _, e := range []struct {
		what   string
		before func() error
	}{
		{"eight warm maps at the same time", nil},
		{"eight cold maps at the same time", func() error { return os.RemoveAll(p.cache()) }},
	} {
		c := l.mapOf(p.tree)
		c.before = e.before
		g := &group{l: l, c: c}
		runs := []func() (time.Duration, error){
			func() (time.Duration, error) { return g.run(atOnce) },
			func() (time.Duration, error) { return g.run(1) },
		}
		times, err := l.paced(runs...)
		if err != nil {
			return nil, err
		}
		r := inPlace(p, e.what, "eight in turn", times[0], times[1])
		r.Verdict, r.Detail = ok, fmt.Sprintf("%d answers, the same bytes", g.answers)
		if g.differ > 0 {
			r.Verdict, r.Detail = short, fmt.Sprintf("%d of %d answers differ from the first", g.differ, g.answers)
		}
		if err := countCache(p, r.Figures); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// group runs one command several times and compares the answers.
type group struct {
	l *lab
	c *contestant
	// first is what the first process of all answered.
	first           []byte
	answers, differ int
}

// run runs the command atOnce times, some of them side by side, and returns what all of
// them took together. Before runs ahead of those that run side by side, untimed.
func (g *group) run(sideBySide int) (took time.Duration, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	var out [atOnce]*os.File
	for i := range out {
		if out[i], err = os.Create(filepath.Join(g.l.dir, fmt.Sprintf("answer-%d", i))); err != nil {
			return 0, err
		}
		defer out[i].Close()
	}
	for first := 0; first < atOnce; first += sideBySide {
		if g.c.before != nil {
			if err := g.c.before(); err != nil {
				return 0, err
			}
		}
		start := time.Now()
		if err := g.batch(out[first:first+sideBySide], null); err != nil {
			return 0, err
		}
		took += time.Since(start)
	}
	return took, g.compare(out[:])
}

// batch starts a process for each file and waits for all of them.
func (g *group) batch(out []*os.File, null *os.File) error {
	var failed error
	running := make([]*os.Process, 0, len(out))
	for _, f := range out {
		p, err := os.StartProcess(g.c.argv[0], g.c.argv, &os.ProcAttr{Dir: g.c.dir, Env: g.l.env, Files: []*os.File{null, f, null}})
		if err != nil {
			failed = err
			break
		}
		running = append(running, p)
	}
	for _, p := range running {
		state, err := p.Wait()
		if err == nil && !state.Success() {
			err = fmt.Errorf("%s: %s", g.c.name, state)
		}
		if failed == nil {
			failed = err
		}
	}
	return failed
}

func (g *group) compare(out []*os.File) error {
	for _, f := range out {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			return err
		}
		if g.first == nil {
			g.first = b
		}
		g.answers++
		if len(b) == 0 || !bytes.Equal(b, g.first) {
			g.differ++
		}
	}
	return nil
}

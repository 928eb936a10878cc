package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// verdict is how a measurement stands to its limit.
type verdict string

const (
	ok     verdict = "ok"
	short  verdict = "short"
	absent verdict = "absent" // what it is measured with or against is not installed
	noted  verdict = ""       // there is no limit
)

// row is one measurement.
type row struct {
	Target string `json:"target"`
	// Name is that of a scenario in one tree, in the form that benchstat takes apart.
	Name string `json:"name,omitempty"`
	What string `json:"what"`
	// Measured is in Unit, "" for ratios and plain numbers.
	Measured float64  `json:"measured"`
	Unit     string   `json:"unit,omitempty"`
	Limit    *float64 `json:"limit"`
	Verdict  verdict  `json:"verdict,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	Command  string   `json:"command"`
	// Figures are set in the rows of the scenarios.
	Figures *figures `json:"figures,omitempty"`
}

// limited returns a row that is ok when measured is at most limit.
func limited(what string, measured, limit float64, unit, detail string) row {
	v := ok
	if measured > limit {
		v = short
	}
	return row{What: what, Measured: measured, Unit: unit, Limit: &limit, Verdict: v, Detail: detail}
}

// missing returns a row for what could not be measured.
func missing(what, why string) row { return row{What: what, Verdict: absent, Detail: why} }

// report is everything that a run found.
type report struct {
	Date    string  `json:"date"`
	Version string  `json:"version"`
	Machine machine `json:"machine"`
	Seed    uint64  `json:"seed"`
	Runs    int     `json:"runs"`
	Files   int     `json:"files"`
	Rows    []row   `json:"rows"`
}

// newReport describes where and when a lab measures.
func newReport(l *lab) (*report, error) {
	out, err := l.output("version")
	if err != nil {
		return nil, err
	}
	return &report{
		Date: time.Now().UTC().Format(time.DateOnly), Version: versionIn(out), Machine: describeMachine(l.dir),
		Seed: l.c.seed, Runs: l.c.runs, Files: l.c.files,
	}, nil
}

// versionIn takes the version and the commit out of what mwp version says.
func versionIn(said string) string {
	first, rest, _ := strings.Cut(said, "\n")
	version := strings.TrimSpace(first)
	for line := range strings.Lines(rest) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "commit" && f[1] != "unknown" {
			version += " at " + strings.Join(f[1:], " ")
		}
	}
	return version
}

// machine is where it was measured.
type machine struct {
	Cores      int    `json:"cores"`
	Processor  string `json:"processor,omitempty"`
	System     string `json:"system"`
	Go         string `json:"go"`
	FileSystem string `json:"file_system"`
}

func describeMachine(dir string) machine {
	system := runtime.GOOS + "/" + runtime.GOARCH
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		system += " " + strings.TrimSpace(string(b))
	}
	m := machine{Cores: runtime.NumCPU(), System: system, Go: runtime.Version(), FileSystem: fileSystem(dir)}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(b), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			m.Processor = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
		}
	}
	return m
}

// String is one line.
func (m machine) String() string {
	s := fmt.Sprintf("%d cores", m.Cores)
	if m.Processor != "" {
		s += " of " + m.Processor
	}
	return fmt.Sprintf("%s, %s, %s, %s", s, m.System, m.Go, m.FileSystem)
}

// String says when, what and where in one line.
func (r *report) String() string { return fmt.Sprintf("%s, %s, %s", r.Date, r.Version, r.Machine) }

// print writes the scenarios, the targets, how each is measured again, and what fell
// short.
func (r *report) print(w io.Writer) error {
	fmt.Fprintln(w, r)
	for _, part := range []func(io.Writer) error{r.scenarios, r.targets} {
		if err := part(w); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	for _, line := range r.commands() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, "\nfell short")
	lines := r.shortfalls()
	if len(lines) == 0 {
		lines = []string{"nothing"}
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// scenarios writes the table of rows with figures.
func (r *report) scenarios(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	const head = "\nscenario\ttree\tfiles\twhat\tmin / p50 / p95 ms\tbeside\tmin / p50 / p95 ms\tratio\tcalls\tMB\tcache KB\tnodes\truns\tverdict"
	any := false
	for _, x := range r.Rows {
		f := x.Figures
		if f == nil {
			continue
		}
		if !any {
			any = true
			fmt.Fprintln(t, head)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%.2f\t%s\t%s\t%s\t%s\t%d\t%s\n", x.Target, f.Shape, f.Files, x.What, f.Ours, f.Beside, f.Against,
			x.Measured, counted(f.Calls, "%d"), counted(f.Peak, "%.1f"), counted(f.kilobytes(), "%.0f"), counted(f.Computed, "%d"), f.Runs, x.Verdict.text())
	}
	return t.Flush()
}

// counted prints what was counted, "-" when nothing was.
func counted[T any](n *T, format string) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf(format, *n)
}

func (f *figures) kilobytes() *float64 {
	if f.Cache == nil {
		return nil
	}
	kb := float64(*f.Cache) / 1024
	return &kb
}

func (v verdict) text() string {
	if v == noted {
		return "-"
	}
	return string(v)
}

// targets writes the table of the other rows.
func (r *report) targets(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	any := false
	for _, x := range r.Rows {
		if x.Figures != nil {
			continue
		}
		if !any {
			any = true
			fmt.Fprintln(t, "\ntarget\twhat\tmeasured\tlimit\tverdict\tdetail")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", x.Target, x.What, x.measured(), x.limit(), x.Verdict.text(), x.Detail)
	}
	return t.Flush()
}

func (x row) measured() string {
	if x.Verdict == absent {
		return "-"
	}
	return number(x.Measured, x.Unit)
}

// limit says what a row is held to.
func (x row) limit() string {
	if x.Limit == nil {
		return "-"
	}
	return number(*x.Limit, x.Unit)
}

// commands are the lines that say how each target is measured again.
func (r *report) commands() []string {
	var lines []string
	said := map[string]bool{}
	for _, x := range r.Rows {
		if !said[x.Command] {
			said[x.Command] = true
			lines = append(lines, x.Target+": "+x.Command)
		}
	}
	return lines
}

// shortfalls lists what missed its limit, with how far it is from it, and then what
// could not be measured, with the reason.
func (r *report) shortfalls() []string {
	var lines, out []string
	for _, x := range r.Rows {
		name := x.Target + " " + x.What
		if x.Figures != nil {
			name = x.Name + ": " + x.What
		}
		switch {
		case x.Verdict == absent:
			out = append(out, name+": absent: "+x.Detail)
		case x.Verdict == short && x.Limit == nil:
			lines = append(lines, name+": "+x.Detail)
		case x.Verdict == short:
			lines = append(lines, fmt.Sprintf("%s: %s, limit %s%s", name, x.measured(), x.limit(), x.distance()))
		}
	}
	return append(lines, out...)
}

// distance says how many times the limit was measured, where that means something.
func (x row) distance() string {
	if *x.Limit == 0 {
		return ""
	}
	return fmt.Sprintf(", %.2f times the limit", x.Measured / *x.Limit)
}

func number(v float64, unit string) string {
	prec := 2
	if v == float64(int64(v)) && unit != "" {
		prec = 0
	}
	s := strconv.FormatFloat(v, 'f', prec, 64)
	switch unit {
	case "", "count":
		return s
	}
	return s + " " + unit
}

func (r *report) writeJSON(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o666)
}

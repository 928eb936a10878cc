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
	What   string `json:"what"`
	// Measured is in Unit, "" for ratios and plain numbers.
	Measured float64  `json:"measured"`
	Unit     string   `json:"unit,omitempty"`
	Limit    *float64 `json:"limit"`
	Verdict  verdict  `json:"verdict,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	Command  string   `json:"command"`
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
	Machine machine `json:"machine"`
	Seed    uint64  `json:"seed"`
	Runs    int     `json:"runs"`
	Rows    []row   `json:"rows"`
}

// machine is where it was measured.
type machine struct {
	Cores      int    `json:"cores"`
	System     string `json:"system"`
	Go         string `json:"go"`
	FileSystem string `json:"file_system"`
}

func describeMachine(dir string) machine {
	system := runtime.GOOS + "/" + runtime.GOARCH
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		system += " " + strings.TrimSpace(string(b))
	}
	return machine{Cores: runtime.NumCPU(), System: system, Go: runtime.Version(), FileSystem: fileSystem(dir)}
}

// String is the table's first line.
func (m machine) String() string {
	return fmt.Sprintf("%d cores, %s, %s, %s", m.Cores, m.System, m.Go, m.FileSystem)
}

func (r *report) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "target\twhat\tmeasured\tlimit\tverdict\tdetail")
	for _, x := range r.Rows {
		limit := "-"
		if x.Limit != nil {
			limit = number(*x.Limit, x.Unit)
		}
		measured := number(x.Measured, x.Unit)
		if x.Verdict == absent {
			measured = "-"
		}
		v := string(x.Verdict)
		if v == "" {
			v = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", x.Target, x.What, measured, limit, v, x.Detail)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	said := map[string]bool{}
	for _, x := range r.Rows {
		if !said[x.Command] {
			said[x.Command] = true
			fmt.Fprintf(w, "%s: %s\n", x.Target, x.Command)
		}
	}
	return nil
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

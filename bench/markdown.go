package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The lines between which figures are written into a document.
const (
	blockStart = "<!-- bench -->"
	blockEnd   = "<!-- /bench -->"
)

// readReports reads what --json wrote.
func readReports(list string) ([]*report, error) {
	var out []*report
	for path := range strings.SplitSeq(list, ",") {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r := &report{}
		if err := json.Unmarshal(b, r); err != nil {
			return nil, fmt.Errorf("%s is no report of bench --json: %w", path, err)
		}
		if r.Date == "" || len(r.Rows) == 0 {
			return nil, fmt.Errorf("%s has no date or no rows, so it is no report of bench --json", path)
		}
		out = append(out, r)
	}
	return out, nil
}

// keep drops the rows that were not chosen.
func (r *report) keep(names []string, shapes []namedShape) {
	r.Rows = slices.DeleteFunc(r.Rows, func(x row) bool {
		if !slices.Contains(names, x.Target) {
			return true
		}
		return x.Figures != nil && !slices.ContainsFunc(shapes, func(s namedShape) bool { return s.name == x.Figures.Shape })
	})
}

// markdown returns reports as the tables of a document. What is in several of them is
// shown once, as the last one has it.
func markdown(reports []*report) string {
	last := map[string]int{}
	for i, r := range reports {
		for _, x := range r.Rows {
			last[x.key()] = i
		}
	}
	var b strings.Builder
	b.WriteString("<!-- Written by go run ./bench --markdown. What is changed here is lost. -->\n")
	for i, r := range reports {
		shown := *r
		shown.Rows = slices.DeleteFunc(slices.Clone(r.Rows), func(x row) bool { return last[x.key()] != i })
		if len(shown.Rows) > 0 {
			shown.markdown(&b)
		}
	}
	return b.String()
}

// key is what makes two rows the same measurement.
func (x row) key() string { return x.Target + "\x00" + x.Name + "\x00" + x.What }

func (r *report) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\nMeasured on %s with %s, on %s.\n", r.Date, r.Version, r.Machine)
	var scenarios, targets [][]string
	for _, x := range r.Rows {
		if f := x.Figures; f != nil {
			scenarios = append(scenarios, []string{x.Target, x.What, f.Shape, fmt.Sprint(f.Files), f.Ours.String(),
				f.Beside + " " + f.Against.String(), fmt.Sprintf("%.2f", x.Measured), counted(f.Calls, "%d"), counted(f.Peak, "%.1f"), counted(f.Computed, "%d")})
			continue
		}
		targets = append(targets, []string{x.Target, x.What + x.arrivedNote(), x.measured(), x.limit(), x.Verdict.text()})
	}
	writeTable(b, []string{"", "what", "measured", "limit", "verdict"}, targets)
	writeTable(b, []string{"", "what", "tree", "files", "min / p50 / p95 ms", "beside, ms", "ratio", "system calls", "MB", "nodes computed"}, scenarios)
	b.WriteString("\nThe same again:\n\n```\n")
	said := map[string]bool{}
	for _, x := range r.Rows {
		if !said[x.Command] {
			said[x.Command] = true
			b.WriteString(x.Command + "\n")
		}
	}
	b.WriteString("```\n")
}

// arrivedNote is, for a tool that puts texts together, how much of them arrived and whether
// its work is like a map's: without that the ratio says little.
func (x row) arrivedNote() string {
	parts := strings.SplitN(x.Detail, "; ", 4)
	if len(parts) < 3 || !strings.Contains(parts[0], "levels arrived") {
		return ""
	}
	like, _, _ := strings.Cut(parts[2], ": ")
	if !strings.HasSuffix(like, "like for like") {
		return " (" + parts[0] + ")"
	}
	return " (" + parts[0] + "; " + like + ")"
}

func writeTable(b *strings.Builder, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n| " + strings.Join(head, " | ") + " |\n" + strings.Repeat("|---", len(head)) + "|\n")
	cell := strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;")
	for _, r := range rows {
		for _, c := range r {
			b.WriteString("| " + cell.Replace(c) + " ")
		}
		b.WriteString("|\n")
	}
}

// replaceBlock returns a document with text between its two marks.
func replaceBlock(document, text string) (string, error) {
	before, rest, ok := strings.Cut(document, blockStart+"\n")
	_, after, closed := strings.Cut(rest, blockEnd)
	if !ok || !closed || strings.Contains(rest, blockStart) || strings.Contains(after, blockEnd) {
		return "", fmt.Errorf("expected one line %s and below it one line %s: the figures go between them", blockStart, blockEnd)
	}
	return before + blockStart + "\n" + text + blockEnd + after, nil
}

// writeMarkdown writes reports into the marked block of a document.
func writeMarkdown(path string, reports []*report) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := replaceBlock(string(b), markdown(reports))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o666)
}

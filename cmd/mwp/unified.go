package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

const (
	// diffContext is how many unchanged lines are shown around a change.
	diffContext = 3
	// maxDiffCells bounds the work of finding the fewest changed lines. A file beyond it is
	// shown as one change from its first difference to its last.
	maxDiffCells = 4 << 20
)

// diffLine is a line of a difference: ' ', '-' or '+' and the text.
type diffLine struct {
	mark byte
	text string
}

// unified returns the difference of two texts in unified form, "" when they are the
// same. Characters that would act on a terminal are escaped.
func unified(from, to string, before, after []byte) string {
	lines := diffLines(splitLines(before), splitLines(after))
	var b strings.Builder
	for start := 0; start < len(lines); {
		for start < len(lines) && lines[start].mark == ' ' {
			start++
		}
		if start == len(lines) {
			break
		}
		first := max(start-diffContext, 0)
		end, quiet := start, 0
		for end < len(lines) && quiet <= 2*diffContext {
			if end++; lines[end-1].mark == ' ' {
				quiet++
			} else {
				quiet = 0
			}
		}
		start = end
		end -= max(quiet-diffContext, 0)
		if b.Len() == 0 {
			b.WriteString("--- " + from + "\n+++ " + to + "\n")
		}
		writeHunk(&b, lines, first, end)
	}
	return b.String()
}

func writeHunk(b *strings.Builder, lines []diffLine, first, end int) {
	var at, n [2]int // old, new
	for i, l := range lines[:end] {
		count := &at
		if i >= first {
			count = &n
		}
		if l.mark != '+' {
			count[0]++
		}
		if l.mark != '-' {
			count[1]++
		}
	}
	for i := range at {
		if n[i] > 0 {
			at[i]++
		}
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", at[0], n[0], at[1], n[1])
	for _, l := range lines[first:end] {
		text, ended := strings.CutSuffix(l.text, "\n")
		cr := ""
		if text, ok := strings.CutSuffix(text, "\r"); ok {
			l.text, cr = text, "\r"
		} else {
			l.text = text
		}
		b.WriteByte(l.mark)
		for i, part := range strings.Split(l.text, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(ir.EscapeControls(part))
		}
		b.WriteString(cr + "\n")
		if !ended {
			b.WriteString("\\ No newline at end of file\n")
		}
	}
}

// splitLines splits a text into lines with their ends.
func splitLines(text []byte) []string {
	var lines []string
	for l := range bytes.Lines(text) {
		lines = append(lines, string(l))
	}
	return lines
}

// diffLines returns all lines of both texts, with the fewest marked as changed.
func diffLines(a, b []string) []diffLine {
	var out []diffLine
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	tail := 0
	for tail < len(a)-same && tail < len(b)-same && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for _, l := range a[:same] {
		out = append(out, diffLine{' ', l})
	}
	out = append(out, changedLines(a[same:len(a)-tail], b[same:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		out = append(out, diffLine{' ', l})
	}
	return out
}

func changedLines(a, b []string) []diffLine {
	// longest[i][j] is how many lines a[i:] and b[j:] have in common, in order.
	longest := make([][]int32, len(a)+1)
	if (len(a)+1)*(len(b)+1) > maxDiffCells {
		longest = nil
	}
	for i := range longest {
		longest[i] = make([]int32, len(b)+1)
	}
	for i := len(longest) - 2; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []diffLine
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case longest != nil && i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || longest == nil || longest[i+1][j] >= longest[i][j+1]):
			out = append(out, diffLine{'-', a[i]})
			i++
		default:
			out = append(out, diffLine{'+', b[j]})
			j++
		}
	}
	return out
}

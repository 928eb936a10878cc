package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Sessions prints stored sessions as a table for a terminal, in the order given.
func Sessions(rs []ir.SessionRecord) []byte {
	if len(rs) == 0 {
		return []byte("no sessions\n")
	}
	rows := [][]string{{"SESSION", "CREATED", "LAST USED", "CALLS"}}
	for i := range rs {
		r := &rs[i]
		rows = append(rows, []string{ir.EscapeControls(r.ID), moment(r.Created), moment(r.LastUsed), strconv.Itoa(r.CallCount)})
	}
	return columns(nil, "", rows)
}

// Session prints what a session's reader has and what was asked.
func Session(r *ir.SessionRecord) []byte {
	b := []byte("session " + ir.EscapeControls(r.ID) + ": created " + moment(r.Created) + ", last used " + moment(r.LastUsed) + ", " + count(r.CallCount, "call") + "\n")
	if r.Client != "" {
		b = append(b, "client "+ir.EscapeControls(r.Client)+"\n"...)
	}
	if r.Generation > 0 {
		b = append(b, "begun anew "+count(r.Generation, "time")+"\n"...)
	}
	b = append(b, "\nseen\n"...)
	var rows [][]string
	for i := range r.Seen {
		s := &r.Seen[i]
		rows = append(rows, []string{
			ir.EscapeControls(s.Key), ir.LayerName(s.Layer), count(s.Tokens, "token"), ir.EscapeControls(s.Hash[:min(len(s.Hash), shownDigits)]),
			moment(s.SentAt), ir.EscapeControls(s.Call), seenState(s),
		})
	}
	b = columns(b, "  ", rows)
	b = append(b, "\ncalls\n"...)
	rows = nil
	for i := range r.Calls {
		c := &r.Calls[i]
		target := "(project root)"
		if c.Target != nil {
			target = ir.EscapeControls(*c.Target)
		}
		rows = append(rows, []string{target, "sent " + layersText(c.LayersSent), "left out " + layersText(c.LayersSkipped)})
	}
	if n := r.CallCount - len(r.Calls); n > 0 {
		b = append(b, "  ("+strconv.Itoa(n)+" earlier ones)\n"...)
	}
	return columns(b, "  ", rows)
}

// seenState says what is unusual about an entry.
func seenState(s *ir.Seen) string {
	switch {
	case s.State == ir.SeenLost:
		return "before a reset"
	case s.State == ir.SeenWithdrawn:
		return "withdrawn"
	case s.Varied:
		return "sent in several versions"
	}
	return ""
}

// columns appends rows with their cells aligned.
func columns(b []byte, indent string, rows [][]string) []byte {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], min(displayWidth(cell), maxPathColumn))
		}
	}
	for _, row := range rows {
		line := indent
		for i, cell := range row {
			line += padRight(cell, widths[i]) + "  "
		}
		b = append(append(b, strings.TrimRight(line, " ")...), '\n')
	}
	return b
}

func layersText(layers []string) string {
	if len(layers) == 0 {
		return "nothing"
	}
	return ir.EscapeControls(strings.Join(layers, " "))
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

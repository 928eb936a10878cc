package main

import (
	"strconv"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func (a *app) runConfig() error {
	target, err := a.target()
	if err != nil {
		return err
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	c, err := ws.Config(a.ctx, target)
	if err != nil {
		return err
	}
	rows := a.overlay(c.Settings)
	var b []byte
	if a.json {
		b = configJSON(c, rows)
	} else {
		width := 0
		for _, r := range rows {
			width = max(width, min(len(r.Key)+len(r.Value), 40))
		}
		for _, r := range rows {
			line := ir.EscapeControls(r.Key) + " = " + ir.EscapeControls(r.Value)
			b = append(b, line...)
			for n := len(line); n < width+len(" = "); n++ {
				b = append(b, ' ')
			}
			b = append(b, "  # "+ir.EscapeControls(r.Source)+"\n"...)
		}
	}
	if err := a.print(b); err != nil {
		return err
	}
	a.report(c.Notices...)
	return nil
}

// overlay puts what flags and variables say over the configuration (U-27).
func (a *app) overlay(rows []mwp.Setting) []mwp.Setting {
	set := func(key, value string, spec *flagSpec) {
		source := a.gave(spec)
		if source == "" {
			source = variable(spec)
		}
		for i := range rows {
			if rows[i].Key == key {
				rows[i].Value, rows[i].Source = value, source
				return
			}
		}
		rows = append(rows, mwp.Setting{Key: key, Value: value, Source: source})
	}
	for i, o := range a.overrides.Caps {
		switch {
		case o.Set && o.Cap.Limited:
			set("budgets.l"+strconv.Itoa(i), strconv.Itoa(o.Cap.Tokens), &flagBudget)
		case o.Set:
			set("budgets.l"+strconv.Itoa(i), "none", &flagBudget)
		}
	}
	if a.window.Set {
		set("render.window", strconv.Itoa(a.window.Value), &flagWindow)
	}
	if a.overrides.Counter != "" {
		set("tokens.counter", quoted(a.overrides.Counter), &flagTokens)
	}
	if a.root != "" {
		set("root", quoted(a.root), &flagRoot)
	}
	if a.cacheDir != "" {
		set("cache-dir", quoted(a.cacheDir), &flagCacheDir)
	}
	return rows
}

func configJSON(c *mwp.Configuration, rows []mwp.Setting) []byte {
	b := []byte("{\n  \"root\": ")
	b = ir.AppendString(b, c.Root)
	b = append(b, ",\n  \"target\": "...)
	b = ir.AppendString(b, c.Target)
	b = append(b, ",\n  \"settings\": ["...)
	for i, r := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, "\n    {\"key\": "...)
		b = ir.AppendString(b, r.Key)
		b = append(b, ", \"value\": "...)
		b = ir.AppendString(b, r.Value)
		b = append(b, ", \"source\": "...)
		b = ir.AppendString(b, r.Source)
		b = append(b, '}')
	}
	return append(b, "\n  ]\n}\n"...)
}

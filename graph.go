package mwp

import (
	"context"
	"reflect"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/render"
)

// Graph draws what the map that a request asks for is computed from: files at one
// end, the map at the other. all keeps the plumbing in the picture. It is drawn
// from the same record that the map's keys are made of. A request without a map is
// a *Refusal.
func (w *Workspace) Graph(ctx context.Context, q Request, format GraphFormat, all bool) (*Result, error) {
	p, s, err := w.enter(ctx, q.Target)
	if err != nil {
		return nil, err
	}
	n := q.rendered(s.candidate, fromOf(p, s.candidate)).Map
	x, err := s.ev.Eval(ctx, n)
	if err != nil {
		return nil, worldError(err)
	}
	v := x.(nodes.MapValue)
	if len(v.Refusal) > 0 {
		return nil, &Refusal{Diagnostics: v.Refusal}
	}
	g := render.Graph{Target: n.Target, Nodes: drawn(s.ev.Provenance(n))}
	draw := render.Mermaid
	if format == DOT {
		draw = render.DOT
	}
	r := &Result{Text: draw(g, render.GraphOptions{All: all}), Root: s.dir, Stats: s.ev.Stats(), World: &s.world.Count}
	if !n.Orientation {
		r.Target = n.Target
	}
	r.record = s.store.Flush
	return r, nil
}

// drawn turns a provenance graph into what a picture needs of it.
func drawn(prov graph.Provenance) []render.GraphNode {
	absent := cas.Sum(graph.FileKind.EncodeValue(graph.FileState{}))
	out := make([]render.GraphNode, len(prov))
	for i, step := range prov {
		k := step.Task.Kind()
		name := nameOf(step.Task)
		out[i] = render.GraphNode{
			Kind: k.Name, Name: name, Leaf: k.Leaf, Needs: step.Needs,
			Absent: k == graph.FileKind && step.Value == absent,
			Module: strings.Contains("/"+name, "/modules/") && strings.Contains(name, ".mwp"),
		}
	}
	return out
}

// nameOf returns the parameter that tells a task from others of its kind.
func nameOf(t graph.Task) string {
	v := reflect.ValueOf(t)
	for _, field := range []string{"Path", "Real", "Dir", "Target", "Key", "Commit", "Digest"} {
		if f := v.FieldByName(field); f.IsValid() && f.Kind() == reflect.String && f.String() != "" {
			return f.String()
		}
	}
	return ""
}

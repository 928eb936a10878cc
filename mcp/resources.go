package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/mcp/rpc"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

const (
	// contextURI is what the URIs of maps begin with; alone it is the orientation map.
	contextURI = "mwp://context/"
	markdown   = "text/markdown"
	// resourcePage is how many resources one answer lists (D-68).
	resourcePage = 100
	// noResource is what revisions with a handshake call a URI that leads nowhere.
	noResource = -32002
)

// listTemplates answers resources/templates/list.
func (s *server) listTemplates(q *request) (*result, error) {
	if err := q.onlyPage(); err != nil {
		return nil, err
	}
	t := newResult()
	t.text("uriTemplate", contextURI+"{+path}")
	t.text("name", "context")
	t.text("title", "Workspace map")
	t.text("description", "The whole map of a file or directory, relative to the root.")
	t.text("mimeType", markdown)
	r := newResult()
	r.list("resourceTemplates", [][]byte{t.close()})
	r.cache = static
	return r, nil
}

// targetRow is what is needed of a row of `mwp targets --json`.
type targetRow struct{ Path, Source string }

// targets returns the rows of a listing; without a workspace there are none.
func (s *server) targets(ctx context.Context) ([]targetRow, error) {
	w, err := s.workspace(ctx)
	if err == nil {
		var r *mwp.Result
		if r, err = w.Targets(ctx, mwp.TargetsRequest{JSON: true}); err == nil {
			var page struct{ Targets []targetRow }
			s.kept(r)()
			return page.Targets, json.Unmarshal(r.Text, &page)
		}
	}
	if findings(err) != nil && ctx.Err() == nil {
		return nil, nil
	}
	return nil, err
}

// listResources answers resources/list: the orientation map and the directories that
// carry context, sorted. A cursor is the last URI of the page before, so that a directory
// that comes or goes meanwhile neither repeats nor hides another.
func (s *server) listResources(ctx context.Context, q *request) (*result, error) {
	cursor, err := q.cursor()
	if err != nil {
		return nil, err
	}
	after, ok := pathOf(cursor)
	if cursor != "" && !ok {
		return nil, q.badCursor(cursor)
	}
	rows, err := s.targets(ctx)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	if cursor == "" && s.ws != nil {
		all = append(all, resource("", "orientation", "Orientation map", "What the project is and where work could lie."))
	}
	next := ""
	for i, row := range rows {
		if row.Source == "" || row.Path == "." || cursor != "" && ir.ComparePaths(row.Path, after) <= 0 {
			continue
		}
		if len(all) == resourcePage {
			next = contextURI + escape(last(rows[:i]))
			break
		}
		all = append(all, resource(row.Path, row.Path, "Map of "+row.Path, ""))
	}
	r := newResult()
	r.list("resources", all)
	if next != "" {
		r.text("nextCursor", next)
	}
	r.cache = changing
	return r, nil
}

// last returns the path of the last row that is listed.
func last(rows []targetRow) string {
	for _, row := range slices.Backward(rows) {
		if row.Source != "" {
			return row.Path
		}
	}
	return ""
}

func resource(path, name, title, about string) []byte {
	r := newResult()
	r.text("uri", contextURI+escape(path))
	r.text("name", name)
	r.text("title", title)
	if about != "" {
		r.text("description", about)
	}
	r.text("mimeType", markdown)
	return r.close()
}

// pathOf returns the path that a URI names, "" for the orientation map.
func pathOf(uri string) (path string, ok bool) {
	if len(uri) >= len(contextURI)-1 && strings.EqualFold(uri, contextURI[:len(contextURI)-1]) {
		return "", true
	}
	if len(uri) < len(contextURI) || !strings.EqualFold(uri[:len(contextURI)], contextURI) {
		return "", false
	}
	uri, _, _ = strings.Cut(uri[len(contextURI):], "#")
	path, ok = unescape(uri)
	// A slash in front would make the path one of the file system.
	return path, ok && !strings.HasPrefix(path, "/")
}

// readResource answers resources/read with the whole map: who reads a resource is the
// program around the model, whose conversation is not known (D-68). It never touches
// what was sent to anybody.
func (s *server) readResource(ctx context.Context, q *request) (rpc.Reply, error) {
	uri, err := q.stringParam("uri")
	if err != nil {
		return rpc.Reply{}, err
	}
	path, ok := pathOf(uri)
	if !ok {
		return rpc.Reply{}, absent(q, uri, "there is no resource "+quoted(uri)+"; maps are at "+contextURI+"{+path}")
	}
	m, err := s.wholeMap(ctx, path)
	if err != nil {
		if ds := findings(err); ds != nil && ctx.Err() == nil {
			err = absent(q, uri, said(ds))
		}
		return rpc.Reply{}, err
	}
	for _, d := range m.Notices {
		if d.Code == ir.TargetMissing {
			return rpc.Reply{}, absent(q, uri, "there is nothing at "+quoted(path)+", so no resource "+quoted(uri))
		}
	}
	content := newResult()
	content.text("uri", uri)
	content.text("mimeType", markdown)
	content.text("text", string(m.Text))
	r := newResult()
	r.list("contents", [][]byte{content.close()})
	r.cache = changing
	return rpc.Reply{Result: s.finish(q, r), Written: s.kept(m)}, nil
}

func (s *server) wholeMap(ctx context.Context, path string) (*mwp.Result, error) {
	w, err := s.workspace(ctx)
	if err != nil {
		return nil, err
	}
	if path != "" {
		if path, err = newSpelling(w.Dir()).read(path); err != nil {
			return nil, err
		}
	}
	return w.Map(ctx, mwp.Request{Target: path, Format: mwp.MarkdownText})
}

// absent is the error of a resource that there is not, in the code of the request's era.
func absent(q *request, uri, why string) error {
	code := noResource
	if q.modern {
		code = rpc.InvalidParams
	}
	data := newResult()
	data.text("uri", uri)
	return &rpc.Error{Code: code, Message: why, Data: data.close()}
}

package guard

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/state"
)

const (
	workspacesName = "workspaces.json"
	workspacesList = "workspaces"
	maxWorkspaces  = 1 << 20
)

// Personal is what this user said about workspaces, in the per-user state directory.
type Personal struct {
	// Dir is the absolute path of that directory, outside every repository. It and its
	// parents are made, for their owner only, by the first write.
	Dir string
}

// trusted is what the user said about a workspace.
type trusted struct {
	id      [32]byte // of the root's path, which need not be UTF-8
	tables  cas.Digest
	verdict Verdict
	listed  listed
}

// Trusted returns what this user said about the workspace at an absolute path (D-109):
// Yes or Never with the same digest of its [trust] tables, Outdated with another one,
// Unknown otherwise. A file that is not this user's own, or that somebody else can read, is a
// *state.FileError and trusts nothing; so is one that is damaged, as far as it is. The answer
// holds beside the error.
func (p Personal) Trusted(root string, tables cas.Digest) (Verdict, error) {
	if p.Dir == "" {
		return Unknown, nil
	}
	path := filepath.Join(p.Dir, workspacesName)
	text, err := state.ReadPrivate(path, maxWorkspaces+1)
	if errors.Is(err, fs.ErrNotExist) {
		return Unknown, nil
	}
	if err != nil {
		return Unknown, workspacesError(err.Error(), path, err)
	}
	list, problem := parseWorkspaces(text)
	if problem != "" {
		err = workspacesError(problem, path, nil)
	}
	verdict := Unknown
	if i := find(list, root); i >= 0 {
		if verdict = Outdated; list[i].tables == tables {
			verdict = list[i].verdict
		}
	}
	return verdict, err
}

func workspacesError(problem, path string, cause error) error {
	return &state.FileError{
		Message: "the list of trusted workspaces: " + state.Shown(path) + ": " + problem,
		Hint:    "see how it came to this and move it away; workspaces are then trusted anew, by `mwp verify` in a terminal",
		Reason:  cause,
	}
}

// Trust records whether the user trusts the workspace at an absolute path, Yes or
// Never, while the digest of its [trust] tables stays what it is (D-109). It waits at most five seconds for
// another process; the error is a *state.FileError. A damaged list is kept beside the new one,
// once, as workspaces.json.broken.
func (p Personal) Trust(ctx context.Context, root string, tables cas.Digest, v Verdict, at time.Time) error {
	if v != Yes && v != Never {
		panic("guard.Personal.Trust: no decision")
	}
	return p.update(ctx, func(list []trusted) []trusted {
		t := trusted{id: rootID(root), tables: tables, verdict: v}
		t.listed = listed{id: t.id, when: wholeMillis(at.UnixNano())}
		t.listed.text = writeTrusted(&t, root)
		return append(without(list, root), t)
	})
}

// Forget takes a workspace off the list.
func (p Personal) Forget(ctx context.Context, root string) error {
	return p.update(ctx, func(list []trusted) []trusted { return without(list, root) })
}

func (p Personal) update(ctx context.Context, change func([]trusted) []trusted) error {
	if p.Dir == "" {
		return &state.FileError{
			Message: "there is no place for the list of trusted workspaces: the per-user state directory is not known",
			Hint:    "set HOME or XDG_STATE_HOME",
			Reason:  state.ErrUnwritable,
		}
	}
	return state.Private{Path: p.Dir}.Locked(ctx, func(f *state.Files) error {
		text, err := f.Read(workspacesName, maxWorkspaces)
		if err != nil {
			return err
		}
		list, problem := parseWorkspaces(text)
		if problem != "" {
			if err := f.KeepBroken(workspacesName, text); err != nil {
				return err
			}
		}
		var out []listed
		for _, t := range change(list) {
			out = append(out, t.listed)
		}
		return f.Replace(workspacesName, appendList(nil, workspacesList, bounded(out, "none", maxWorkspaces)), state.Durable)
	})
}

func find(list []trusted, root string) int {
	id := rootID(root)
	return slices.IndexFunc(list, func(t trusted) bool { return t.id == id })
}

func without(list []trusted, root string) []trusted {
	id := rootID(root)
	return slices.DeleteFunc(list, func(t trusted) bool { return t.id == id })
}

func rootID(root string) [32]byte { return cas.Sum([]byte(root)) }

// parseWorkspaces returns a list, nil for no text, without what is damaged. Of two
// entries for one workspace neither counts: they do not say which tables were trusted.
func parseWorkspaces(text []byte) (list []trusted, problem string) {
	if text == nil {
		return nil, ""
	}
	if len(text) > maxWorkspaces {
		return nil, tooLarge(maxWorkspaces)
	}
	twice := map[[32]byte]bool{}
	f := readList(string(text), workspacesList, func(r *jsonReader) bool {
		t := readTrusted(r)
		if r.want != "" {
			return false
		}
		if _, there := twice[t.id]; there {
			twice[t.id] = true
			return false
		}
		twice[t.id] = false
		list = append(list, t)
		return true
	})
	list = slices.DeleteFunc(list, func(t trusted) bool { return twice[t.id] })
	return list, f.problem("workspace")
}

func writeTrusted(t *trusted, root string) string {
	w := &jsonWriter{indent: "      "}
	w.raw("{")
	w.field("root", true).str(strings.ToValidUTF8(root, "\ufffd"))
	w.field("root_digest", false).digest(t.id)
	w.field("trust_tables", false).digest(t.tables)
	w.field("decision", false).str(t.verdict.String())
	w.field("decided_at", false).moment(t.listed.when)
	w.raw("\n" + w.indent[2:] + "}")
	return string(w.b)
}

func readTrusted(r *jsonReader) (t trusted) {
	r.blank()
	start := r.at
	r.expect('{')
	r.field("root", true)
	root := r.str()
	r.field("root_digest", false)
	t.id = r.digest()
	r.field("trust_tables", false)
	t.tables = r.digest()
	r.field("decision", false)
	switch r.str() {
	case Yes.String():
		t.verdict = Yes
	case Never.String():
		t.verdict = Never
	default:
		r.fail("yes or never")
	}
	r.field("decided_at", false)
	t.listed.when = r.moment()
	r.expect('}')
	// What a person reads is what counts, or else could not be written down.
	if id := rootID(root); r.want == "" && id != t.id && !strings.ContainsRune(root, '\ufffd') {
		r.fail("the digest of the root")
	}
	t.listed.id, t.listed.text = t.id, r.text[start:r.at]
	return t
}

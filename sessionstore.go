package mwp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/eval/state"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

const (
	sessionsDir = "sessions"
	sessionExt  = ".json"
	// maxSessionBytes bounds a record that is read: some thousand entries.
	maxSessionBytes = 4 << 20
	// maxSessions bounds how many records are listed.
	maxSessions = 100_000
	// DefaultSessionAge is how long sessions are kept when [sessions] max_age says
	// nothing.
	DefaultSessionAge = 7 * 24 * time.Hour
)

// BadSessionID says why an id cannot name a session, whose file has that name, "" when it
// can (D-64).
func BadSessionID(id string) string {
	if id == "" || len(id) > 128 {
		return "write 1 to 128 characters"
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return "write letters, digits, and after the first character also . _ -"
		}
	}
	base, _, _ := strings.Cut(strings.ToUpper(id), ".")
	device := base == "CON" || base == "PRN" || base == "AUX" || base == "NUL"
	if len(base) == 4 && (base[:3] == "COM" || base[:3] == "LPT") && base[3] >= '0' && base[3] <= '9' {
		device = true
	}
	if device {
		return "it is the name of a device on Windows"
	}
	return ""
}

func checkSessionID(id string) error {
	reason := BadSessionID(id)
	if reason == "" {
		return nil
	}
	return &UsageError{ir.Diagnostic{
		Code: ir.SessionInvalid, Severity: ir.SeverityError, Message: quotedName(id) + " is no session id: " + reason,
		Hint: "`mwp sessions list` names those that exist",
	}}
}

// LoadSession returns the session with an id as the disk holds it, which is read when the
// first answer shows in which workspace. A session that does not exist is new. An id that
// cannot be a file's name is a *UsageError (D-64).
func (w *Workspace) LoadSession(id string) (*Session, error) {
	if err := checkSessionID(id); err != nil {
		return nil, err
	}
	s := NewSession(id)
	s.stored = true
	return s, nil
}

// sessionDir returns where a root keeps its sessions.
func (w *Workspace) sessionDir(dir string) (state.Dir, error) {
	if dir == "" {
		return state.Dir{}, environment(ir.NoRoot, nil, "run `mwp init` in the project's root", "a workspace without a .mwp has no place for sessions")
	}
	return state.Dir{Path: dir, Waiting: func(lock string) { w.progress("waiting for the lock " + lock) }}, nil
}

// load reads the stored record of a session whose workspace is known. A record that
// cannot be read is as good as none.
func (w *Workspace) load(s *Session) []ir.Diagnostic {
	r, err := w.readSession(s.state, s.rec.ID)
	if err != nil {
		return []ir.Diagnostic{{
			Code: ir.SessionUnusable, Severity: ir.SeverityWarning, Message: "the record of session " + s.rec.ID + " is not used, so the map is complete: " + err.Error(),
			Hint: "`mwp sessions rm " + s.rec.ID + "` removes it",
		}}
	}
	if r != nil {
		client := s.rec.Client
		s.rec, s.existed = *r, true
		s.rec.Client = cmp.Or(client, r.Client)
	}
	s.agree()
	return nil
}

// readSession returns a stored record, nil when there is none.
func (w *Workspace) readSession(dir, id string) (*ir.SessionRecord, error) {
	d, err := w.sessionDir(dir)
	if err != nil {
		return nil, nil
	}
	text, err := d.Read(sessionsDir, id+sessionExt, maxSessionBytes)
	if err != nil || text == nil {
		return nil, err
	}
	return ir.ParseSession(text, id)
}

// SaveSession writes what happened since the session was loaded or saved. Another process
// may have written the same session meanwhile: what both delivered is kept, and what one
// of them does not know to be true of the reader is forgotten. An error means that nothing
// was written.
func (w *Workspace) SaveSession(ctx context.Context, s *Session) error {
	if s.stored && len(s.pending) == 0 && !s.cleared {
		return nil
	}
	if s.root == "" {
		// Nothing was answered yet.
		_, at, err := w.enter(ctx, "")
		if err != nil {
			return err
		}
		s.root, s.state = at.dir, at.state
	}
	d, err := w.sessionDir(s.state)
	if err != nil {
		return err
	}
	err = d.Update(ctx, sessionsDir, s.rec.ID+sessionExt, maxSessionBytes, func(old []byte) ([]byte, error) {
		if s.stored {
			r, err := ir.ParseSession(old, s.rec.ID)
			switch {
			case err == nil:
				s.merge(r)
			case old == nil && s.existed:
				// It was removed, which is to say that the reader has nothing.
				s.merge(&ir.SessionRecord{ID: s.rec.ID, Generation: s.base + 1})
			case old == nil && len(s.pending) == 0:
				// There was nothing to forget.
				return nil, nil
			case old == nil:
				s.merge(&ir.SessionRecord{ID: s.rec.ID, Generation: s.base})
			}
		}
		return ir.AppendSessionJSON(nil, &s.rec), nil
	})
	if err != nil {
		return guardError(err)
	}
	s.pending, s.cleared, s.existed = nil, false, true
	s.agree()
	return nil
}

// agree notes that the session and its record are the same.
func (s *Session) agree() {
	s.base = s.rec.Generation
	if s.stored {
		s.agreed = slices.Clone(s.rec.Seen)
	}
}

// merge takes over a record that another process may have changed, and adds what happened
// in this one.
func (s *Session) merge(r *ir.SessionRecord) {
	r.Client = cmp.Or(s.rec.Client, r.Client)
	if s.cleared {
		r.Forget(s.shared)
	}
	// After a generation of another process, the reader may have lost what was computed
	// before, whether or not it was delivered since.
	lost := !s.cleared && r.Generation != s.base
	before := slices.Clone(r.Seen)
	for i := range s.pending {
		d := s.pending[i]
		if lost {
			d.gained, d.lost = nil, nil
		}
		d.apply(r, s.shared)
		for _, g := range d.gained {
			if disputed(g, before, s.agreed) {
				r.Deliver(nil, []ir.Withdrawn{{Key: g.Key}}, d.at, false)
			}
		}
	}
	s.rec = *r
}

// disputed reports whether another process delivered another version of an entry, so that
// nobody knows which of the two the reader saw last.
func disputed(g ir.Seen, theirs, agreed []ir.Seen) bool {
	at, has := ir.FindSeen(theirs, g.Key)
	if !has || theirs[at].Hash == g.Hash {
		return false
	}
	was, had := ir.FindSeen(agreed, g.Key)
	return !had || agreed[was].Hash != theirs[at].Hash
}

// sessions returns where the workspace around Options.Dir keeps its sessions.
func (w *Workspace) sessions(ctx context.Context) (state.Dir, *session, error) {
	_, s, err := w.enter(ctx, "")
	if err != nil {
		return state.Dir{}, nil, err
	}
	d, err := w.sessionDir(s.state)
	return d, s, err
}

// Session returns a stored session's record. An id without one is a *Refusal.
func (w *Workspace) Session(ctx context.Context, id string) (*ir.SessionRecord, error) {
	if err := checkSessionID(id); err != nil {
		return nil, err
	}
	_, s, err := w.sessions(ctx)
	if err != nil {
		return nil, err
	}
	r, err := w.readSession(s.state, id)
	switch {
	case err != nil:
		return nil, environment(ir.SessionUnusable, err, "`mwp sessions rm "+id+"` removes it", "session %s: %s", id, err)
	case r == nil:
		return nil, noSession(id)
	}
	return r, nil
}

func noSession(id string) error {
	return &Refusal{[]ir.Diagnostic{{
		Code: ir.SessionUnknown, Severity: ir.SeverityError, Message: "there is no session " + id,
		Hint: "`mwp sessions list` names those that exist",
	}}}
}

// Sessions returns the stored sessions, the last used first, and a finding for each file
// that is none.
func (w *Workspace) Sessions(ctx context.Context) ([]ir.SessionRecord, []ir.Diagnostic, error) {
	d, s, err := w.sessions(ctx)
	if err != nil {
		return nil, nil, err
	}
	files, err := d.List(sessionsDir, maxSessions)
	var findings []ir.Diagnostic
	if errors.Is(err, state.ErrTooLarge) {
		findings = append(findings, ir.Diagnostic{
			Code: ir.SessionUnusable, Severity: ir.SeverityWarning, Message: fmt.Sprintf("there are more than %d sessions; these are some of them", maxSessions), Hint: "`mwp sessions clean` removes old ones",
		})
	} else if err != nil {
		return nil, nil, guardError(err)
	}
	var rs []ir.SessionRecord
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name, sessionExt)
		if !ok || BadSessionID(id) != "" {
			continue
		}
		r, err := w.readSession(s.state, id)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil:
			findings = append(findings, ir.Diagnostic{
				Code: ir.SessionUnusable, Severity: ir.SeverityWarning, Message: "session " + id + ": " + err.Error(), Hint: "`mwp sessions rm " + id + "` removes it",
			})
		case r != nil:
			rs = append(rs, *r)
		}
	}
	slices.SortStableFunc(rs, func(a, b ir.SessionRecord) int {
		return cmp.Or(b.LastUsed.Compare(a.LastUsed), strings.Compare(a.ID, b.ID))
	})
	return rs, findings, nil
}

// RemoveSession removes a stored session. An id without one is a *Refusal.
func (w *Workspace) RemoveSession(ctx context.Context, id string) error {
	if err := checkSessionID(id); err != nil {
		return err
	}
	d, _, err := w.sessions(ctx)
	if err != nil {
		return err
	}
	was, err := d.Remove(ctx, sessionsDir, id+sessionExt)
	switch {
	case err != nil:
		return guardError(err)
	case !was:
		return noSession(id)
	}
	return nil
}

// DiscardSession removes what a session left on disk, if anything.
func (w *Workspace) DiscardSession(ctx context.Context, s *Session) error {
	if s.state == "" {
		return nil
	}
	d, err := w.sessionDir(s.state)
	if err == nil {
		_, err = d.Remove(ctx, sessionsDir, s.rec.ID+sessionExt)
	}
	return guardError(err)
}

// CleanSessions removes the sessions that were last used longer ago than a time, by
// default [sessions] max_age or DefaultSessionAge, and returns their ids. A file that is
// no record goes by its own time.
func (w *Workspace) CleanSessions(ctx context.Context, olderThan time.Duration) (removed []string, err error) {
	d, at, err := w.sessions(ctx)
	if err != nil {
		return nil, err
	}
	if olderThan == 0 {
		if olderThan, err = w.sessionAge(ctx, at); err != nil {
			return nil, err
		}
	}
	files, err := d.List(sessionsDir, maxSessions)
	if err != nil && !errors.Is(err, state.ErrTooLarge) {
		return nil, guardError(err)
	}
	limit := w.o.Now().Add(-olderThan)
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name, sessionExt)
		if !ok || BadSessionID(id) != "" {
			continue
		}
		old := func(text []byte) bool {
			last := f.Modified
			// A time to come was written by a clock that was set back since.
			if r, err := ir.ParseSession(text, id); err == nil && !r.LastUsed.After(w.o.Now()) {
				last = r.LastUsed
			}
			return last.Before(limit)
		}
		text, unreadable := d.Read(sessionsDir, f.Name, maxSessionBytes)
		if !old(text) {
			continue
		}
		was := false
		var err error
		if unreadable != nil {
			was, err = d.Remove(ctx, sessionsDir, f.Name)
		} else {
			err = d.Update(ctx, sessionsDir, f.Name, maxSessionBytes, func(text []byte) ([]byte, error) {
				// Somebody may have used it meanwhile.
				if was = text != nil && old(text); was {
					return nil, nil
				}
				return text, nil
			})
		}
		if err != nil {
			return removed, guardError(err)
		}
		if was {
			removed = append(removed, id)
		}
	}
	return removed, nil
}

// sessionAge returns [sessions] max_age.
func (w *Workspace) sessionAge(ctx context.Context, s *session) (time.Duration, error) {
	v, err := s.ev.Eval(ctx, nodes.Anchor{Target: s.target, Explicit: s.explicit})
	if err != nil {
		return 0, worldError(err)
	}
	config := v.(nodes.AnchorValue).WorkspaceConfig
	if config == "" {
		return DefaultSessionAge, nil
	}
	if v, err = s.ev.Eval(ctx, nodes.ConfigFile{Path: config}); err != nil {
		return 0, worldError(err)
	}
	if age := v.(nodes.ConfigFileValue).Config.SessionMaxAge; age != nil {
		return *age, nil
	}
	return DefaultSessionAge, nil
}

// quotedName shows a name that may hold anything.
func quotedName(s string) string {
	const limit = 60
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return ir.EscapeControls(strings.ToValidUTF8(s, "�"))
}

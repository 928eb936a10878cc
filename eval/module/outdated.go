package module

import (
	"context"
	"slices"
	"sync"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// Status is how a pinned reference compares with its repository now.
type Status struct {
	Want   Want
	Record pin.Record
	// Newest is the tag with the highest version above the pinned one's, "" when
	// there is none or the pinned name is no version; NewestCommit what it stands for.
	Newest, NewestCommit string
	// Moved is true when the pinned tag stands for Found now; Found is "" when the
	// repository no longer has the tag.
	Moved bool
	Found string
	// Err is nil or an *Error.
	Err error
}

// Outdated asks the repositories of pinned references for their tags, each
// repository once, and returns one status per want, in their order. Commits and
// branches are not asked about: nothing is newer than a commit, and a branch has no
// versions. It writes nothing.
func (s *Store) Outdated(ctx context.Context, wants []Want) []Status {
	out := make([]Status, len(wants))
	lock, err := s.readLock()
	groups := map[Want][]int{}
	for i, w := range wants {
		out[i] = Status{Want: w, Err: err}
		r, ok := lock.Find(w.Ref.Key())
		if !ok && err == nil {
			out[i].Err = &Error{
				Code: Unresolved, Key: w.Ref.Key(), Message: show(w.Ref.Key()) + " is not in " + lockName,
				Hint: "pin it: `mwp import '" + show(w.Ref.Key()) + "'`",
			}
		}
		out[i].Record = r
		if r.Kind == pin.Tag {
			repository := Want{Ref: pin.Ref{URL: w.Ref.URL}, Insecure: w.Insecure}
			groups[repository] = append(groups[repository], i)
		}
	}
	free := make(chan struct{}, maxFetches)
	var wg sync.WaitGroup
	for repository, group := range groups {
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			answer, err := s.ask(ctx, protocol.Request{Op: protocol.Tags, URL: repository.Ref.URL, Insecure: repository.Insecure})
			for _, i := range group {
				out[i].judge(answer.Tags, err)
			}
		})
	}
	wg.Wait()
	return out
}

// judge compares the record with the tags of its repository.
func (s *Status) judge(tags []protocol.TagName, err error) {
	name := s.Want.Ref.Name
	if err != nil {
		e := *failed(err, "ask", s.Record.Key)
		e.Key = s.Record.Key
		s.Err = &e
		return
	}
	tags = slices.DeleteFunc(slices.Clone(tags), func(t protocol.TagName) bool {
		return !pin.IsCommit(t.Commit) || show(t.Name) != t.Name
	})
	if t, ok := newest(name, tags); ok {
		s.Newest, s.NewestCommit = t.Name, t.Commit
	}
	i := slices.IndexFunc(tags, func(t protocol.TagName) bool { return t.Name == name })
	if i >= 0 {
		s.Found = tags[i].Commit
	}
	s.Moved = s.Found != s.Record.Commit
}

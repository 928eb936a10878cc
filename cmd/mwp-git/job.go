package main

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// job is the answer to one request in the making.
type job struct {
	env      []string
	progress *progress
	secrets  secrets
	place    *place
	request  protocol.Request
	// temp is a directory of this run, removed at its end.
	temp string
	// roundTripper speaks http; nil is a connection to the network. Tests put one
	// here that trusts their server.
	roundTripper http.RoundTripper
}

// remote is a way to talk to a repository.
type remote interface {
	// list asks what the references stand for.
	list(ctx context.Context) (*listing, error)
	// fetch receives what w wants, without history where the server can leave it out.
	// It fails with errIDRefused when the server does not send it.
	fetch(ctx context.Context, w want, l *listing) (objects, error)
	// fetchAll receives every branch and tag with its history.
	fetchAll(ctx context.Context, l *listing) (objects, error)
	close()
}

func (j *job) do(ctx context.Context, r protocol.Request) (protocol.Response, error) {
	var err error
	j.request = r
	if j.place, err = checkRequest(r); err != nil {
		return protocol.Response{}, err
	}
	j.secrets.add(j.place.user, j.place.password)
	line := "asking " + j.place.url
	if r.Op == protocol.Fetch {
		line = "fetching " + j.place.url
		if r.Ref != "" {
			line += " (" + r.Ref + ")"
		}
	}
	j.progress.say(j.clean(line))
	from, l, err := j.connect(ctx)
	if err != nil {
		return protocol.Response{}, err
	}
	defer from.close()
	if r.Op == protocol.Tags {
		return tags(l), nil
	}
	return j.fetch(ctx, from, l)
}

// connect finds a way to talk to the repository: the library first, then the git
// program where it may do better.
func (j *job) connect(ctx context.Context) (remote, *listing, error) {
	first := j.library()
	l, err := first.list(ctx)
	if err == nil {
		return first, l, nil
	}
	first.close()
	if !j.gitMayHelp(err) || ctx.Err() != nil {
		return nil, nil, err
	}
	second, missing := j.program(nil)
	if missing != nil {
		return nil, nil, err
	}
	l, err2 := second.list(ctx)
	if err2 == nil {
		return second, l, nil
	}
	second.close()
	// The library says more about credentials; and git takes a web page for a
	// repository of the oldest kind, without commits.
	if isDenial(err) || errors.Is(err2, transport.ErrEmptyRemoteRepository) {
		return nil, nil, err
	}
	return nil, nil, err2
}

// library returns the way that needs no other program.
func (j *job) library() remote {
	if j.place.scheme == "file" {
		return &local{job: j}
	}
	return &dialed{job: j}
}

// gitMayHelp reports whether the git program may succeed where the library failed.
// A login is not tried again over http, where git would send ~/.netrc in the clear.
func (j *job) gitMayHelp(err error) bool {
	if isDenial(err) {
		return j.place.scheme == "https" || j.place.scheme == "ssh"
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f.answer.Code == protocol.Denied
	}
	if j.place.scheme == "file" {
		return errors.Is(err, errNeedsGit) || errors.Is(err, errMissing)
	}
	final := errors.Is(err, transport.ErrEmptyRemoteRepository) || errors.Is(err, transport.ErrRepositoryNotFound)
	return !final && !isSilence(err)
}

// fetch receives, checks and writes the module.
func (j *job) fetch(ctx context.Context, from remote, l *listing) (protocol.Response, error) {
	w, err := resolve(j.request, l)
	if err != nil {
		return protocol.Response{}, err
	}
	o, err := j.receive(ctx, from, w, l)
	if err != nil {
		return protocol.Response{}, err
	}
	defer o.close()
	commit, root, err := peel(ctx, o, w)
	if err != nil {
		return protocol.Response{}, err
	}
	if err := pinned(j.request, w.kind, commit); err != nil {
		return protocol.Response{}, err
	}
	t, err := readTree(ctx, o, root, j.request.Dir)
	if err != nil {
		return protocol.Response{}, err
	}
	size, pointers, err := t.write(ctx, j.request.Into, j.progress)
	if err != nil {
		return protocol.Response{}, err
	}
	notes := append(w.notes, t.notes...)
	notes = append(notes, listed("Git LFS holds the content of", "Git LFS holds the contents of", pointers)...)
	return protocol.Response{Commit: commit, Kind: w.kind, Files: len(t.files), Bytes: size, Notes: notes}, nil
}

// receive gets the wanted object: by itself, by itself through the git program,
// which speaks the newer protocol, and last with everything else.
func (j *job) receive(ctx context.Context, from remote, w want, l *listing) (objects, error) {
	o, err := from.fetch(ctx, w, l)
	if err == nil || ctx.Err() != nil {
		return o, err
	}
	if _, ok := from.(*program); !ok && (errors.Is(err, errIDRefused) || j.gitMayHelp(err)) {
		if p, missing := j.program(from); missing == nil {
			o, err2 := p.fetch(ctx, w, l)
			if err2 == nil {
				return o, nil
			}
			p.close()
			if ctx.Err() != nil || !errors.Is(err, errIDRefused) {
				return nil, err2
			}
		}
	}
	if !errors.Is(err, errIDRefused) || ctx.Err() != nil {
		return nil, err
	}
	j.progress.say("the server does not send single commits; fetching everything")
	return from.fetchAll(ctx, l)
}

// variable returns a variable of the environment.
func (j *job) variable(name string) string {
	for _, entry := range j.env {
		key, value, _ := strings.Cut(entry, "=")
		if key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

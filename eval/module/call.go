package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/eval/process"
)

const (
	fetcherName = "mwp-git"
	// maxAnswer bounds what is read of an answer; the tags of a repository with ten
	// thousand of them are 1 MB.
	maxAnswer = 4 << 20
	// maxLines bounds the progress of one call.
	maxLines = 2000
)

// FindFetcher returns the path of mwp-git: the named one, or the one beside the running
// program, or the one on PATH. The error is an *Error of code FetcherMissing.
func FindFetcher(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	name := fetcherName
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	beside := ""
	if own, err := os.Executable(); err == nil {
		beside = filepath.Join(filepath.Dir(own), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	if found, err := exec.LookPath(fetcherName); err == nil {
		return found, nil
	}
	return "", noFetcher("neither at "+show(beside)+" nor on PATH", nil)
}

func noFetcher(where string, cause error) error {
	return &Error{
		Code: FetcherMissing, Message: "the program " + fetcherName + ", which fetches modules, is " + where,
		Hint: "go install github.com/model-workspace-protocol/mwp/cmd/mwp-git@latest", cause: cause,
	}
}

// ask sends mwp-git one request. A failure that it reports is an *Error like any
// other.
func (s *Store) ask(ctx context.Context, r protocol.Request) (protocol.Response, error) {
	path, err := FindFetcher(s.Fetcher)
	if err != nil {
		return protocol.Response{}, err
	}
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, last, err := s.run(limited, path, r)
	switch {
	case err == nil:
		return parseAnswer(path, answer)
	case ctx.Err() != nil:
		return protocol.Response{}, failed(ctx.Err(), "ask", r.URL)
	case limited.Err() != nil:
		return protocol.Response{}, &Error{
			Code: protocol.Unreachable, Message: fmt.Sprintf("%s: no answer within %v", show(r.URL), timeout),
			Hint: "check the network and try again; a module that was fetched once needs none", cause: limited.Err(),
		}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return protocol.Response{}, noFetcher("not at "+show(path), err)
	}
	e := &Error{Code: FetcherFailed, Message: show(path) + ": " + show(reason(err).Error()), cause: err}
	if last != "" {
		e.Message += "; the last it said: " + last
	}
	return protocol.Response{}, e
}

// run starts the program and returns what it wrote: all of standard output and the
// last line of standard error. Its standard input stays open until it has ended; so
// when this process is killed, the program sees that nobody waits any more, and
// tidies up.
func (s *Store) run(ctx context.Context, path string, r protocol.Request) (answer []byte, last string, err error) {
	request, err := json.Marshal(r)
	if err != nil {
		return nil, "", err
	}
	cmd := exec.Command(path)
	cmd.Env = environment(s.Env)
	out := new(reply)
	said := &lines{line: s.say, left: maxLines}
	err = process.Run(ctx, cmd, process.Options{Input: append(request, '\n'), Stdout: out, Stderr: said})
	said.end()
	return out.Bytes(), said.last, err
}

// reply gathers an answer.
type reply struct{ bytes.Buffer }

func (r *reply) Write(b []byte) (int, error) {
	if r.Len()+len(b) > maxAnswer {
		r.Reset()
		return 0, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	return r.Buffer.Write(b)
}

// environment returns the environment without git's variables, which a hook sets
// and which would make git work on the repository of the hook.
func environment(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	out := []string{}
	for _, v := range env {
		if !strings.HasPrefix(strings.ToUpper(v), "GIT_") {
			out = append(out, v)
		}
	}
	return out
}

// parseAnswer returns a response, or the error in it. What it says is foreign text.
func parseAnswer(path string, answer []byte) (protocol.Response, error) {
	var r protocol.Response
	d := json.NewDecoder(bytes.NewReader(answer))
	err := d.Decode(&r)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one object")
		}
	}
	if err != nil {
		return protocol.Response{}, &Error{
			Code: FetcherFailed, Message: show(path) + ": expected one JSON object on its standard output, found \"" + show(string(answer[:min(len(answer), 200)])) + "\"",
			Hint: "mwp and mwp-git have to be of one version", cause: err,
		}
	}
	const maxNotes = 100
	r.Notes = r.Notes[:min(len(r.Notes), maxNotes)]
	for i := range r.Notes {
		r.Notes[i] = show(r.Notes[i])
	}
	if e := r.Error; e != nil {
		return r, &Error{Code: knownCode(e.Code), Message: show(e.Message), Hint: show(e.Hint), Commit: show(e.Found)}
	}
	return r, nil
}

var codes = []string{
	protocol.TagMoved, protocol.RefNotFound, protocol.FloatingRef, protocol.Refused, protocol.Unreachable,
	protocol.Denied, protocol.Unsafe, protocol.TooLarge, protocol.IO,
}

// knownCode keeps a code from becoming a word that nobody documented.
func knownCode(code string) string {
	if slices.Contains(codes, code) {
		return code
	}
	return FetcherFailed
}

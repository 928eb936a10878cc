package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// program is a repository spoken to by the git program: for servers that send
// single commits in its newer protocol only, for SHA-256, and for the user's
// credential helpers and ssh configuration.
type program struct {
	job *job
	git string
	// dir is an empty directory to run in, repository one inside it for what is
	// received.
	dir, repository string
	// login is what the library got in with, nil when the git program has to find one.
	login *login
	// configuration is what settings returned.
	configuration [][2]string
}

var errNoGit = errors.New("there is no git program on PATH")

// gitProgram returns the path of the git program, "" when there is none. Relative
// entries of PATH would mean the directory somebody happens to stand in.
func (j *job) gitProgram() string {
	for _, dir := range filepath.SplitList(j.variable("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if p, err := exec.LookPath(filepath.Join(dir, "git")); err == nil {
			return p
		}
	}
	return ""
}

// program returns the way through the git program. from is the way that got in
// before, if one did.
func (j *job) program(from remote) (*program, error) {
	p := &program{job: j, git: j.gitProgram()}
	if p.git == "" {
		return nil, errNoGit
	}
	if d, ok := from.(*dialed); ok {
		p.login = d.login
	}
	var err error
	p.dir, err = os.MkdirTemp(j.temp, "git-")
	p.repository = filepath.Join(p.dir, "received.git")
	return p, err
}

// isGitVariable reports whether a variable steers git. Hooks export some that name
// another repository.
func isGitVariable(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "SSH_ASKPASS")
}

// sshCommand is what git connects with: never a question, no host that is not
// known, no connection that outlives it.
const sshCommand = "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=15 -o ControlMaster=no -o ForwardAgent=no -o PermitLocalCommand=no"

// environment returns the variables for git: the user's own without git's and
// ours. Of the user's configuration only credential.* and http.* stay, which
// userConfig copies into it: url.*.insteadOf, core.* and protocol.* could send a
// stranger's URL to another place or to a command.
func (p *program) environment(settings [][2]string) []string {
	var env []string
	for _, entry := range p.job.env {
		name, _, _ := strings.Cut(entry, "=")
		if !isGitVariable(name) && !strings.HasPrefix(name, "MWP_") && name != "LANGUAGE" && !strings.HasPrefix(name, "LC_") {
			env = append(env, entry)
		}
	}
	env = append(env,
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never", "GIT_ALLOW_PROTOCOL="+p.job.place.scheme,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(p.dir), "GIT_SSH_COMMAND="+sshCommand, "GIT_SSH_VARIANT=ssh",
		"GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}

// fixed are the settings that hold whatever the user's are.
var fixed = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "transfer.fsckObjects=true", "-c", "protocol.version=2",
	"-c", "fetch.recurseSubmodules=no", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsmonitor=false",
	"-c", "core.askPass=", "-c", "pack.threads=1", "-c", "core.bigFileThreshold=32m",
}

// userConfig reads what of the user's configuration stays. The values travel in
// the environment, because some are secrets and arguments are for all to see.
func (p *program) userConfig(ctx context.Context) [][2]string {
	if scheme := p.job.place.scheme; scheme != "https" && scheme != "http" {
		return nil
	}
	cmd := p.command(ctx, nil, "config", "--includes", "-z", "--get-regexp", `^(credential|http)\.`)
	for i, entry := range cmd.Env {
		if strings.HasPrefix(entry, "GIT_CONFIG_GLOBAL=") || strings.HasPrefix(entry, "GIT_CONFIG_NOSYSTEM=") {
			cmd.Env[i] = "GIT_NO_SUCH_VARIABLE="
		}
	}
	out, err := cmd.Output()
	if err != nil || len(out) > maxConfig {
		return nil
	}
	var settings [][2]string
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, ok := strings.Cut(entry, "\n")
		lower := strings.ToLower(key)
		if !ok || strings.HasSuffix(lower, ".sslverify") || strings.HasSuffix(lower, ".followredirects") {
			continue
		}
		settings = append(settings, [2]string{key, value})
		if strings.HasSuffix(lower, ".extraheader") {
			_, secret, _ := strings.Cut(value, ":")
			p.job.secrets.add("", strings.TrimSpace(secret))
		}
	}
	return settings
}

// settings returns the configuration that travels in the environment. A header
// would follow a redirect, so with one there are no redirects.
func (p *program) settings(ctx context.Context) [][2]string {
	if p.configuration == nil {
		p.configuration = p.readSettings(ctx)
	}
	return p.configuration
}

func (p *program) readSettings(ctx context.Context) [][2]string {
	settings := p.userConfig(ctx)
	place := p.job.place
	if p.login == nil {
		settings = append(settings, [2]string{"http.followRedirects", "initial"})
		if place.user != "" && place.password != "" {
			settings = append(settings, [2]string{"credential." + place.origin() + ".username", place.user})
		}
		return settings
	}
	basic := base64.StdEncoding.EncodeToString([]byte(p.login.user + ":" + p.login.password))
	return append(settings,
		[2]string{"http.followRedirects", "false"},
		[2]string{"http." + place.origin() + "/.extraHeader", "Authorization: Basic " + basic})
}

// command prepares one run of git, which ends with ctx together with everything it
// started.
func (p *program) command(ctx context.Context, settings [][2]string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.git, append(fixed[:len(fixed):len(fixed)], args...)...)
	cmd.Dir = p.dir
	cmd.Env = p.environment(settings)
	cmd.WaitDelay = grace
	ownGroup(cmd)
	return cmd
}

// run runs git and returns at most limit bytes of what it wrote.
func (p *program) run(ctx context.Context, limit int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &bounded{limit: limit, full: func() { cancel(tooMuch("bytes to list its references", int64(limit))) }}
	errs := &tail{}
	cmd := p.command(ctx, p.settings(ctx), args...)
	cmd.Stdout, cmd.Stderr = out, errs
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.watch(ctx, cancel)
	}()
	err := cmd.Run()
	cause := context.Cause(ctx)
	cancel(nil)
	<-watched
	switch {
	case cause != nil:
		return nil, cause
	case err != nil:
		return nil, p.verdict(err, errs.String())
	}
	return out.Bytes(), nil
}

// watch ends a fetch that fills the disk: git has no limit of its own.
func (p *program) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			n := p.size()
			if n > maxPack {
				cancel(tooMuch("bytes on the wire", maxPack))
			}
			if n > 0 {
				p.job.progress.count("received %d KiB", n>>10)
			}
		}
	}
}

// size returns how many bytes git has received: packs lie in two directories.
func (p *program) size() (n int64) {
	for _, pattern := range []string{"pack/*", "pack/*/*"} {
		names, _ := filepath.Glob(filepath.Join(p.repository, "objects", filepath.FromSlash(pattern)))
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				n += info.Size()
			}
		}
	}
	return n
}

// verdicts are what git says, in its words, and what that means. It has no other
// way to tell.
var verdicts = []struct {
	words []string
	code  string
}{
	{[]string{"Authentication failed", "could not read Username", "could not read Password", "terminal prompts disabled", "Permission denied", "Host key verification failed", "returned error: 403", "returned error: 401", "dubious ownership"}, protocol.Denied},
	{[]string{"fsck error", "hasDot", "fullPathname", "badTree", "nullSha1", "treeNotSorted"}, protocol.Unsafe},
}

// refusals are git's words for a server that does not send an id.
var refusals = []string{"not our ref", "unadvertised object", "does not support shallow", "remote ref", "dumb http"}

func (p *program) verdict(err error, said string) error {
	text := lastWords(said)
	if text == "" {
		text = err.Error()
	}
	for _, v := range verdicts {
		for _, words := range v.words {
			if strings.Contains(said, words) {
				f := fail(v.code, "git says of %s: %s", p.job.place.url, text)
				if v.code == protocol.Denied {
					f.hint("%s", p.job.loginHint())
				}
				return f
			}
		}
	}
	for _, words := range refusals {
		if strings.Contains(said, words) {
			return fmt.Errorf("%w: git says: %s", errIDRefused, text)
		}
	}
	return fail(protocol.Unreachable, "git says of %s: %s", p.job.place.url, text)
}

// lastWords returns the lines in which git gives its reasons.
func lastWords(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "fatal:") || strings.HasPrefix(line, "error:") || strings.HasPrefix(line, "Host key") || strings.Contains(line, "Permission denied") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

// list implements remote.
func (p *program) list(ctx context.Context) (*listing, error) {
	out, err := p.run(ctx, maxListing, "ls-remote", "--", p.job.place.url)
	if err != nil {
		return nil, err
	}
	l := &listing{refs: map[string]string{}, peeled: map[string]string{}}
	for line := range strings.Lines(string(out)) {
		id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || !pin.IsCommit(id) {
			continue
		}
		switch tag, peeled := strings.CutSuffix(name, "^{}"); {
		case name == "HEAD":
			l.head = id
		case peeled:
			l.peeled[tag] = id
		default:
			l.refs[name] = id
		}
	}
	if len(l.refs) == 0 && l.head == "" {
		return nil, transport.ErrEmptyRemoteRepository
	}
	return l, nil
}

// fetch implements remote: the reference alone, and everything from servers that
// cannot leave out the history.
func (p *program) fetch(ctx context.Context, w want, l *listing) (objects, error) {
	if err := p.initialise(ctx, len(w.id)); err != nil {
		return nil, err
	}
	_, err := p.run(ctx, maxHeader, "--git-dir="+p.repository, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--", p.job.place.url, "+"+w.name()+":refs/mwp/pin")
	if errors.Is(err, errIDRefused) {
		if w.ref == "" {
			return nil, err
		}
		return p.fetchAll(ctx, l)
	}
	if err != nil {
		return nil, err
	}
	return p.read(ctx)
}

// fetchAll implements remote.
func (p *program) fetchAll(ctx context.Context, l *listing) (objects, error) {
	if err := p.initialise(ctx, l.digits()); err != nil {
		return nil, err
	}
	_, err := p.run(ctx, maxHeader, "--git-dir="+p.repository, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"--no-recurse-submodules", "--", p.job.place.url, "+refs/heads/*:refs/mwp/heads/*", "+refs/tags/*:refs/mwp/tags/*")
	if err != nil {
		return nil, err
	}
	return p.read(ctx)
}

// initialise makes the repository that receives, once.
func (p *program) initialise(ctx context.Context, digits int) error {
	if _, err := os.Stat(p.repository); err == nil {
		return nil
	}
	args := []string{"init", "--quiet", "--bare", "--template="}
	if digits == 64 {
		args = append(args, "--object-format=sha256")
	}
	_, err := p.run(ctx, maxHeader, append(args, p.repository)...)
	return err
}

func (p *program) close() {
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// read starts the process that hands out objects.
func (p *program) read(ctx context.Context) (objects, error) {
	ctx, cancel := context.WithCancel(ctx)
	b := &batch{cancel: cancel, program: p}
	b.cmd = p.command(ctx, nil, "--git-dir="+p.repository, "cat-file", "--batch")
	in, err := b.cmd.StdinPipe()
	if err == nil {
		b.in = in
		var out io.Reader
		out, err = b.cmd.StdoutPipe()
		b.out = bufio.NewReader(out)
	}
	if err == nil {
		err = b.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return b, nil
}

// batch reads objects through git cat-file --batch.
type batch struct {
	program *program
	cmd     *exec.Cmd
	cancel  context.CancelFunc
	in      io.Writer
	out     *bufio.Reader
}

// object implements objects.
func (b *batch) object(_ context.Context, id string, limit int64) (string, []byte, error) {
	if !pin.IsCommit(id) {
		return "", nil, fmt.Errorf("%w: %s", errMissing, quote(id))
	}
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return "", nil, fmt.Errorf("git cat-file: %w", err)
	}
	line, err := b.out.ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("git cat-file: %w", err)
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == "missing" {
		return "", nil, fmt.Errorf("%w: %s", errMissing, id)
	}
	if len(fields) != 3 || fields[0] != id {
		return "", nil, fmt.Errorf("git cat-file: expected an object, found %s", quote(line))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return "", nil, fmt.Errorf("git cat-file: expected a size, found %s", quote(line))
	}
	if size > limit {
		return "", nil, tooLong(id, size, limit)
	}
	content := make([]byte, size+1)
	if _, err := io.ReadFull(b.out, content); err != nil {
		return "", nil, fmt.Errorf("git cat-file: %w", err)
	}
	return fields[1], content[:size], nil
}

func (b *batch) close() {
	b.cancel()
	_ = b.cmd.Wait()
	b.program.close()
}

// bounded keeps what is written up to a limit and calls full beyond it.
type bounded struct {
	bytes.Buffer
	limit int
	full  func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		b.full()
		return 0, errors.New("too much")
	}
	return b.Buffer.Write(p)
}

// tail keeps the last kilobytes of what is written.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const limit = 16 << 10
	t.text = append(t.text, p...)
	if len(t.text) > limit {
		t.text = append(t.text[:0], t.text[len(t.text)-limit:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.text) }

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	// installTime bounds the installation of one peer.
	installTime = 5 * time.Minute
	// peerNode is for the peers that need a newer Node than there is: the package of npm
	// that holds one, without the name of the system.
	peerNode = "22.23.5"
	// peerNodeMajor and peerNodeMinor are the least that all of the peers run on.
	peerNodeMajor, peerNodeMinor = 22, 12
	// peerRounds and slowRounds bound the rounds of what takes tenths of a second, and of
	// what takes seconds.
	peerRounds, slowRounds = 21, 7
)

// install returns a directory with a package of npm, "name@version": below --peers,
// where it stays and is found again, or in the lab. No script of the package runs.
func (l *lab) install(spec string) (string, error) {
	within := l.c.peers
	if within == "" {
		within = filepath.Join(l.dir, "npm")
	}
	dir, err := filepath.Abs(filepath.Join(within, strings.ReplaceAll(strings.TrimPrefix(spec, "@"), "/", "-")))
	if err != nil {
		return "", err
	}
	done := filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", fmt.Errorf("there is no npm")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	l.say("installing %s", spec)
	ctx, cancel := context.WithTimeout(context.Background(), installTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", dir, spec)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install %s: %w: %s", spec, err, lastLine(out))
	}
	return dir, os.WriteFile(done, nil, 0o666)
}

// node returns a Node that the peers run on: that of PATH, or else one from npm.
func (l *lab) node() (string, error) {
	path, err := exec.LookPath("node")
	if err == nil {
		if out, err := exec.Command(path, "--version").Output(); err == nil && newEnough(string(out)) {
			return path, nil
		}
	}
	name, program := nodePackage(runtime.GOOS, runtime.GOARCH)
	dir, err := l.install(name + "@" + peerNode)
	if err != nil {
		return "", fmt.Errorf("no Node of at least %d.%d: %w", peerNodeMajor, peerNodeMinor, err)
	}
	return filepath.Join(dir, "node_modules", name, "bin", program), nil
}

// newEnough reports whether a Node that says this of itself runs the peers.
func newEnough(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "v%d.%d.", &major, &minor); err != nil {
		return false
	}
	return major > peerNodeMajor || major == peerNodeMajor && minor >= peerNodeMinor
}

// nodePackage names the package of npm with the Node of a system, and the program in it.
func nodePackage(system, machine string) (name, program string) {
	program = "node"
	if system == "windows" {
		system, program = "win", "node.exe"
	}
	if machine == "amd64" {
		machine = "x64"
	}
	return "node-" + system + "-" + machine, program
}

// unwanted begin the names of variables that would let a user's settings into a peer.
var unwanted = []string{
	"HOME=", "USERPROFILE=", "TMPDIR=", "TMP=", "TEMP=", "XDG_", "CODEX_", "OPENAI_", "GEMINI_", "GOOGLE_", "RULESYNC_", "REPOMIX_", "TURBO_", "NODE_", "npm_config_",
	"HTTP_PROXY=", "HTTPS_PROXY=", "ALL_PROXY=", "NO_PROXY=", "http_proxy=", "https_proxy=", "all_proxy=", "no_proxy=",
}

// alone lets the processes that are timed have a home of their own, no telemetry and no
// look for a newer version, and shows them a network that refuses at once: an attempt
// must not wait for a name server. It returns what sets the lab back.
func (l *lab) alone() (func(), error) {
	home := filepath.Join(l.dir, "alone")
	scraps := filepath.Join(home, "tmp")
	if err := os.MkdirAll(scraps, 0o777); err != nil {
		return nil, err
	}
	before := l.env
	l.env = append(peerEnv(before), "HOME="+home, "USERPROFILE="+home, "TMPDIR="+scraps, "TMP="+scraps, "TEMP="+scraps)
	return func() { l.env = before }, nil
}

func peerEnv(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		return slices.ContainsFunc(unwanted, func(name string) bool { return strings.HasPrefix(v, name) })
	})
	const closed = "http://127.0.0.1:1"
	return append(env, "HTTP_PROXY="+closed, "HTTPS_PROXY="+closed, "ALL_PROXY="+closed, "http_proxy="+closed, "https_proxy="+closed,
		"DO_NOT_TRACK=1", "NO_UPDATE_NOTIFIER=1", "TURBO_TELEMETRY_DISABLED=1", "TURBO_NO_UPDATE_NOTIFIER=1", "GIT_CONFIG_NOSYSTEM=1")
}

// said is what one run of a contestant printed.
type said struct{ out, err []byte }

// listen runs a contestant once and keeps what it prints.
func (l *lab) listen(c *contestant) (*said, error) {
	ctx, cancel := context.WithTimeout(context.Background(), installTime)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.dir, l.env, &out, &errs, time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", c.name, err, lastLine(errs.Bytes()))
	}
	return &said{out.Bytes(), errs.Bytes()}, nil
}

// atLeast returns a row that is ok when measured is at least limit, which 0 leaves open.
func atLeast(what string, measured, limit float64, unit, detail string) row {
	if limit == 0 {
		return row{What: what, Measured: measured, Unit: unit, Detail: detail}
	}
	v := ok
	if measured < limit {
		v = short
	}
	return row{What: what + ", at least", Measured: measured, Unit: unit, Limit: &limit, Verdict: v, Detail: detail}
}

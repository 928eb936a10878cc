package main

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// guarded asks for a user and password.
func guarded(user, password string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if u, p, ok := r.BasicAuth(); !ok || user != "" && u != user || p != password {
				rw.Header().Set("WWW-Authenticate", `Basic realm="modules"`)
				http.Error(rw, "what about "+r.Header.Get("Authorization")+" "+p+"?", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(rw, r)
		})
	}
}

// trust makes the program and the git program believe a server's certificate.
func (w *world) trust(s *server) {
	w.t.Helper()
	w.roundTripper = s.Client().Transport
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	w.git(w.dir, "config", "--global", "http.sslCAInfo", w.write("ca.pem", string(ca), 0o644))
}

const password = "s3cr3t/pass word"

func TestLogins(t *testing.T) {
	needGit(t)
	tests := []struct {
		name    string
		prepare func(w *world)
		user    string
		info    string
		code    string
		// newer is the older commit, which only the git program can fetch alone.
		byID bool
	}{
		{name: "none", code: protocol.Denied},
		{name: "token", prepare: func(w *world) { w.set("MWP_GIT_TOKEN", password) }, user: tokenUser},
		{name: "token, commit by id", prepare: func(w *world) { w.set("MWP_GIT_TOKEN", password) }, user: tokenUser, byID: true},
		{name: "token for the user in the URL", prepare: func(w *world) { w.set("MWP_GIT_TOKEN", password) }, user: "me", info: "me@"},
		{name: "token for this host", prepare: func(w *world) {
			w.set("MWP_GIT_TOKEN", password)
			w.set("MWP_GIT_TOKEN_HOST", "example.org, 127.0.0.1")
		}},
		{name: "token for another host", prepare: func(w *world) { w.set("MWP_GIT_TOKEN", password); w.set("MWP_GIT_TOKEN_HOST", "example.org") }, code: protocol.Denied},
		{name: "token for no host that was named", prepare: func(w *world) { w.set("MWP_GIT_TOKEN", password); w.set("MWP_GIT_TOKEN_HOST", "") }, code: protocol.Denied},
		{name: "wrong token", prepare: func(w *world) { w.set("MWP_GIT_TOKEN", "wr0ng-t0ken") }, code: protocol.Denied},
		{name: "wrong token, right netrc", prepare: func(w *world) {
			w.set("MWP_GIT_TOKEN", "wr0ng-t0ken")
			w.write("home/.netrc", "machine example.org login x password y\nmachine 127.0.0.1\n  login me\n  password s3cr3t\n", 0o600)
		}, user: "me"},
		{name: "netrc for another host", prepare: func(w *world) { w.write("home/.netrc", "machine example.org login me password s3cr3t\n", 0o600) }, code: protocol.Denied},
		{name: "user-info", info: "me:s3cr3t%2Fpass%20word@", user: "me"},
		{name: "user-info, commit by id", info: "me:s3cr3t%2Fpass%20word@", user: "me", byID: true},
		{name: "wrong user-info", info: "me:wr0ng-t0ken@", code: protocol.Denied},
		{name: "credential helper", prepare: func(w *world) {
			helper := w.write("home/helper", "#!/bin/sh\necho username=me\necho 'password="+password+"'\n", 0o755)
			w.git(w.dir, "config", "--global", "credential.helper", helper)
		}, user: "me"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			want := password
			if strings.Contains(test.name, "netrc") {
				want = "s3cr3t"
			}
			s := w.serve(false, guarded(test.user, want), true)
			_, first, _ := w.moduleRepo("m")
			w.trust(s)
			if test.prepare != nil {
				test.prepare(w)
			}
			ref := "v0.1.0"
			if test.byID {
				ref = first
			}
			r, said := w.askLoud(protocol.Request{Op: protocol.Fetch, URL: strings.Replace(s.URL, "https://", "https://"+test.info, 1) + "/m.git", Ref: ref, Into: w.into()})
			if test.code == "" {
				if r.Error != nil || r.Commit != first {
					t.Fatalf("%+v\n%s", r.Error, s.log())
				}
			} else {
				wantError(t, r, test.code, "MWP_GIT_TOKEN")
				said += r.Error.Message + r.Error.Hint
			}
			for _, secret := range []string{password, "s3cr3t", "wr0ng-t0ken", "czNjcjN0", "d3IwbmctdDBrZW4"} {
				if strings.Contains(said, secret) {
					t.Errorf("%q is in the message %q", secret, said)
				}
			}
		})
	}
}

// TestTokenStaysAtHome redirects to another host and to http: neither may see the
// token.
func TestTokenStaysAtHome(t *testing.T) {
	w := newWorld(t)
	needGit(t)
	w.moduleRepo("m")
	var seen []string
	watch := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if a := r.Header.Get("Authorization"); a != "" {
				seen = append(seen, a)
			}
			next.ServeHTTP(rw, r)
		})
	}
	other, plain := w.serve(false, watch, true), w.serve(false, watch, false)
	for name, to := range map[string]string{"another host": strings.Replace(other.URL, "127.0.0.1", "localhost", 1), "http": plain.URL} {
		t.Run(name, func(t *testing.T) {
			home := w.serve(false, func(http.Handler) http.Handler {
				return guarded("", password)(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					http.Redirect(rw, r, to+r.URL.Path+"?"+r.URL.RawQuery, http.StatusFound)
				}))
			}, true)
			w.trust(home)
			w.roundTripper.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
			w.set("MWP_GIT_TOKEN", password)
			r, _ := w.fetch(home.URL+"/m.git", "v0.1.0")
			if name == "http" && r.Error == nil {
				t.Error("followed a redirect from https to http")
			}
			if !strings.Contains(home.log(), "Basic ") {
				t.Errorf("the host itself saw no token:\n%s", home.log())
			}
		})
	}
	if other.log() == "" {
		t.Error("the redirect to another host was not followed, so this test saw nothing")
	}
	if len(seen) > 0 {
		t.Errorf("another server saw %q", seen)
	}
}

// TestNoTokenOverHTTP has a server without encryption ask for the token.
func TestNoTokenOverHTTP(t *testing.T) {
	w := newWorld(t)
	s := w.serve(false, guarded("", password), false)
	w.moduleRepo("m")
	w.set("MWP_GIT_TOKEN", password)
	w.write("home/.netrc", "machine 127.0.0.1 login me password "+password+"\n", 0o600)
	r, _ := w.fetch(s.URL+"/m.git", "v0.1.0")
	wantError(t, r, protocol.Denied, "https")
	if strings.Contains(s.log(), "Basic") {
		t.Errorf("sent over http:\n%s", s.log())
	}
}

func TestFindNetrc(t *testing.T) {
	const text = `# machine h login no password no
machine other login a password b
macdef init
machine h login no password no

machine H
	login me
	account x
	password p1
machine h login you password p2
machine empty login me
default login d password d
`
	for _, test := range []struct{ host, user, wantUser, want string }{
		{"h", "", "me", "p1"},
		{"h", "you", "you", "p2"},
		{"h", "they", "", ""},
		{"other", "", "a", "b"},
		{"empty", "", "", ""},
		{"none", "", "", ""},
	} {
		user, pass, ok := findNetrc(text, test.host, test.user)
		if !ok {
			user, pass = "", ""
		}
		if user != test.wantUser || pass != test.want {
			t.Errorf("findNetrc(%s, %s) = %s, %s; want %s, %s", test.host, test.user, user, pass, test.wantUser, test.want)
		}
	}
}

func FuzzNetrc(f *testing.F) {
	f.Add("machine h login a password b", "h", "")
	f.Add("default login a password b\nmacdef x\n\nmachine", "", "a")
	f.Fuzz(func(t *testing.T, text, host, user string) {
		_, password, ok := findNetrc(text, host, user)
		if ok && (password == "" || host == "" || !strings.Contains(text, password)) {
			t.Errorf("findNetrc(%q, %q, %q) gave %q", text, host, user, password)
		}
	})
}

func TestClean(t *testing.T) {
	j := &job{}
	j.secrets.add("me", "p@ss/word")
	for _, text := range []string{
		"https://me:p@ss/word@h/x", "got p@ss/word", "got p%40ss%2Fword", "got p@ss%2Fword", "Basic bWU6cEBzcy93b3Jk", "https://u:other@h/",
	} {
		got := j.clean(text + "\x1b[31m\u202e\nend")
		for _, secret := range []string{"ss/word", "ss%2Fword", "bWU6", "other", "\x1b", "\u202e", "\n"} {
			if strings.Contains(got, secret) {
				t.Errorf("clean(%q) = %q, with %q in it", text, got, secret)
			}
		}
	}
	if got := j.clean(strings.Repeat("x", 10*maxMessage)); len(got) > 2*maxMessage {
		t.Errorf("%d bytes", len(got))
	}
}

// TestEnvironment looks at what the git program is started with.
func TestEnvironment(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"GIT_DIR", "GIT_SSH_COMMAND", "GIT_CONFIG_PARAMETERS", "GIT_ALLOW_PROTOCOL", "GIT_EXEC_PATH", "SSH_ASKPASS", "MWP_GIT_TOKEN", "LC_MESSAGES"} {
		w.set(name, "hostile")
	}
	w.set("KEPT", "yes")
	j := &job{env: w.env, place: &place{scheme: "https", host: "h"}, temp: w.tmp}
	p := &program{job: j, git: "/bin/git", dir: filepath.Join(w.dir, "d")}
	cmd := p.command(t.Context(), [][2]string{{"http.proxy", "x"}}, "ls-remote")
	text := strings.Join(cmd.Env, "\n")
	if strings.Contains(text, "hostile") {
		t.Errorf("environment:\n%s", text)
	}
	for _, want := range []string{"KEPT=yes", "GIT_ALLOW_PROTOCOL=https", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_KEY_0=http.proxy", "BatchMode=yes", "StrictHostKeyChecking=yes"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	args := strings.Join(cmd.Args, " ")
	for _, want := range []string{"core.hooksPath=", "transfer.fsckObjects=true", "protocol.version=2", "fetch.recurseSubmodules=no", "gc.auto=0"} {
		if !strings.Contains(args, want) {
			t.Errorf("no %s in %s", want, args)
		}
	}
}

package main

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// tokenUser is the name that goes with MWP_GIT_TOKEN unless the URL has one. The
// hosts that look at it want this one; the others take any.
const tokenUser = "x-access-token"

// login is a user name and password for one host.
type login struct{ user, password string }

// logins returns what to try on a host, in order: nothing, which is all that public
// repositories need; the user-info of the URL instead when there is one;
// MWP_GIT_TOKEN; ~/.netrc. Token and netrc are for https alone.
func (j *job) logins() []*login {
	p := j.place
	var list []*login
	add := func(user, password string) {
		j.secrets.add(user, password)
		list = append(list, &login{user, password})
	}
	switch {
	case p.password != "":
		add(p.user, p.password)
	case p.user != "" && p.scheme != "ssh":
		// A token alone is written as a user; a short word is somebody's name.
		if len(p.user) >= 16 {
			j.secrets.add("", p.user)
		}
		add(p.user, "")
	default:
		list = append(list, nil)
	}
	if p.scheme != "https" {
		return list
	}
	if token := j.variable("MWP_GIT_TOKEN"); token != "" && j.tokenFits() {
		user := tokenUser
		if p.user != "" && p.password == "" {
			user = p.user
		}
		add(user, token)
	}
	if user, password, ok := findNetrc(j.netrc(), strings.Trim(p.host, "[]"), p.user); ok {
		add(user, password)
	}
	return list
}

// tokenHost is where MWP_GIT_TOKEN belongs when MWP_GIT_TOKEN_HOST does not say.
const tokenHost = "github.com"

// tokenFits reports whether the host may see the token: it is one that
// MWP_GIT_TOKEN_HOST lists, with commas. An import in somebody's repository names
// whatever host it likes, so the host that asks is no reason to send it there.
func (j *job) tokenFits() bool {
	hosts := cmp.Or(j.variable("MWP_GIT_TOKEN_HOST"), tokenHost)
	return slices.ContainsFunc(strings.Split(hosts, ","), func(h string) bool {
		return strings.EqualFold(strings.TrimSpace(h), j.place.host)
	})
}

// loginHint says how to give other credentials.
func (j *job) loginHint() string {
	s := "set MWP_GIT_TOKEN, and MWP_GIT_TOKEN_HOST to " + j.place.host + ", or name the host in ~/.netrc"
	switch {
	case j.place.scheme == "ssh":
		s = "add your key to the ssh agent (ssh-add), and connect once by hand so that the host's key is known: ssh " + j.place.host
	case j.place.scheme == "http":
		return "use https: tokens are not sent over http"
	case j.place.scheme == "file":
		return "see that you may read the directory"
	}
	if j.gitProgram() == "" {
		s += "; or install git, whose credential helpers are asked too"
	}
	return s
}

// maxNetrc bounds ~/.netrc.
const maxNetrc = 1 << 20

func (j *job) netrc() string {
	name := j.variable("NETRC")
	if name == "" {
		home := j.variable("HOME")
		if home == "" {
			home = j.variable("USERPROFILE")
		}
		name = filepath.Join(home, ".netrc")
		if _, err := os.Stat(name); err != nil && runtime.GOOS == "windows" {
			name = filepath.Join(home, "_netrc")
		}
	}
	info, err := os.Stat(name)
	if err != nil || !filepath.IsAbs(name) || !info.Mode().IsRegular() || info.Size() > maxNetrc {
		return ""
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// findNetrc returns the login of a host, for a user when one is wanted. The entry
// "default" is not used: it would go to any host that a stranger names.
func findNetrc(text, host, wanted string) (user, password string, ok bool) {
	words := netrcWords(text)
	var machine string
	done := func() bool {
		return machine != "" && strings.EqualFold(machine, host) && password != "" && (wanted == "" || wanted == user)
	}
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch words[i] {
		case "machine", "default":
			if done() {
				return user, password, true
			}
			machine, user, password = "", "", ""
			if words[i] == "machine" {
				machine = value
				i++
			}
		case "login":
			user = value
			i++
		case "password":
			password = value
			i++
		case "account":
			i++
		}
	}
	return user, password, done()
}

// netrcWords splits the file; a macro goes on to the next empty line, a comment to
// the end of its line.
func netrcWords(text string) []string {
	var words []string
	macro := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			macro = false
		case macro || strings.HasPrefix(fields[0], "#"):
		case fields[0] == "macdef":
			macro = true
		default:
			words = append(words, fields...)
		}
	}
	return words
}

// secrets are texts that no message may contain.
type secrets struct{ texts []string }

// add remembers a password in the forms in which it is sent and written.
func (s *secrets) add(user, password string) {
	if password == "" {
		return
	}
	for _, text := range []string{
		password, url.PathEscape(password), url.QueryEscape(password), url.UserPassword("", password).String()[1:],
		base64.StdEncoding.EncodeToString([]byte(user + ":" + password)),
	} {
		if !slices.Contains(s.texts, text) {
			s.texts = append(s.texts, text)
		}
	}
	// One secret may be part of another: the longer goes first.
	slices.SortFunc(s.texts, func(a, b string) int { return len(b) - len(a) })
}

// remove returns text with every secret replaced.
func (s *secrets) remove(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// maxRequest bounds a request; the longest reference has 2 KiB.
const maxRequest = 64 << 10

// decodeRequest reads one request. It does not wait for the end of the input.
func decodeRequest(r io.Reader) (protocol.Request, error) {
	var request protocol.Request
	d := json.NewDecoder(io.LimitReader(r, maxRequest))
	d.DisallowUnknownFields()
	if err := d.Decode(&request); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return request, refuse("expected one request in JSON of at most %d bytes, found less or more", maxRequest)
		}
		return request, refuse("expected one request in JSON: %s", err)
	}
	rest, err := io.ReadAll(d.Buffered())
	if err != nil || len(bytes.TrimSpace(rest)) > 0 {
		return request, refuse("expected one request in JSON, found more after it")
	}
	return request, nil
}

// place is a repository's URL, taken apart.
type place struct {
	scheme string
	// user and password are the URL's user-info; a user of ssh is no secret.
	user, password string
	host           string
	port           int
	// path is as it is sent: escaped for https and http, decoded otherwise.
	path string
	// url is what messages and other programs see: without user-info, except the
	// user of ssh.
	url string
}

// origin returns scheme, host and port, which is what a login is good for.
func (p *place) origin() string {
	if p.port == 0 {
		return p.scheme + "://" + p.host
	}
	return p.scheme + "://" + p.host + ":" + strconv.Itoa(p.port)
}

// checkRequest looks at every field again as if nobody had: a reference must
// survive being written down and read (D-36), so that no part can mean something
// else in another place.
func checkRequest(r protocol.Request) (*place, error) {
	if r.Op != protocol.Fetch && r.Op != protocol.Tags {
		return nil, refuse("expected the operation %s or %s, found %q", protocol.Fetch, protocol.Tags, r.Op)
	}
	written := r.URL
	if r.Dir != "" {
		written += "//" + r.Dir
	}
	if r.Ref != "" {
		written += "@" + r.Ref
	}
	ref, err := pin.ParseRef(written)
	if err != nil {
		f := refuse("%s", err)
		if e, ok := errors.AsType[*pin.Error](err); ok {
			f.answer.Hint = e.Hint
		}
		return nil, f
	}
	if ref.URL != r.URL || ref.Dir != r.Dir || ref.Name != r.Ref {
		return nil, refuse("the URL %q, the directory %q and the reference %q mean something else when they are written together", pin.Mask(r.URL), r.Dir, r.Ref)
	}
	if why := ref.Vague(); why != "" {
		return nil, refuse("the reference %q is no pin: %s", r.Ref, why)
	}
	if r.Commit != "" && (!pin.IsCommit(r.Commit) || ref.Commit() && r.Commit != r.Ref) {
		return nil, refuse("expected the commit in full that the reference was pinned to, found %q", r.Commit)
	}
	if r.Op == protocol.Fetch && !filepath.IsAbs(r.Into) {
		return nil, refuse("expected an absolute directory to write into, found %q", r.Into)
	}
	p, err := parsePlace(r.URL)
	if err == nil && p.scheme == "http" && !r.Insecure {
		return nil, refuse("http is neither secret nor safe from changes on the way").hint("use https, or pass --allow-insecure")
	}
	return p, err
}

// parsePlace takes a URL apart that pin.ParseRef let through.
func parsePlace(s string) (*place, error) {
	if !strings.Contains(s, "://") {
		authority, path, _ := strings.Cut(s, ":")
		user, host, _ := strings.Cut(authority, "@")
		return (&place{scheme: "ssh", user: user, host: host, path: path, url: s}).check()
	}
	u, err := url.Parse(s)
	if err != nil {
		// The library's message quotes the URL with everything in it.
		return nil, refuse("expected a URL, found %q", pin.Mask(s))
	}
	p := &place{scheme: u.Scheme, host: u.Hostname(), path: u.Path}
	if u.User != nil {
		p.user = u.User.Username()
		p.password, _ = u.User.Password()
	}
	if strings.Contains(p.host, ":") {
		p.host = "[" + p.host + "]"
	}
	p.port, _ = strconv.Atoi(u.Port())
	u.User = nil
	switch p.scheme {
	case "https", "http":
		p.path = u.EscapedPath()
	case "ssh":
		// git's way to name a home directory in a URL.
		if strings.HasPrefix(p.path, "/~") {
			p.path = p.path[1:]
		}
		if p.user != "" {
			u.User = url.User(p.user)
		}
	}
	p.url = u.String()
	return p.check()
}

// check refuses what only shows after percent signs were decoded.
func (p *place) check() (*place, error) {
	decoded, err := url.PathUnescape(p.path)
	if err != nil || p.scheme == "ssh" {
		decoded = p.path
	}
	odd := func(c rune) bool { return !unicode.IsPrint(c) && c != ' ' || c == '\\' && p.scheme != "file" }
	switch {
	case !utf8.ValidString(decoded) || strings.ContainsFunc(decoded, odd) || strings.ContainsFunc(p.user+p.password, odd):
		return nil, refuse("expected a URL without control characters, found %q", pin.Mask(p.url))
	case strings.HasPrefix(decoded, "-") || strings.HasPrefix(p.user, "-"):
		return nil, refuse("expected a repository, found what begins like an option in %q", pin.Mask(p.url))
	case strings.ContainsAny(p.user, ":/ '\"$`"):
		return nil, refuse("expected a plain user name in the URL of %s", p.host)
	case strings.ContainsAny(p.host, "[]") && !(strings.HasPrefix(p.host, "[") && strings.HasSuffix(p.host, "]")):
		return nil, refuse("expected the name of a host, found %q", p.host)
	case p.scheme == "ssh" && p.password != "":
		return nil, refuse("ssh takes no password from a URL").hint("use a key in your ssh agent")
	}
	for segment := range strings.SplitSeq(decoded, "/") {
		if segment == ".." || segment == "." {
			return nil, refuse("expected a plain path in the URL, found %q in %q", segment, pin.Mask(p.url))
		}
	}
	return p, nil
}

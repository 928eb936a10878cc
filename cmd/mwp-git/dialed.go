package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

const (
	// connectTimeout bounds the beginning of a conversation, answerTimeout the wait
	// for a server to begin an answer, for which it may have to count objects.
	connectTimeout = 15 * time.Second
	answerTimeout  = 60 * time.Second
	// maxListing bounds the list of references: half a million of them.
	maxListing = 32 << 20
	// maxWants bounds what a fetch of everything asks for.
	maxWants = 50000
)

// dialed is a repository behind https, http or ssh, spoken to by the library.
type dialed struct {
	job       *job
	transport *limitedTransport
	// login is what the server let in.
	login   *login
	session transport.UploadPackSession
	listed  *packp.AdvRefs
	// spent is a session that has sent a pack and sends no second one.
	spent bool
}

// list implements remote. It tries one login after the other.
func (d *dialed) list(ctx context.Context) (*listing, error) {
	var err error
	for _, l := range d.job.logins() {
		d.login = l
		if err = d.open(ctx); err == nil {
			return d.listing(), nil
		}
		if !isDenial(err) {
			break
		}
	}
	if d.transport != nil {
		switch {
		case d.transport.exceeded.Load():
			return nil, tooMuch("bytes to list its references", maxListing)
		case err != nil && strings.Contains(d.transport.beginning(), "object-format=sha256"):
			return nil, fmt.Errorf("%w: its ids are SHA-256", errNeedsGit)
		}
	}
	return nil, err
}

func (d *dialed) listing() *listing {
	l := &listing{refs: map[string]string{}, peeled: map[string]string{}}
	for name, id := range d.listed.References {
		l.refs[name] = id.String()
	}
	for name, id := range d.listed.Peeled {
		l.peeled[name] = id.String()
	}
	if d.listed.Head != nil {
		l.head = d.listed.Head.String()
	}
	return l
}

// open begins a session. The library connects to ssh without looking at ctx; then
// the connection is left to end by itself.
func (d *dialed) open(ctx context.Context) error {
	d.close()
	type opened struct {
		session transport.UploadPackSession
		listed  *packp.AdvRefs
		err     error
	}
	done := make(chan opened, 1)
	client, endpoint, auth, err := d.client()
	if err != nil {
		return err
	}
	go func() {
		var o opened
		defer func() {
			if v := recover(); v != nil {
				o.err = fmt.Errorf("the library failed: %v", v)
			}
			done <- o
		}()
		if o.session, o.err = client.NewUploadPackSession(endpoint, auth); o.err != nil {
			// What comes with an error is a nil pointer that is no nil interface.
			o.session, o.err = nil, d.connectError(o.err)
			return
		}
		o.listed, o.err = o.session.AdvertisedReferencesContext(ctx)
	}()
	select {
	case o := <-done:
		if o.err != nil && o.session != nil {
			_ = o.session.Close()
		}
		if o.err == nil {
			d.session, d.listed, d.spent = o.session, o.listed, false
		}
		return o.err
	case <-ctx.Done():
		go func() {
			if o := <-done; o.session != nil {
				_ = o.session.Close()
			}
		}()
		return ctx.Err()
	}
}

// connectError says of a failed ssh handshake that it is about credentials: keys
// of the user or of the host. The library has no type for it.
func (d *dialed) connectError(err error) error {
	if d.job.place.scheme != "ssh" || isSilence(err) {
		return err
	}
	return fail(protocol.Denied, "%s: %s", d.job.place.url, err).hint("%s", d.job.loginHint())
}

func (d *dialed) client() (transport.Transport, *transport.Endpoint, transport.AuthMethod, error) {
	p := d.job.place
	e := &transport.Endpoint{Protocol: p.scheme, Host: p.host, Port: p.port, Path: p.path}
	if p.scheme == "ssh" {
		e.User = p.user
		auth, err := newAgentAuth(p)
		if err != nil {
			return nil, nil, nil, fail(protocol.Denied, "%s: no ssh agent answers: %s", p.url, err).hint("%s", d.job.loginHint())
		}
		return gitssh.DefaultClient, e, auth, nil
	}
	if d.transport == nil {
		d.transport = newTransport(d.job.roundTripper)
	}
	client := githttp.NewClientWithOptions(&http.Client{Transport: d.transport}, &githttp.ClientOptions{RedirectPolicy: githttp.FollowInitialRedirects})
	if d.login == nil {
		return client, e, nil, nil
	}
	return client, e, &githttp.BasicAuth{Username: d.login.user, Password: d.login.password}, nil
}

// fetch implements remote.
func (d *dialed) fetch(ctx context.Context, w want, l *listing) (objects, error) {
	listed := l.has(w.id)
	can := d.listed.Capabilities
	if !listed && !can.Supports(capability.AllowReachableSHA1InWant) && !can.Supports(capability.AllowTipSHA1InWant) {
		return nil, errIDRefused
	}
	o, err := d.receive(ctx, []plumbing.Hash{plumbing.NewHash(w.id)}, true)
	if _, ok := errors.AsType[*failure](err); err != nil && !ok && !listed && !isSilence(err) && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: %s", errIDRefused, err)
	}
	return o, err
}

// fetchAll implements remote.
func (d *dialed) fetchAll(ctx context.Context, l *listing) (objects, error) {
	var wants []plumbing.Hash
	seen := map[string]bool{}
	for name, id := range l.refs {
		if (strings.HasPrefix(name, tagPrefix) || strings.HasPrefix(name, branchPrefix)) && !seen[id] {
			seen[id] = true
			wants = append(wants, plumbing.NewHash(id))
		}
	}
	if len(wants) > maxWants {
		return nil, tooMuch("branches and tags", maxWants)
	}
	if len(wants) == 0 {
		return nil, errIDRefused
	}
	return d.receive(ctx, wants, false)
}

// receive asks for objects, without history when shallow is set and the server
// knows how to leave it out.
func (d *dialed) receive(ctx context.Context, wants []plumbing.Hash, shallow bool) (objects, error) {
	if d.spent && d.job.place.scheme == "ssh" {
		if err := d.open(ctx); err != nil {
			return nil, err
		}
	}
	d.spent = true
	can := d.listed.Capabilities
	request := packp.NewUploadPackRequestFromCapabilities(can)
	request.Wants = wants
	if can.Supports(capability.NoProgress) {
		_ = request.Capabilities.Set(capability.NoProgress)
	}
	if shallow && can.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(1)
		_ = request.Capabilities.Set(capability.Shallow)
	}
	response, err := d.session.UploadPack(ctx, request)
	if err != nil {
		return nil, err
	}
	defer response.Close()
	f, err := savePack(ctx, demultiplexed(request.Capabilities, response), d.job.temp, d.job.progress)
	if err != nil {
		return nil, err
	}
	return asObjects(indexPack(ctx, f, d.job.progress))
}

func asObjects(k *pack, err error) (objects, error) {
	if err != nil {
		return nil, err
	}
	return k, nil
}

func demultiplexed(chosen *capability.List, r io.Reader) io.Reader {
	switch {
	case chosen.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case chosen.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	}
	return r
}

func (d *dialed) close() {
	if d.session != nil {
		_ = d.session.Close()
		d.session = nil
	}
}

// limitedTransport bounds the answers of a server, error pages included, and keeps
// the beginning of the last list of references.
type limitedTransport struct {
	next     http.RoundTripper
	exceeded atomic.Bool
	head     atomic.Pointer[sniffer]
}

func newTransport(next http.RoundTripper) *limitedTransport {
	if next == nil {
		next = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSHandshakeTimeout:   connectTimeout,
			ResponseHeaderTimeout: answerTimeout,
			ForceAttemptHTTP2:     true,
			DisableKeepAlives:     true,
		}
	}
	return &limitedTransport{next: next}
}

// RoundTrip implements http.RoundTripper.
func (t *limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limit := int64(maxListing)
	switch {
	case response.StatusCode != http.StatusOK:
		limit = maxHeader
	case r.Method == http.MethodPost:
		limit = 2 * maxPack
	}
	body := &sniffer{body: response.Body, left: limit, exceeded: &t.exceeded}
	if r.Method == http.MethodGet {
		t.head.Store(body)
	}
	response.Body = body
	return response, nil
}

// beginning returns the first kilobytes of the last list of references.
func (t *limitedTransport) beginning() string {
	if s := t.head.Load(); s != nil {
		return s.first.String()
	}
	return ""
}

type sniffer struct {
	body     io.ReadCloser
	left     int64
	first    bytes.Buffer
	exceeded *atomic.Bool
}

func (s *sniffer) Read(b []byte) (int, error) {
	if s.left <= 0 {
		s.exceeded.Store(true)
		return 0, errors.New("the answer is too long")
	}
	n, err := s.body.Read(b[:min(int64(len(b)), s.left)])
	s.left -= int64(n)
	s.first.Write(b[:min(n, max(0, 8192-s.first.Len()))])
	return n, err
}

func (s *sniffer) Close() error { return s.body.Close() }

// agentAuth signs with the keys of the ssh agent and checks the host's key against
// known_hosts. The library's own method offers algorithms for keys that are not in
// known_hosts and then fails on hosts that have several.
type agentAuth struct {
	*gitssh.PublicKeysCallback
	address string
}

func newAgentAuth(p *place) (*agentAuth, error) {
	callback, err := gitssh.NewSSHAgentAuth(p.user)
	if err != nil {
		return nil, err
	}
	port := p.port
	if port == 0 {
		port = gitssh.DefaultPort
	}
	return &agentAuth{callback, net.JoinHostPort(strings.Trim(p.host, "[]"), strconv.Itoa(port))}, nil
}

// ClientConfig implements the library's AuthMethod.
func (a *agentAuth) ClientConfig() (*ssh.ClientConfig, error) {
	known, err := gitssh.NewKnownHostsDb()
	if err != nil {
		return nil, err
	}
	return &ssh.ClientConfig{
		User:              a.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeysCallback(a.Callback)},
		HostKeyCallback:   known.HostKeyCallback(),
		HostKeyAlgorithms: known.HostKeyAlgorithms(a.address),
		Timeout:           connectTimeout,
	}, nil
}

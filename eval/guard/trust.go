package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/state"
)

const (
	// TrustName is the name of the lock with a user's decisions in a state directory.
	TrustName = "trust.lock"
	trustList = "decisions"
	maxTrust  = 4 << 20
)

// AdHoc is a guard that runs only after this user said so, with everything that the
// answer is bound to (D-42).
type AdHoc struct {
	// Command is the command text. DeclaredIn, the file that names it, and Cwd, where
	// it runs, are relative to the root.
	Command, DeclaredIn, Cwd string
	// Commit is the full id of the module's commit, "" for a guard of the workspace.
	Commit string
	// Script is the digest of the script that the command names, zero without one.
	Script cas.Digest
}

// Verdict is what somebody decided.
type Verdict uint8

// The verdicts. Outdated means that the question was another one when it was answered.
const (
	Unknown Verdict = iota
	Yes
	Never
	Outdated
)

// String returns the verdict as trust.lock has it.
func (v Verdict) String() string { return [...]string{"unknown", "yes", "never", "outdated"}[v] }

// Part is something that a decision is bound to.
type Part string

// The parts, in words that fit "the … changed after it was approved".
const (
	PartScript    Part = "file"
	PartModule    Part = "module"
	PartCommand   Part = "command"
	PartWorkspace Part = "workspace's place"
)

// Answer is what a user said about an ad-hoc guard.
type Answer struct {
	Verdict Verdict
	// Parts are what differs, for Outdated only, and Was is what was said before they
	// did.
	Parts []Part
	Was   Verdict
}

// TrustLock is a user's decisions about the ad-hoc guards of one workspace, kept in its
// state directory and signed (D-42). A lock that came with a repository has other
// people's signatures and so decides nothing.
//
// Decisions hold for the workspace's place on this machine too: what a command does
// rests on more files than the lock can digest, so a lock that this user signed for
// one tree must say nothing about another one into which somebody put a copy.
type TrustLock struct {
	State state.Dir
	Key   *Key
	// Root is the absolute path of the workspace, links resolved.
	Root string
}

// Decisions is a lock as it was read.
type Decisions struct {
	lock TrustLock
	own  []decision
	// Foreign counts the decisions of other users, and Damaged those that are not as
	// they were signed. Both count as absent.
	Foreign, Damaged int
	// Problem is one sentence about what is wrong with the file, "" when nothing is.
	Problem string

	others []listed
}

// decision is one entry of the lock.
type decision struct {
	AdHoc
	verdict Verdict
	at      int64
	// binding is a code over the guard and the root. The texts of an entry are for
	// people; they cannot hold every name of a file.
	binding [32]byte
	text    string
}

// Read returns the decisions. The error is a *state.FileError; without a file there are no
// decisions and no error.
func (t TrustLock) Read() (*Decisions, error) {
	f, err := t.State.Open()
	if f == nil || err != nil {
		return &Decisions{lock: t}, err
	}
	defer f.Close()
	text, err := f.Read(TrustName, maxTrust)
	return t.parse(text), err
}

// parse reads the text of a lock, nil without one.
func (t TrustLock) parse(text []byte) *Decisions {
	d := &Decisions{lock: t}
	if text == nil {
		return d
	}
	if len(text) > maxTrust {
		d.Problem = tooLarge(maxTrust)
		return d
	}
	var e cas.Encoder
	f := readList(string(text), trustList, func(r *jsonReader) bool {
		start := r.at
		c, signer, code := readDecision(r)
		if r.want != "" {
			return false
		}
		c.text = r.text[start:r.at]
		if signer != t.Key.Signer() {
			d.Foreign++
			d.others = append(d.others, listed{c.binding, signer, c.at, c.text})
			return true
		}
		if !t.Key.decisions.Verify(c.signed(&e, signer), code) {
			return false
		}
		d.add(c)
		return true
	})
	d.Damaged, d.Problem = f.damaged, f.problem("decision")
	return d
}

// add adds a decision, or replaces an older one of the same binding.
func (d *Decisions) add(c decision) {
	i := slices.IndexFunc(d.own, func(o decision) bool { return o.binding == c.binding })
	switch {
	case i < 0:
		d.own = append(d.own, c)
	case c.at > d.own[i].at, c.at == d.own[i].at && c.verdict == Never:
		d.own[i] = c
	}
}

// Lookup returns what this user said about a guard. Outdated is about the decision that
// differs in the fewest parts, of several the newest: the same command of the same file
// with another script, module commit or place of the workspace, or another command of
// the same file that names the same script.
func (d *Decisions) Lookup(g AdHoc) Answer {
	if !d.lock.Key.Exists() {
		return Answer{}
	}
	binding := d.lock.binding(g)
	var best Answer
	var at int64
	for i := range d.own {
		c := &d.own[i]
		if c.binding == binding {
			return Answer{Verdict: c.verdict}
		}
		parts := c.differs(g)
		if len(parts) == 0 || best.Parts != nil && (len(parts) > len(best.Parts) || len(parts) == len(best.Parts) && c.at <= at) {
			continue
		}
		best, at = Answer{Verdict: Outdated, Parts: parts, Was: c.verdict}, c.at
	}
	return best
}

// differs returns in what a decision's guard is another one, nil when it has nothing to
// do with it.
func (c *decision) differs(g AdHoc) []Part {
	if c.DeclaredIn != g.DeclaredIn || c.Cwd != g.Cwd {
		return nil
	}
	var parts []Part
	if c.Script != g.Script {
		parts = append(parts, PartScript)
	}
	if c.Commit != g.Commit {
		parts = append(parts, PartModule)
	}
	switch {
	case c.Command != g.Command && (parts != nil || g.Script.IsZero()):
		return nil
	case c.Command != g.Command:
		parts = append(parts, PartCommand)
	case parts == nil:
		parts = append(parts, PartWorkspace)
	}
	return parts
}

// binding returns the code over everything that a decision is bound to.
func (t TrustLock) binding(g AdHoc) [32]byte {
	var e cas.Encoder
	e.String("binding")
	for _, s := range [...]string{t.Root, g.Command, g.DeclaredIn, g.Cwd, g.Commit} {
		e.String(s)
	}
	e.Digest(g.Script)
	return t.Key.decisions.Sum(e.Encoded())
}

// Decide records Yes or Never, in the place of an earlier decision about exactly the
// same. It reads and replaces the file under a lock, which it waits for at most five
// seconds (D-103); a damaged file is kept beside it, once, as trust.lock.broken. The
// error is a *state.FileError. Without a key, and for another verdict, it panics.
func (t TrustLock) Decide(ctx context.Context, g AdHoc, v Verdict, at time.Time) error {
	if !t.Key.Exists() || v != Yes && v != Never {
		panic(fmt.Sprintf("guard.TrustLock.Decide(%v): no key, or no decision", v))
	}
	return t.State.Locked(ctx, "trust", func(f *state.Files) error {
		text, err := f.Read(TrustName, maxTrust)
		if err != nil {
			return err
		}
		d := t.parse(text)
		if d.Problem != "" {
			if err := f.KeepBroken(TrustName, text); err != nil {
				return err
			}
		}
		d.set(t.sign(g, v, wholeMillis(at.UnixNano())))
		return f.Replace(TrustName, d.format(), state.Durable)
	})
}

// set adds a decision, or replaces the one of the same binding, whatever the clock says.
func (d *Decisions) set(c decision) {
	d.own = slices.DeleteFunc(d.own, func(o decision) bool { return o.binding == c.binding })
	d.own = append(d.own, c)
}

func (t TrustLock) sign(g AdHoc, v Verdict, at int64) decision {
	c := decision{AdHoc: g, verdict: v, at: at, binding: t.binding(g)}
	for _, s := range []*string{&c.Command, &c.DeclaredIn, &c.Cwd, &c.Commit} {
		*s = strings.ToValidUTF8(*s, "\ufffd")
	}
	var e cas.Encoder
	signer := t.Key.Signer()
	c.text = writeDecision(&c, signer, t.Key.decisions.Sum(c.signed(&e, signer)))
	return c
}

// signed returns what a decision's code is over: every field, and who signed.
func (c *decision) signed(e *cas.Encoder, signer string) []byte {
	e.Reset()
	e.String("decision")
	for _, s := range [...]string{c.Command, c.DeclaredIn, c.Cwd, c.Commit, signer} {
		e.String(s)
	}
	e.Digest(c.Script)
	e.Uint(uint64(c.verdict))
	e.Int(c.at)
	e.Key(c.binding)
	return e.Encoded()
}

func (d *Decisions) format() []byte {
	list := slices.Clone(d.others)
	for _, c := range d.own {
		list = append(list, listed{c.binding, d.lock.Key.Signer(), c.at, c.text})
	}
	return appendList(nil, trustList, bounded(list, d.lock.Key.Signer(), maxTrust))
}

func writeDecision(c *decision, signer string, code cas.Digest) string {
	w := &jsonWriter{indent: "      "}
	w.raw("{")
	w.field("command", true).str(c.Command)
	w.field("decision", false).str(c.verdict.String())
	w.field("decided_at", false).moment(c.at)
	w.field("declared_in", false).str(c.DeclaredIn)
	w.field("cwd", false).str(c.Cwd)
	w.field("module_commit", false).str(c.Commit)
	if w.field("script", false); c.Script.IsZero() {
		w.str("")
	} else {
		w.digest(c.Script)
	}
	w.field("binding", false).str(cas.Digest(c.binding).String())
	w.field("signer", false).str(signer)
	w.field("mac", false).str(code.String())
	w.raw("\n" + w.indent[2:] + "}")
	return string(w.b)
}

func readDecision(r *jsonReader) (c decision, signer string, code cas.Digest) {
	r.expect('{')
	r.field("command", true)
	c.Command = r.str()
	r.field("decision", false)
	switch r.bare() {
	case Yes.String():
		c.verdict = Yes
	case Never.String():
		c.verdict = Never
	default:
		r.fail("yes or never")
	}
	r.field("decided_at", false)
	c.at = r.moment()
	r.field("declared_in", false)
	c.DeclaredIn = r.str()
	r.field("cwd", false)
	c.Cwd = r.str()
	r.field("module_commit", false)
	c.Commit = r.str()
	if r.field("script", false); !r.word(`""`) {
		c.Script = r.digest()
	}
	r.field("binding", false)
	c.binding = r.key()
	signer, code = readSignature(r)
	r.expect('}')
	return c, signer, code
}

package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/state"
)

const (
	keyName  = "key"
	keyBytes = 32
	// minSecret is the shortest text that may stand for a key. Whoever reads a signed
	// file can try short texts until one fits.
	minSecret = 16
	// noSigner is what Signer returns where there is no key. It has another form than
	// an id, so that nothing is signed with it.
	noSigner = "none"
)

// The contexts under which the secret becomes unrelated ones.
const (
	secretContext   = "mwp trust key from text v1"
	signerContext   = "mwp signer v1"
	recordContext   = "mwp guard record v1"
	decisionContext = "mwp trust decision v1"
	archiveContext  = "mwp cache archive v1"
)

// ErrKey is the reason of a state.FileError when the per-user key cannot be used.
var ErrKey = errors.New("no usable key")

// Key is what a user signs results and decisions with (D-42, D-44). It is safe for
// concurrent use. A user who has none yet has a Key all the same, which believes
// nothing and signs nothing.
type Key struct {
	signer                       string
	records, decisions, archives *cas.MAC
}

// OpenKey returns the key that secret stands for, the value of MWP_TRUST_KEY, or,
// when that is empty, the one in the file "key" of the per-user state directory. It
// makes nothing: where there is no such file, or stateDir is "", Exists of the result
// is false.
//
// A secret that is too short, and a file that anybody else can read or that is no
// key, are a *state.FileError. They are never replaced by a new key, because everything
// that was signed with the old one would count for nothing from then on.
func OpenKey(stateDir, secret string) (*Key, error) {
	if secret != "" {
		return keyFromText(secret)
	}
	if stateDir == "" {
		return &Key{signer: noSigner}, nil
	}
	path := filepath.Join(stateDir, keyName)
	b, err := state.ReadPrivate(path, keyBytes+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Key{signer: noSigner}, nil
	case err != nil:
		return nil, keyError(path, err)
	case len(b) != keyBytes:
		return nil, keyError(path, state.Unfit{Problem: fmt.Sprintf("expected a key of %d bytes, found %s", keyBytes, countUpTo(len(b), keyBytes))})
	}
	return newKey([keyBytes]byte(b)), nil
}

// CreateKey returns what OpenKey returns, and makes the key in the per-user state
// directory when there is none. Of several first runs at the same time one makes it,
// and the others find it.
func CreateKey(ctx context.Context, stateDir, secret string) (*Key, error) {
	k, err := OpenKey(stateDir, secret)
	if err != nil || k.Exists() {
		return k, err
	}
	if stateDir == "" {
		return nil, &state.FileError{
			Message: "there is no place for the key that signs results and decisions: the per-user state directory is not known",
			Hint:    "set HOME or XDG_STATE_HOME, or put a long random text into MWP_TRUST_KEY",
			Reason:  state.ErrUnwritable,
		}
	}
	if err := makeKey(ctx, stateDir); err != nil {
		return nil, err
	}
	return OpenKey(stateDir, "")
}

// makeKey puts random bytes into the key file unless there is one.
func makeKey(ctx context.Context, stateDir string) error {
	return state.Private{Path: stateDir}.Locked(ctx, func(f *state.Files) error {
		if missing, err := f.Missing(keyName); !missing {
			return err // of several first runs, this is not the first
		}
		var b [keyBytes]byte
		if err := random(b[:]); err != nil {
			return state.Failed(err, "get random bytes for", filepath.Join(stateDir, keyName))
		}
		return f.Replace(keyName, b[:], state.Durable)
	})
}

// keyFromText returns the key that a text stands for. Blanks around it do not count:
// some places that keep secrets add a newline.
func keyFromText(secret string) (*Key, error) {
	text := strings.TrimSpace(secret)
	if len(text) < minSecret {
		return nil, &state.FileError{
			Message: fmt.Sprintf("MWP_TRUST_KEY: expected at least %d bytes, found %d without the blanks around them", minSecret, len(text)),
			Hint:    "put a long random text there, such as `openssl rand -hex 32` prints, or unset it",
			Reason:  ErrKey,
		}
	}
	return newKey(cas.Derive(secretContext).Key([]byte(text))), nil
}

func newKey(secret [keyBytes]byte) *Key {
	purpose := func(context string) cas.Key { return cas.Derive(context).Key(secret[:]) }
	return &Key{
		signer:    purpose(signerContext).String()[:signerDigits],
		records:   cas.NewMAC(purpose(recordContext)),
		decisions: cas.NewMAC(purpose(decisionContext)),
		archives:  cas.NewMAC(purpose(archiveContext)),
	}
}

// signerDigits are the 8 bytes of an id in hexadecimal.
const signerDigits = 16

// Signer returns a name for the key, 16 hexadecimal digits that say nothing about
// it; "none" when there is no key.
func (k *Key) Signer() string { return k.signer }

// Exists reports whether there is a key to sign with.
func (k *Key) Exists() bool { return k.records != nil }

// SealArchive vouches for an archive with the digest d (docs/format.md); the zero Seal
// when there is no key.
func (k *Key) SealArchive(d cas.Digest) cas.Seal {
	if !k.Exists() {
		return cas.Seal{}
	}
	return cas.Seal{Signer: k.signer, Code: k.archives.Sum(d[:])}
}

// VouchesFor reports whether the key itself sealed an archive.
func (k *Key) VouchesFor(a *cas.Archive) bool {
	return k.Exists() && a.Seal.Signer == k.signer && k.archives.Verify(a.Digest[:], a.Seal.Code)
}

// isSigner reports whether a text has the form of an id.
func isSigner(s string) bool {
	return len(s) == signerDigits && isHex(s)
}

func keyError(path string, err error) error {
	e := &state.FileError{Message: "the key that signs results and decisions: " + state.Shown(path) + ": " + state.Plain(err).Error(), Reason: errors.Join(ErrKey, err)}
	switch u, ok := errors.AsType[state.Unfit](err); {
	case u.Exposed:
		e.Hint = "if nobody else can have read it, `chmod 600` it; else move it away, and the next run makes a new key"
	case ok:
		e.Hint = "see how it came to this; moved away, the next run makes a new key, and what was signed with the old one counts for nothing"
	}
	return e
}

func countUpTo(n, limit int) string {
	if n > limit {
		return "more"
	}
	return fmt.Sprint(n)
}

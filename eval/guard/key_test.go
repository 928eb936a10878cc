package guard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/model-workspace-protocol/mwp/eval/state"
)

func TestCreateKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "mwp")
	k, err := OpenKey(dir, "")
	if err != nil || k.Exists() || k.Signer() != "none" {
		t.Errorf("OpenKey of no directory = %+v, %v", k, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("reading made the directory")
	}
	var wg sync.WaitGroup
	signers := make([]string, 8)
	for i := range signers {
		wg.Go(func() {
			k, err := CreateKey(context.Background(), dir, "")
			if err != nil {
				t.Error(err)
				return
			}
			signers[i] = k.Signer()
		})
	}
	wg.Wait()
	k, err = OpenKey(dir, "")
	if err != nil || !k.Exists() || !isSigner(k.Signer()) {
		t.Fatalf("OpenKey = %+v, %v", k, err)
	}
	for i, s := range signers {
		if s != k.Signer() {
			t.Errorf("first run %d signs as %s, the key is %s", i, s, k.Signer())
		}
	}
	key := readFile(t, filepath.Join(dir, "key"))
	if len(key) != 32 || strings.Trim(string(key), "\x00") == "" {
		t.Errorf("the key is %q", key)
	}
	if got, want := namesIn(t, dir), "key lock"; got != want {
		t.Errorf("the directory holds %s, want %s", got, want)
	}
	other, err := CreateKey(context.Background(), t.TempDir(), "")
	if err != nil || other.Signer() == k.Signer() {
		t.Errorf("another directory's key signs as %s, %v", other.Signer(), err)
	}
}

func TestKeyFromText(t *testing.T) {
	const secret = "0123456789abcdef"
	dir := t.TempDir()
	k, err := CreateKey(context.Background(), dir, secret)
	if err != nil || !k.Exists() || !isSigner(k.Signer()) {
		t.Fatalf("CreateKey = %+v, %v", k, err)
	}
	if got := namesIn(t, dir); got != "" {
		t.Errorf("a key from a text made %s", got)
	}
	same, err := OpenKey("", " "+secret+"\n")
	if err != nil || same.Signer() != k.Signer() {
		t.Errorf("the same text signs as %s, want %s; %v", same.Signer(), k.Signer(), err)
	}
	// The file's bytes and the text are two keys, even if they are the same.
	long := strings.Repeat("k", 32)
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := OpenKey(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := OpenKey(dir, long)
	if err != nil || text.Signer() == file.Signer() {
		t.Errorf("text and file sign as %s, %v", text.Signer(), err)
	}
	for _, c := range []struct{ secret, want string }{
		{"0123456789abcde", "MWP_TRUST_KEY: expected at least 16 bytes, found 15 without the blanks around them"},
		{strings.Repeat(" \t\n", 10), "MWP_TRUST_KEY: expected at least 16 bytes, found 0 without the blanks around them"},
		{"x" + strings.Repeat(" ", 30), "MWP_TRUST_KEY: expected at least 16 bytes, found 1 without the blanks around them"},
	} {
		_, err := OpenKey(dir, c.secret)
		var f *state.FileError
		if !errors.Is(err, ErrKey) || !errors.As(err, &f) || f.Message != c.want || f.Hint == "" {
			t.Errorf("OpenKey(%q) = %v", c.secret, err)
		}
	}
	if _, err := CreateKey(context.Background(), "", ""); !errors.Is(err, state.ErrUnwritable) {
		t.Errorf("CreateKey without a place = %v", err)
	}
	if k, err := OpenKey("", ""); err != nil || k.Exists() {
		t.Errorf("OpenKey without a place = %+v, %v", k, err)
	}
}

// TestPurposes: what the key signs for one purpose says nothing for another, and the id
// is none of it.
func TestPurposes(t *testing.T) {
	k := textKey(t, "ann")
	a, b := k.records.Sum(nil).String(), k.decisions.Sum(nil).String()
	if a == b || strings.HasPrefix(a, k.Signer()) || strings.HasPrefix(b, k.Signer()) {
		t.Errorf("codes %s and %s, id %s", a, b, k.Signer())
	}
}

package mwp

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// archiveSecret and another are what two teams have in MWP_TRUST_KEY.
const (
	archiveSecret = "the secret of one team, long enough"
	anotherSecret = "the secret of another, long enough"
)

// checkout is a workspace of a small project in a directory of its own.
type checkout struct {
	dir string
	*Workspace
}

// newCheckout writes the project that all checkouts are of. Its files are an hour old for
// whoever asks.
func newCheckout(t *testing.T, secret string) *checkout {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkout")
	write(t, filepath.Join(dir, ".mwp", "config.toml"), "description = \"d\"\n")
	write(t, filepath.Join(dir, "a", ".mwp-context.md"), "---\nimports:\n  - local: ./rules.md\n---\n# A\n\nRules of a.\n")
	write(t, filepath.Join(dir, "a", "rules.md"), strings.Repeat("A long rule.\n", 100))
	write(t, filepath.Join(dir, "b", "c", ".mwp-context.md"), "# C\n\nRules of c.\n")
	c := &checkout{dir: dir}
	c.Workspace = Open(Options{
		Dir: dir, Now: func() time.Time { return time.Now().Add(time.Hour) }, Guards: GuardOptions{TrustKey: secret},
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// ask asks everything that a CI run asks, and keeps it.
func (c *checkout) ask(t *testing.T) (text []string, stats eval.Stats, served int) {
	t.Helper()
	ctx := context.Background()
	for _, ask := range []func() (*Result, error){
		func() (*Result, error) { return c.Lint(ctx, LintRequest{}) },
		func() (*Result, error) { return c.Targets(ctx, TargetsRequest{}) },
		func() (*Result, error) { return c.Map(ctx, Request{NoRoot: true}) },
		func() (*Result, error) {
			return c.Map(ctx, Request{Target: filepath.Join(c.dir, "a", "x.go"), NoRoot: true})
		},
		func() (*Result, error) {
			return c.Map(ctx, Request{Target: filepath.Join(c.dir, "b", "c", "y.go"), NoRoot: true})
		},
	} {
		r, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Record(); err != nil {
			t.Fatal(err)
		}
		text = append(text, string(r.Text))
		stats.Hits += r.Stats.Hits
		stats.Computed += r.Stats.Computed
		if r.Served {
			served++
		}
	}
	return text, stats, served
}

func (c *checkout) export(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	a, err := c.ExportCache(context.Background(), &b)
	if err != nil {
		t.Fatal(err)
	}
	if a.Bytes != int64(b.Len()) || a.Ignored != nil {
		t.Errorf("ExportCache says %+v of %d bytes", a, b.Len())
	}
	return b.Bytes()
}

func (c *checkout) take(t *testing.T, b []byte, anybody bool) *CacheArchive {
	t.Helper()
	a, err := c.ImportCache(context.Background(), bytes.NewReader(b), anybody)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestArchiveServesAnotherCheckout: with an archive, a fresh checkout of the same files at
// another path computes nothing and answers with the same bytes.
func TestArchiveServesAnotherCheckout(t *testing.T) {
	t.Parallel()
	first := newCheckout(t, archiveSecret)
	want, stats, _ := first.ask(t)
	if stats.Computed == 0 {
		t.Fatal("the first run computed nothing")
	}
	b := first.export(t)
	for _, secret := range []string{first.dir, filepath.Base(filepath.Dir(first.dir)), archiveSecret} {
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("the archive holds %q", secret)
		}
	}

	second := newCheckout(t, archiveSecret)
	if a := second.take(t, b, false); a.Ignored != nil || a.Slots != 5 || a.Records == 0 || a.Signer == "" {
		t.Fatalf("ImportCache = %+v", a)
	}
	got, stats, served := second.ask(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-first +second):\n%s", diff)
	}
	if stats.Computed != 0 || served != 5 {
		t.Errorf("%d nodes were computed, %d of 5 answers served", stats.Computed, served)
	}

	// Without the slots, the records alone do.
	third := newCheckout(t, archiveSecret)
	third.take(t, b, false)
	if err := os.RemoveAll(filepath.Join(third.dir, ".mwp", "cache", CacheFormat, "slots")); err != nil {
		t.Fatal(err)
	}
	if _, stats, _ := third.ask(t); stats.Computed != 0 || stats.Hits == 0 {
		t.Errorf("without slots %d nodes were computed, %d recalled", stats.Computed, stats.Hits)
	}

	// What the second knows makes the same archive: nothing of a machine is in it.
	if again := second.export(t); !bytes.Equal(again, b) {
		t.Errorf("exported again, the archive has %d bytes and differs from the first of %d", len(again), len(b))
	}
	before := sizeOf(t, second)
	if second.take(t, b, false); sizeOf(t, second) != before {
		t.Error("importing what is there made the cache larger")
	}
}

func sizeOf(t *testing.T, c *checkout) int64 {
	t.Helper()
	cache, err := c.Cache(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s, err := cache.Status()
	if err != nil {
		t.Fatal(err)
	}
	return s.Size
}

// TestArchiveHoldsWhatIsReached: what no file of the workspace leads to any more is left
// behind, and what was never asked for is made.
func TestArchiveHoldsWhatIsReached(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, archiveSecret)
	c.ask(t)
	before := c.export(t)
	for i := range 5 {
		write(t, filepath.Join(c.dir, "b", "c", ".mwp-context.md"), "# C\n\nRules of c, changed "+strings.Repeat("again ", i+1)+"\n")
		c.ask(t)
	}
	write(t, filepath.Join(c.dir, "b", "c", ".mwp-context.md"), "# C\n\nRules of c.\n")
	c.ask(t)
	if after := c.export(t); !bytes.Equal(entries(t, after), entries(t, before)) {
		t.Error("the archive of the same files is another one after edits and back")
	}

	// An answer that does not hold any more is none.
	write(t, filepath.Join(c.dir, "b", "c", ".mwp-context.md"), "# C\n\nRules of c, changed.\n")
	a := newCheckout(t, archiveSecret).take(t, c.export(t), false)
	if a.Slots != 2 {
		t.Errorf("after an edit %d answers are exported; only those of the root and of a hold", a.Slots)
	}

	// An answer under the key that another version of the program gave it is out of reach.
	c.ask(t)
	slots := cas.OpenArea(filepath.Join(c.dir, ".mwp", "cache"), nil).Slots()
	for _, k := range slots.Recent(100) {
		payload, err := slots.Read(k)
		if err != nil {
			t.Fatal(err)
		}
		if slot, err := eval.DecodeSlot(payload); err != nil || len(slot.Edges) == 0 {
			continue
		}
		if err := slots.Write(cas.Key(cas.Sum(k[:])), payload); err != nil {
			t.Fatal(err)
		}
	}
	if a := newCheckout(t, archiveSecret).take(t, c.export(t), false); a.Slots != 5 {
		t.Errorf("%d answers are exported, want 5", a.Slots)
	}

	fresh := newCheckout(t, archiveSecret)
	b := fresh.export(t)
	second := newCheckout(t, archiveSecret)
	second.take(t, b, false)
	for _, ask := range []func() (*Result, error){
		func() (*Result, error) { return second.Lint(context.Background(), LintRequest{}) },
		func() (*Result, error) { return second.Targets(context.Background(), TargetsRequest{}) },
	} {
		if r, err := ask(); err != nil || r.Stats.Computed != 0 {
			t.Errorf("after an export from an empty cache: %v, %d computed", err, r.Stats.Computed)
		}
	}
}

// TestArchiveLeavesResultsBehind: what came of a guard on this machine, and all that says
// so, goes nowhere by an archive (D-117); a guard that nobody ran is no result.
func TestArchiveLeavesResultsBehind(t *testing.T) {
	t.Parallel()
	guarded := func() *checkout {
		c := newCheckout(t, archiveSecret)
		write(t, filepath.Join(c.dir, "a", ".mwp-context.md"), "---\nguards:\n  - cmd: ./secret-check.sh\n---\n# A\n\nRules of a.\n")
		write(t, filepath.Join(c.dir, "a", "secret-check.sh"), "#!/bin/sh\nexit 1\n")
		write(t, filepath.Join(c.dir, ".mwp", "config.toml"), "description = \"d\"\n[trust]\nallowed_guards = [\"./secret-check.sh\"]\n")
		if err := os.Chmod(filepath.Join(c.dir, "a", "secret-check.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := guarded()
	c.ask(t)
	if a := guarded().take(t, c.export(t), false); a.Slots != 5 {
		t.Errorf("before a run %d answers are exported, want 5", a.Slots)
	}
	if r, err := c.Verify(context.Background(), VerifyRequest{}); err != nil || len(r.Report.Guards) != 1 || r.Report.Guards[0].Status != ir.FailedCheck {
		t.Fatalf("Verify = %+v, %v; want one failed guard", r, err)
	}
	before, _, _ := c.ask(t)
	if !strings.Contains(strings.Join(before, ""), "failed") {
		t.Fatal("no answer says that the guard failed")
	}
	b := c.export(t)
	other := guarded()
	if a := other.take(t, b, false); a.Ignored != nil {
		t.Errorf("after a run: %+v", a)
	}
	archive, err := cas.OpenArchive(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Each(func(e cas.Entry) error {
		if bytes.Contains(e.Payload, []byte("failed")) || bytes.Contains(e.Payload, []byte("exited")) {
			t.Errorf("an entry of kind %d says what came of the guard", e.Kind)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	got, _, served := other.ask(t)
	if strings.Contains(strings.Join(got, ""), "\"failed\"") {
		t.Error("another checkout knows the result")
	}
	// The run also left a file of discoveries here, which the maps of the root look for.
	if served == 0 {
		t.Error("nothing of the archive is of use")
	}
}

// entries are the parts in an archive; answers carry the time at which they were made.
func entries(t *testing.T, b []byte) []byte {
	t.Helper()
	a, err := cas.OpenArchive(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	if err := a.Each(func(e cas.Entry) error {
		if out = append(out, e.ID[:]...); e.Kind != cas.SlotEntry {
			out = append(out, e.Payload...)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestArchiveIgnored: whatever is wrong with an archive, nothing of it is kept, and the
// run goes on as without it.
func TestArchiveIgnored(t *testing.T) {
	t.Parallel()
	first := newCheckout(t, archiveSecret)
	want, _, _ := first.ask(t)
	good := first.export(t)
	nobodys := newCheckout(t, "")
	nobodys.ask(t)
	unsigned := nobodys.export(t)
	changed := bytes.Clone(good)
	changed[len(changed)/2] ^= 4
	code := bytes.Clone(good)
	code[len(code)-1] ^= 4

	for _, tt := range []struct {
		name, secret string
		archive      []byte
		anybody      bool
		reason       error
	}{
		{"cut off", archiveSecret, good[:len(good)-7], true, cas.ErrNoArchive},
		{"a bit changed", archiveSecret, changed, true, cas.ErrNoArchive},
		{"empty", archiveSecret, nil, true, cas.ErrNoArchive},
		{"another signer's", anotherSecret, good, false, ErrUnsigned},
		{"signed, and no key here", "", good, false, ErrUnsigned},
		{"nobody's", archiveSecret, unsigned, false, ErrUnsigned},
		{"nobody's, and no key here", "", unsigned, false, ErrUnsigned},
		{"the code changed", archiveSecret, code, false, ErrUnsigned},
		{"forged with the signer's name", archiveSecret, forged(t, good, poison), false, ErrUnsigned},
		{"with another machine's time stamps", archiveSecret, forged(t, good, stamped), true, cas.ErrNoArchive},
		{"with a slot that is none", archiveSecret, forged(t, good, func(s *eval.Slot) []byte { return []byte("slot") }), true, cas.ErrNoArchive},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCheckout(t, tt.secret)
			a := c.take(t, tt.archive, tt.anybody)
			if !errors.Is(a.Ignored, tt.reason) || a.Records+a.Slots > 0 {
				t.Errorf("ImportCache = %+v, want %v", a, tt.reason)
			}
			if n := sizeOf(t, c); n != 0 {
				t.Errorf("the cache has %d bytes", n)
			}
			got, stats, _ := c.ask(t)
			if diff := cmp.Diff(want, got); diff != "" || stats.Computed == 0 {
				t.Errorf("%d computed, answers (-want +got):\n%s", stats.Computed, diff)
			}
		})
	}
	for _, tt := range []struct {
		name    string
		secret  string
		archive []byte
	}{{"another signer's", anotherSecret, good}, {"nobody's", "", unsigned}} {
		if a := newCheckout(t, tt.secret).take(t, tt.archive, true); a.Ignored != nil || a.Slots == 0 {
			t.Errorf("%s, for somebody who takes anybody's: %+v", tt.name, a)
		}
	}
}

// forged returns an archive with every slot replaced, a hash that fits and the seal of
// the original.
func forged(t *testing.T, b []byte, replace func(*eval.Slot) []byte) []byte {
	t.Helper()
	a, err := cas.OpenArchive(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := cas.NewArchiveWriter(&out)
	if err := a.Each(func(e cas.Entry) error {
		if e.Kind == cas.SlotEntry {
			s, err := eval.DecodeSlot(e.Payload)
			if err != nil {
				return err
			}
			e.Payload = replace(s)
		}
		return w.Add(e)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(func(cas.Digest) cas.Seal { return a.Seal }); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func poison(s *eval.Slot) []byte {
	s.Result = []byte("Obey.")
	return eval.EncodeSlot(s)
}

func stamped(s *eval.Slot) []byte {
	s.Leaves[0].Trusted = true
	return eval.EncodeSlot(s)
}

// TestArchiveKeepsWhatThisMachineKnows: a slot that is there is not replaced by one that
// knows no time stamps.
func TestArchiveKeepsWhatThisMachineKnows(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, archiveSecret)
	c.ask(t)
	b := c.export(t)
	c.take(t, b, false)
	r, err := c.Map(context.Background(), Request{Target: filepath.Join(c.dir, "a", "x.go")})
	if err != nil || !r.Served || r.World.FilesRead.Load() != 0 {
		t.Errorf("served %v, %d files read, %v", r.Served, r.World.FilesRead.Load(), err)
	}
}

// TestArchiveWithoutPlace: where nothing is kept, an export says so and an import goes on.
func TestArchiveWithoutPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o777); err != nil {
		t.Fatal(err)
	}
	ws := Open(Options{Dir: dir})
	var env *EnvironmentError
	if _, err := ws.ExportCache(context.Background(), &bytes.Buffer{}); !errors.As(err, &env) {
		t.Errorf("ExportCache without an anchor: %v", err)
	}
	a, err := ws.ImportCache(context.Background(), strings.NewReader("x"), true)
	if err != nil || a.Ignored == nil {
		t.Errorf("ImportCache without an anchor: %+v, %v", a, err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("something was made: %v", names)
	}

	c := newCheckout(t, archiveSecret)
	c.ask(t)
	b := c.export(t)
	blocked := newCheckout(t, archiveSecret)
	write(t, filepath.Join(blocked.dir, ".mwp", "cache"), "no directory")
	if a := blocked.take(t, b, false); !errors.Is(a.Ignored, cas.ErrLink) {
		t.Errorf("ImportCache into what is no directory: %+v", a)
	}
}

// Command mwp-release makes the archives that a release consists of: for each platform
// one with both programs, the man page, completions and licences, and a file with their
// digests. The same sources and the same Go version give the same bytes, wherever and
// whenever it runs.
//
// It is not part of a release itself. It runs the programs go and git, and of what it
// builds only `mwp help man` and `mwp completion`. It may not talk to a network.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit status: 0 for archives that are written, 1 when they could not be
// made or differ, 2 for a command line that makes no sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r := release{ctx: ctx, stderr: stderr}
	fs := flag.NewFlagSet("mwp-release", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&r.version, "version", "", "version of the release (default: the tag of the commit that is checked out)")
	fs.StringVar(&r.source, "source", ".", "root of the sources")
	out := fs.String("o", "dist", "directory for the archives; what a release wrote there before is replaced")
	only := fs.String("only", "", "platforms, such as linux/amd64,windows/arm64 (default: all)")
	check := fs.Bool("check", false, "build everything twice, in two directories with two build caches, and compare; keep nothing")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	var err error
	if r.platforms, err = platformsNamed(*only); err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("expected no arguments, got %q", fs.Args())
	}
	if err != nil {
		fmt.Fprintf(stderr, "mwp-release: %v\n", err)
		return 2
	}
	if err = r.identify(); err == nil && *check {
		err = r.check(stdout)
	} else if err == nil {
		err = r.write(*out, stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "mwp-release: %v\n", err)
		return 1
	}
	return 0
}

// write makes the archives in a directory and lists them.
func (r *release) write(dir string, stdout io.Writer) error {
	sums, err := r.build(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s%s\n", sums, filepath.Join(dir, sumsFile))
	return nil
}

// check builds twice and compares the digests.
func (r *release) check(stdout io.Writer) error {
	tmp, err := os.MkdirTemp("", "mwp-release-")
	if err != nil {
		return err
	}
	// Caches of go are write-protected nowhere, but the module's may be.
	defer os.RemoveAll(tmp)
	var sums [2]string
	for i := range sums {
		// Another length too, so that no path can hide in padding.
		home := filepath.Join(tmp, strings.Repeat("again", i)+"built")
		again := *r
		again.source, again.cache = filepath.Join(home, "source"), filepath.Join(home, "cache")
		if err := copyTree(again.source, r.source); err != nil {
			return err
		}
		if sums[i], err = again.build(filepath.Join(home, "dist")); err != nil {
			return err
		}
	}
	if sums[0] != sums[1] {
		return fmt.Errorf("two builds differ:\n%s\n%s", sums[0], sums[1])
	}
	fmt.Fprintf(stdout, "%stwo builds, the same bytes\n", sums[0])
	return nil
}

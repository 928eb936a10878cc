package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func (a *app) runLint() error {
	paths, err := a.pathsAndStdin(true)
	if err != nil {
		return err
	}
	if a.diff != "" {
		return a.lintDiff(paths)
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	// No paths where some were asked for means that nothing relevant changed.
	if (a.fromStdin || a.fromStdin0) && len(paths) == 0 {
		return nil
	}
	profile := a.profile
	if profile == "none" {
		profile = ""
	}
	q := mwp.LintRequest{
		Paths: paths, Format: a.reportFormat, Profile: profile, AllowFloating: a.floating, Fetch: a.fetch, Quiet: a.quiet,
		Version: buildVersion().version,
	}
	q.Color = a.reportFormat == mwp.ReportText && a.output == "" && a.colors(a.stdout)
	stop := a.working("looking at the workspace")
	r, err := ws.Lint(a.ctx, q)
	stop()
	if err != nil {
		return a.cause(err)
	}
	if err := a.deliver(r.Text, r); err != nil {
		return err
	}
	if a.maxWarnings.Set && r.Warnings > a.maxWarnings.Value {
		// Without this line nobody would know what the exit status is about.
		a.report(ir.Diagnostic{
			Code: codeTooMany, Severity: ir.SeverityError,
			Message: "warnings: " + strconv.Itoa(r.Warnings) + " found, and --max-warnings allows " + strconv.Itoa(a.maxWarnings.Value),
			Hint:    "run `mwp lint` to see them all",
		})
		return errNegative
	}
	if r.Findings > 0 {
		return errNegative
	}
	return nil
}

// pathsAndStdin returns the arguments, and what stdin lists when that was asked for
// (U-12). With present, what is typed has to be there.
func (a *app) pathsAndStdin(present bool) ([]string, error) {
	paths := a.words
	if a.fromStdin && a.fromStdin0 {
		return nil, misspelt("give one of them", "--stdin and --stdin0 contradict each other")
	}
	if a.fromStdin || a.fromStdin0 {
		more, err := readPaths(a.stdin, a.fromStdin0)
		if err != nil {
			return nil, failed(err, "read the paths from stdin")
		}
		paths = append(paths, more...)
	}
	dir, err := a.dir()
	if err != nil {
		return nil, err
	}
	for i, p := range paths {
		if p == "" {
			return nil, usage("", "a path is empty")
		}
		// A list may name what a change deleted; whoever types a name means something.
		if present && i < len(a.words) {
			if err := lookedAt(dir, p); err != nil {
				return nil, err
			}
		}
	}
	return paths, nil
}

// lookedAt refuses a path, relative to dir, that leads to nothing.
func lookedAt(dir, p string) error {
	file := p
	if !filepath.IsAbs(p) {
		file = filepath.Join(dir, p)
	}
	if _, err := os.Lstat(file); err != nil {
		return usage("name files or directories of the workspace, or nothing for all of it", "cannot look at %s: %v", p, mwp.Innermost(err))
	}
	return nil
}

// maxStdin bounds what is read of paths; a list that is longer means everything.
const maxStdin = 64 << 20

func readPaths(r io.Reader, nul bool) ([]string, error) {
	end := byte('\n')
	if nul {
		end = 0
	}
	var paths []string
	in := bufio.NewScanner(io.LimitReader(r, maxStdin))
	in.Buffer(make([]byte, 64<<10), 1<<20)
	in.Split(func(data []byte, eof bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, end); i >= 0 {
			return i + 1, data[:i], nil
		}
		if eof && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	for in.Scan() {
		p := in.Text()
		if !nul {
			p = strings.TrimSuffix(p, "\r")
		}
		if p != "" {
			paths = append(paths, p)
		}
	}
	return paths, in.Err()
}

func (a *app) runTargets() error {
	target, err := a.target()
	if err != nil {
		return err
	}
	ws, err := a.workspace()
	if err != nil {
		return err
	}
	q := mwp.TargetsRequest{Under: target, JSON: a.json, AllowFloating: a.floating, Limit: a.limit, Cursor: a.cursor}
	q.Color = !a.json && a.colors(a.stdout)
	stop := a.working("looking at the workspace")
	r, err := ws.Targets(a.ctx, q)
	stop()
	if err != nil {
		return a.cause(err)
	}
	return a.deliver(r.Text, r)
}

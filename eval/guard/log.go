package guard

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// LogSuffix ends the name of every log.
	LogSuffix = ".log"
	// KeptLogs is how many logs a directory keeps.
	KeptLogs = 200
	// logTempSuffix ends the name of a log that is being written.
	logTempSuffix = ".log-tmp"
	// abandoned is how old such a file is when its writer has died.
	abandoned = time.Hour
)

// Log is what a log says about a run (D-48).
type Log struct {
	// Command is the command as a person would type it, Dir where it ran.
	Command, Dir string
	Outcome      Outcome
}

// WriteLog writes a log to a directory, which it makes, for the user alone, if it is
// missing. A log of the same name is replaced as a whole. The name is a plain file
// name that ends in LogSuffix. The output is written as it is: what shows a log to a
// person has to escape it.
//
// Of all logs in the directory the KeptLogs newest are kept. The directory has to be
// outside every workspace, and no link; nothing is written through one.
func WriteLog(dir, name string, l Log) error {
	if err := writeLog(dir, name, l); err != nil {
		return fmt.Errorf("write a guard's log: %w", err)
	}
	return nil
}

func writeLog(dir, name string, l Log) error {
	if !strings.HasSuffix(name, LogSuffix) {
		return fmt.Errorf("expected a name that ends in %s, found %q", LogSuffix, name)
	}
	if err := checkName(strings.TrimSuffix(name, LogSuffix)); err != nil {
		return err
	}
	if err := makePrivate(dir); err != nil {
		return err
	}
	// A root, so that nobody who renames directories sends the file elsewhere.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := replaceLog(root, name, l.header(), l.Outcome.Output); err != nil {
		return err
	}
	return trimLogs(root, name)
}

// checkName refuses what is not a plain file name on every system.
func checkName(name string) error {
	const maxName = 200
	for i, c := range name {
		if c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && (i == 0 || !strings.ContainsRune("-_.", c)) {
			return fmt.Errorf("expected letters, digits, '-', '_' and '.' in a name, found %q", name)
		}
	}
	if name == "" || len(name) > maxName {
		return fmt.Errorf("expected a name of 1 to %d bytes, found %d", maxName, len(name))
	}
	return nil
}

// makePrivate makes a directory that only the user can look into.
func makePrivate(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "write to", Path: dir, Err: errors.New("not a directory of its own")}
	}
	// What Windows has in the place of modes is inherited from the user's directory.
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// replaceLog writes a file whole, or leaves what was there.
func replaceLog(root *os.Root, name string, parts ...[]byte) (err error) {
	temp := strings.TrimSuffix(name, LogSuffix) + "." + strconv.Itoa(os.Getpid()) + logTempSuffix
	// What a process of the same number has left.
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			root.Remove(temp)
		}
	}()
	for _, p := range parts {
		if _, err := f.Write(p); err != nil {
			f.Close()
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return root.Rename(temp, name)
}

// trimLogs removes old logs, but not the one that was just written, and what writers
// that died have left.
func trimLogs(root *os.Root, written string) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	type file struct {
		name string
		time time.Time
	}
	var logs []file
	for _, e := range entries {
		// Another process may have removed it.
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || e.Name() == written {
			continue
		}
		switch {
		case strings.HasSuffix(e.Name(), LogSuffix):
			logs = append(logs, file{e.Name(), info.ModTime()})
		case strings.HasSuffix(e.Name(), logTempSuffix) && time.Since(info.ModTime()) > abandoned:
			root.Remove(e.Name())
		}
	}
	slices.SortFunc(logs, func(a, b file) int {
		return cmp.Or(b.time.Compare(a.time), cmp.Compare(a.name, b.name))
	})
	for _, l := range logs[min(KeptLogs-1, len(logs)):] {
		if err := root.Remove(l.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// header says what was run and what came of it, one line each, and ends with an empty
// line.
func (l Log) header() []byte {
	o := &l.Outcome
	var b bytes.Buffer
	line := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, onLine(value)) }
	line("command", l.Command)
	line("directory", l.Dir)
	if !o.Started.IsZero() {
		const form = "2006-01-02T15:04:05.000Z"
		line("started", o.Started.UTC().Format(form))
		line("ended", o.Started.Add(o.Duration).UTC().Format(form))
	}
	line("status", o.Status.String())
	if o.Exit != nil {
		line("exit", strconv.Itoa(*o.Exit))
	}
	if o.Reason != "" {
		line("reason", o.Reason+": "+o.Detail)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// onLine quotes what would not be one line of plain text.
func onLine(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return strconv.Quote(s)
	}
	return s
}

package ir

import "strconv"

// Statuses of a guard and of the entry that it stands for (R-139, D-47).
const (
	Passed      = "passed"
	FailedCheck = "failed"
	Stale       = "stale"
	Unverified  = "unverified"
)

// Reasons behind a status. A failed run has one when it has no exit status, a
// static guard when it fails, a stale or unverified guard always.
const (
	// ReasonExpired and ReasonFilesChanged make a passed guard stale (D-46), ReasonEarly
	// one whose run is dated in the future.
	ReasonExpired      = "expired"
	ReasonFilesChanged = "files_changed"
	ReasonEarly        = "dated_ahead"
	// ReasonUnreadable makes it stale because a file that it rests on cannot be read.
	ReasonUnreadable = "unreadable"
	// ReasonNeverRun is a guard without a record, ReasonForeign one whose record was
	// not signed with this user's key (D-44).
	ReasonNeverRun = "never_run"
	ReasonForeign  = "foreign_record"
	// ReasonNotTrusted, ReasonNotFound and ReasonNotExecutable are guards that verify
	// did not or could not run (D-86, D-87).
	ReasonNotTrusted    = "not_trusted"
	ReasonNotFound      = "not_found"
	ReasonNotExecutable = "not_executable"
	// ReasonTimeout and ReasonSignal are runs without an exit status.
	ReasonTimeout = "timeout"
	ReasonSignal  = "signal"
	// ReasonAbsent, ReasonTextAbsent, ReasonScriptAbsent and ReasonOutside are what a
	// static guard found (D-113): no such path, no such text in the file, no such
	// script, a path that leaves the root.
	ReasonAbsent       = "absent"
	ReasonTextAbsent   = "text_absent"
	ReasonScriptAbsent = "script_absent"
	ReasonOutside      = "outside_root"
	// ReasonTooLarge is a file that a static guard would have to read and that is larger
	// than any map reads (D-102).
	ReasonTooLarge = "too_large"
)

// Guard is one check attached to an entry, as the map shows it.
type Guard struct {
	// Key is that of the Verification with the result.
	Key string `json:"key"`
	// Name is what a guard line calls it, Cmd the whole command or static check (D-97).
	Name   string `json:"name"`
	Cmd    string `json:"cmd"`
	Status string `json:"status"`
}

// Verification is what is known of one guard of the map: the last recorded run
// or why there is none.
type Verification struct {
	Guard       string `json:"guard"`
	Status      string `json:"status"`
	ExitCode    *int   `json:"exit_code"`
	DurationMS  int64  `json:"duration_ms"`
	RanAt       string `json:"ran_at"`
	CacheUntil  string `json:"cache_until"`
	Fingerprint string `json:"fingerprint"`
	// Key is "blake3:" and the guard's key (D-44).
	Key string `json:"key"`
	// Cwd is the directory that the guard runs in, relative to the root (D-85).
	Cwd string `json:"cwd"`
	// DeclaredIn is the path:line of the declaration that comes first in the map.
	DeclaredIn string `json:"declared_in"`
	// Name is the author's label for the guard, "" for none (D-97).
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Expired and FilesChanged tell of a failed guard that it was not run since (D-47).
	Expired      bool      `json:"expired"`
	FilesChanged bool      `json:"files_changed"`
	Override     *Override `json:"override"`
}

// Outcome says how a guard failed, to follow its command: "exited 101".
func Outcome(v *Verification) string {
	switch v.Reason {
	case ReasonTimeout:
		return "ran past its time limit"
	case ReasonSignal:
		return "was ended by a signal"
	case ReasonAbsent:
		return "finds no such path"
	case ReasonTextAbsent:
		return "finds no such text"
	case ReasonScriptAbsent:
		return "finds no such script"
	case ReasonOutside:
		return "leads out of the workspace"
	case ReasonUnreadable:
		return "names a file that cannot be read"
	case ReasonTooLarge:
		return "names a file that is too large to look at"
	}
	if v.ExitCode == nil {
		return "failed"
	}
	return "exited " + strconv.Itoa(*v.ExitCode)
}

// Override is a person's decision to work on while a guard fails (D-84).
type Override struct {
	Reason string `json:"reason"`
	Until  string `json:"until"`
}

// GuardAccount is what explain says of a guard beside its Verification: everything
// that decides whether it runs and when its result stops counting.
type GuardAccount struct {
	Key string
	// Trust is builtin, project or ad-hoc, or "static" for a guard that runs nothing;
	// Why is a sentence (D-41, D-42).
	Trust, Why string
	// Runs is what would be started, quoted for a shell; "" for a static guard.
	Runs string
	// Declared is every path:line that declares it.
	Declared []string
	// Inputs are the paths behind the fingerprint, as far as they are named; Whole is
	// set when all source files below Cwd count, which only verify looks at (D-46).
	Inputs []string
	Whole  bool
	// CacheFor and Timeout are durations as people write them.
	CacheFor, Timeout string
	// Log is the absolute path of the last run's output, "" when there is none here.
	Log    string
	Owners []string
}

// VerifyReport is the outcome of verify (R-130, D-43).
type VerifyReport struct {
	// Targets are relative to the root, nil for the whole workspace.
	Targets []string
	Guards  []VerifiedGuard
	// Problems are errors behind which there may be guards that nobody knows of.
	Problems []Diagnostic
	// Notes are lines about the run as a whole: how many guards were left alone because
	// they are current or nothing they rest on changed.
	Notes []string
}

// VerifiedGuard is one line of the report.
type VerifiedGuard struct {
	Verification
	// Ran is set when it ran just now, as opposed to a result that still counts.
	Ran bool
	// Trust and Why as in GuardAccount.
	Trust, Why string
	// Sources are the entries that it stands for.
	Sources []string
	Owners  []string
	// Log is the absolute path of the run's output, "" when nothing was written.
	Log string
	// Detail says in a sentence why there is no exit status, "" when there is one.
	Detail string
	// Hint is the next command to type, "" when there is none.
	Hint string
}

// Count returns how many guards of the report have each status.
func (r *VerifyReport) Count() (passed, failed, unverified int) {
	for i := range r.Guards {
		switch r.Guards[i].Status {
		case Passed:
			passed++
		case FailedCheck:
			failed++
		default:
			unverified++
		}
	}
	return passed, failed, unverified
}

// OK reports whether a gate may open: everything passed, or there was nothing to
// check (D-72), and nothing hides a guard. What a person overrides does not keep it
// shut (D-84).
func (r *VerifyReport) OK() bool {
	if len(r.Problems) > 0 {
		return false
	}
	for i := range r.Guards {
		if g := &r.Guards[i]; g.Status != Passed && g.Override == nil {
			return false
		}
	}
	return true
}

package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// options are the flags' values.
type options struct {
	root, cacheDir, color string
	ascii, quiet          bool
	verbose               int

	json, fresh, verifyCache bool
	overrides                mwp.Overrides
	window                   mwp.OptionalInt

	format                         mwp.Format
	strict, noRoot, annotate, each bool
	output, session                string
	full, unsigned                 bool
	olderThan                      time.Duration

	why                      string
	notLoaded                bool
	member, dryRun, withBase bool
	clients                  []string
	undo                     bool

	offline, floating, insecure  bool
	graph                        mwp.GraphFormat
	all                          bool
	reportFormat                 mwp.ReportFormat
	maxWarnings                  mwp.OptionalInt
	diff, profile, cursor        string
	fetch, fromStdin, fromStdin0 bool
	limit                        int
	check, frozen, update        bool
	remote                       string

	staged, stale, list, trustAdHoc, noDiscoveries, yes bool
	affected, hook, override, reason                    string
	verifyFormat                                        string
	lasting                                             time.Duration
	jobs                                                int
	verifyMap, relativeTimes, strictGuards              bool

	logFile                      string
	instructions, trustWorkspace bool
	// now is the clock that results of guards are dated and judged by, zero for the
	// system's.
	now time.Time
}

// setter returns what takes a flag's value and answers with what is wrong with it,
// "" when nothing is. It is nil for flags that were dealt with before.
func (o *options) setter(spec *flagSpec) func(string) string {
	switch spec {
	case &flagRoot:
		return path(&o.root)
	case &flagCacheDir:
		return path(&o.cacheDir)
	case &flagColor:
		return func(s string) string {
			if s != "auto" && s != "always" && s != "never" {
				return oneOf(s, colorNames())
			}
			o.color = s
			return ""
		}
	case &flagASCII:
		return toggle(&o.ascii)
	case &flagQuiet:
		return toggle(&o.quiet)
	case &flagVerbose:
		return o.setVerbose
	case &flagJSON:
		return toggle(&o.json)
	case &flagFresh:
		return toggle(&o.fresh)
	case &flagVerify:
		return toggle(&o.verifyCache)
	case &flagBudget:
		return o.setBudgets
	case &flagWindow:
		return func(s string) string {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 {
				return quoted(s) + " is no number of levels: write 0 or more"
			}
			o.window = mwp.OptionalInt{Set: true, Value: n}
			return ""
		}
	case &flagTokens:
		return func(s string) string {
			for _, n := range mwp.CounterNames() {
				if n == s {
					o.overrides.Counter = s
					return ""
				}
			}
			return oneOf(s, mwp.CounterNames())
		}
	case &flagRender:
		return func(s string) string {
			var ok bool
			if o.format, ok = mwp.FormatByName(s); !ok {
				return oneOf(s, formatNames())
			}
			return ""
		}
	case &flagStrict, &flagImportOnly:
		return toggle(&o.strict)
	case &flagUnsigned:
		return toggle(&o.unsigned)
	case &flagNoRoot:
		return toggle(&o.noRoot)
	case &flagAnnotate:
		return toggle(&o.annotate)
	case &flagEach:
		return toggle(&o.each)
	case &flagOutput:
		return path(&o.output)
	case &flagSession:
		return func(s string) string {
			if reason := mwp.BadSessionID(s); reason != "" {
				return quoted(s) + " is no session id: " + reason
			}
			o.session = s
			return ""
		}
	case &flagFull:
		return toggle(&o.full)
	case &flagOlderThan:
		return func(s string) string {
			d, err := mwp.ParseDuration(s)
			if err != nil || d <= 0 {
				return quoted(s) + " is no age: write 12h, 7d or 2w"
			}
			o.olderThan = d
			return ""
		}
	case &flagWhy:
		return path(&o.why)
	case &flagNotLoaded:
		return toggle(&o.notLoaded)
	case &flagMember:
		return toggle(&o.member)
	case &flagDryRun:
		return toggle(&o.dryRun)
	case &flagWithBase:
		return toggle(&o.withBase)
	case &flagClient:
		return o.addClients
	case &flagUndo:
		return toggle(&o.undo)
	}
	return o.moduleSetter(spec)
}

// moduleSetter is setter for the flags of modules and of the whole workspace.
func (o *options) moduleSetter(spec *flagSpec) func(string) string {
	switch spec {
	case &flagOffline:
		return toggle(&o.offline)
	case &flagFloating:
		return toggle(&o.floating)
	case &flagInsecure:
		return toggle(&o.insecure)
	case &flagAll:
		return toggle(&o.all)
	case &flagFetch:
		return toggle(&o.fetch)
	case &flagStdin:
		return toggle(&o.fromStdin)
	case &flagStdin0:
		return toggle(&o.fromStdin0)
	case &flagCheck:
		return toggle(&o.check)
	case &flagFrozen:
		return toggle(&o.frozen)
	case &flagUpdate:
		return toggle(&o.update)
	case &flagGraph:
		return func(s string) string {
			var ok bool
			if o.graph, ok = mwp.GraphByName(s); !ok {
				return oneOf(s, mwp.GraphNames())
			}
			return ""
		}
	case &flagLintFormat:
		return func(s string) string {
			var ok bool
			if o.reportFormat, ok = mwp.ReportByName(s); !ok {
				return oneOf(s, mwp.ReportNames())
			}
			return ""
		}
	case &flagProfile:
		return func(s string) string {
			for _, n := range mwp.Profiles() {
				if n == s {
					o.profile = s
					return ""
				}
			}
			return oneOf(s, mwp.Profiles())
		}
	case &flagWarnings:
		return func(s string) string {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 {
				return quoted(s) + " is no number of warnings: write 0 or more"
			}
			o.maxWarnings = mwp.OptionalInt{Set: true, Value: n}
			return ""
		}
	case &flagLimit:
		return func(s string) string {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 {
				return quoted(s) + " is no number of rows: write 1 or more"
			}
			o.limit = n
			return ""
		}
	case &flagDiff:
		return words(&o.diff)
	case &flagCursor:
		return words(&o.cursor)
	case &flagRemote:
		return words(&o.remote)
	}
	return o.guardSetter(spec)
}

// guardSetter is setter for the flags of guards.
func (o *options) guardSetter(spec *flagSpec) func(string) string {
	switch spec {
	case &flagStaged:
		return toggle(&o.staged)
	case &flagStale:
		return toggle(&o.stale)
	case &flagList:
		return toggle(&o.list)
	case &flagTrustAdHoc:
		return toggle(&o.trustAdHoc)
	case &flagNoDiscoveries:
		return toggle(&o.noDiscoveries)
	case &flagYes:
		return toggle(&o.yes)
	case &flagMapVerify:
		return toggle(&o.verifyMap)
	case &flagRelative:
		return toggle(&o.relativeTimes)
	case &flagStrictGuards:
		return toggle(&o.strictGuards)
	case &flagLog:
		return path(&o.logFile)
	case &flagInstructions:
		return toggle(&o.instructions)
	case &flagTrustWorkspace:
		return toggle(&o.trustWorkspace)
	case &flagAffected:
		return words(&o.affected)
	case &flagOverride:
		return words(&o.override)
	case &flagReason:
		return words(&o.reason)
	case &flagHook:
		return among(&o.hook, hookNames)
	case &flagVerifyFormat:
		return among(&o.verifyFormat, verifyFormats)
	case &flagFor:
		return func(s string) string {
			d, err := mwp.ParseDuration(s)
			if err != nil || d <= 0 || d > longestOverride {
				return quoted(s) + " is no time for an override: write 30m, 4h or 1d, and at most 30d"
			}
			o.lasting = d
			return ""
		}
	case &flagJobs:
		return func(s string) string {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 {
				return quoted(s) + " is no number of guards: write 1 or more"
			}
			o.jobs = n
			return ""
		}
	case &flagNow:
		return func(s string) string {
			var ok bool
			if o.now, ok = moment(s); !ok {
				return quoted(s) + " is no moment: write 2026-05-17T10:42:00Z, or seconds since 1970"
			}
			return ""
		}
	}
	return nil
}

// longestOverride bounds how long a failure may be overridden at once: what is longer
// is a change of the rule.
const longestOverride = 30 * 24 * time.Hour

// among takes one of some words.
func among(p *string, names func() []string) func(string) string {
	return func(s string) string {
		for _, n := range names() {
			if n == s {
				*p = s
				return ""
			}
		}
		return oneOf(s, names())
	}
}

// moment reads a point in time.
func moment(s string) (time.Time, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 && n < 1<<35 {
		return time.Unix(n, 0).UTC(), true
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(form, s); err == nil && t.Year() >= 1970 && t.Year() < 2200 {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// words takes any text that is not empty.
func words(p *string) func(string) string {
	return func(s string) string {
		if s == "" {
			return "the value is empty"
		}
		*p = s
		return ""
	}
}

func toggle(p *bool) func(string) string {
	return func(s string) string {
		b, err := strconv.ParseBool(s)
		if err != nil {
			return quoted(s) + " is neither true nor false"
		}
		*p = b
		return ""
	}
}

func path(p *string) func(string) string {
	return func(s string) string {
		switch {
		case s == "":
			return "the path is empty"
		case strings.ContainsRune(s, 0):
			return "the path holds a NUL byte"
		}
		*p = s
		return ""
	}
}

// oneOf explains that s is none of the names.
func oneOf(s string, names []string) string {
	text := "unknown value " + quoted(s) + ", expected " + strings.Join(names, ", ")
	if n := mwp.Suggest(s, names); n != "" {
		text += "; did you mean " + n + "?"
	}
	return text
}

// setVerbose adds levels: -v -v is -vv.
func (o *options) setVerbose(s string) string {
	n := 0
	switch s {
	case "true":
		n = 1
	case "false":
		o.verbose = 0
	default:
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 0 || n > 2 {
			return quoted(s) + " is no level: write 0, 1 or 2"
		}
	}
	o.verbose = min(o.verbose+n, 2)
	return ""
}

// setBudgets takes "l3=4000", "L4=none", or several with commas, as a variable
// has to hold them.
func (o *options) setBudgets(s string) string {
	for part := range strings.SplitSeq(s, ",") {
		name, limit, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return quoted(part) + " is no budget: write a layer and its cap, l3=4000"
		}
		layer := -1
		for i := range ir.LayerCount {
			if strings.EqualFold(name, ir.LayerName(i)) {
				layer = i
			}
		}
		if layer < 0 {
			return quoted(name) + " is no layer: write l0 to l4"
		}
		override := mwp.CapOverride{Set: true}
		if !strings.EqualFold(limit, "none") {
			n, err := strconv.ParseUint(limit, 10, 31)
			if err != nil || n == 0 {
				return quoted(limit) + " is no cap for " + strings.ToLower(name) + ": write a positive number of tokens, or none"
			}
			override.Cap = mwp.Cap{Limited: true, Tokens: int(n)}
		}
		o.overrides.Caps[layer] = override
	}
	return ""
}

// wantsJSON reports whether the command's output is JSON; then its errors are too.
func (a *app) wantsJSON() bool {
	switch a.command {
	case nil:
		return false
	case &cmdMap:
		return a.format == mwp.JSON
	case &cmdVerify:
		return a.verifyFormat == verifyJSON
	case &cmdLint:
		return a.reportFormat == mwp.ReportJSON || a.reportFormat == mwp.ReportSARIF
	}
	return a.json || a.saidJSON
}

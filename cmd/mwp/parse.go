package main

import (
	"cmp"
	"flag"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/peterbourgon/ff/v3"
)

// invocation is a command line taken apart. Go's flag package stops at the first
// argument that is no flag, and the flags of mwp stand anywhere (D-70), so they
// are sorted out here and handed to it under their own names, in order.
type invocation struct {
	command *command // nil for help without one
	words   []string
	flags   []givenFlag
	// dirs are the values of -C.
	dirs          []string
	help, version bool
	// saidJSON is set when the command line itself asks for JSON.
	saidJSON bool
}

// givenFlag is a flag of the command line.
type givenFlag struct {
	spec *flagSpec
	// as is the flag as it was typed, without the value.
	as, value string
}

// usageSpelling marks a mistake in the command line itself, as opposed to a
// question that has no answer: its report is text unless JSON was asked for.
type usageSpelling struct{ error }

func (u *usageSpelling) Unwrap() error { return u.error }

func misspelt(hint, format string, args ...any) error {
	return &usageSpelling{usage(hint, format, args...)}
}

// parse takes a command line apart. What it returns with an error is as far as it
// came.
func parse(args []string) (*invocation, error) {
	v := &invocation{}
	var mistake error
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			for _, w := range args[i+1:] {
				if err := v.word(w); err != nil {
					return v, cmp.Or(mistake, err)
				}
			}
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			if err := v.word(arg); err != nil {
				// What follows an unknown flag may be its value.
				return v, cmp.Or(mistake, err)
			}
			continue
		}
		as, value, hasValue := strings.Cut(arg, "=")
		name := strings.TrimPrefix(as[1:], "-")
		spec := flagNamed(v.command, name)
		if spec == nil {
			if mistake == nil {
				mistake = v.unknownFlag(as, name)
			}
			continue
		}
		switch {
		case hasValue:
		case spec.arg == "":
			value = "true"
		case i+1 < len(args):
			i++
			value = args[i]
		default:
			if mistake == nil {
				what := as + " " + spec.arg
				if spec.values != nil {
					what += ", one of " + strings.Join(spec.values(), ", ")
				}
				mistake = misspelt(v.seeHelp(), "%s needs a value: %s", as, what)
			}
			continue
		}
		if err := v.flag(spec, as, value); err != nil && mistake == nil {
			mistake = err
		}
	}
	if v.help {
		return v, nil
	}
	if v.version {
		v.command, v.words = &cmdVersion, nil
		v.flags = slices.DeleteFunc(v.flags, func(g givenFlag) bool { return flagNamed(&cmdVersion, g.spec.name) != g.spec })
	}
	if mistake == nil && v.command == nil {
		// mwp alone is a question for help.
		v.help = true
	}
	return v, mistake
}

// word takes a command or an argument.
func (v *invocation) word(w string) error {
	if v.command != nil {
		v.words = append(v.words, w)
		return nil
	}
	if v.command = commandNamed(w); v.command == nil {
		return unknownCommand(w)
	}
	return nil
}

// containing returns the only name that a word is a part of, "" when it is of none or many.
func containing(w string, names []string) string {
	found := ""
	for _, n := range names {
		if len(w) > 2 && strings.Contains(n, w) {
			if found != "" {
				return ""
			}
			found = n
		}
	}
	return found
}

func unknownCommand(w string) error {
	names := make([]string, 0, len(commands))
	for _, c := range commands {
		names = append(names, c.name)
	}
	hint := "see `mwp help` for the commands"
	if slices.Contains(cmdHelp.choices, w) {
		hint = "mwp help " + w
	} else if s := containing(w, names); s != "" {
		hint = "did you mean " + s + "?"
	} else if s := mwp.Suggest(w, names); s != "" {
		hint = "did you mean " + s + "?"
	} else if looksLikePath(w) {
		hint = "mwp map " + w
	}
	return misspelt(hint, "unknown command %s", quoted(w))
}

// looksLikePath reports whether somebody may have left out "map" (U-10).
func looksLikePath(w string) bool {
	if strings.ContainsAny(w, `/\.`) {
		return true
	}
	_, err := os.Lstat(w)
	return err == nil
}

func (v *invocation) seeHelp() string {
	if v.command == nil {
		return "see `mwp help`"
	}
	return "see `mwp help " + v.command.name + "`"
}

func (v *invocation) unknownFlag(as, name string) error {
	var known []string
	add := func(fs []*flagSpec) {
		for _, f := range fs {
			known = append(known, f.name)
			known = append(known, f.spellings...)
		}
	}
	add(globalFlags[:])
	if v.command != nil {
		add(v.command.flags)
		for _, c := range commands {
			for _, f := range c.flags {
				if f.is(name) {
					return misspelt("see `mwp help "+c.name+"` and `mwp help "+v.command.name+"`", "%s is a flag of %s, not of %s", as, c.name, v.command.name)
				}
			}
		}
	} else {
		for _, c := range commands {
			for _, f := range c.flags {
				if f.is(name) {
					return misspelt("write it after the command: mwp "+c.name+" "+as, "%s is a flag of a command and stands before any", as)
				}
			}
		}
	}
	hint := v.seeHelp()
	if s := mwp.Suggest(name, known); s != "" {
		hint = "did you mean " + dashed(s) + "?"
	}
	return misspelt(hint, "unknown flag %s", quoted(as))
}

func dashed(name string) string {
	if len(name) <= 2 {
		return "-" + name
	}
	return "--" + name
}

// flag takes a flag.
func (v *invocation) flag(spec *flagSpec, as, value string) error {
	switch spec {
	case &flagDir:
		if value == "" {
			return misspelt(v.seeHelp(), "-C needs a directory")
		}
		v.dirs = append(v.dirs, value)
		return nil
	case &flagHelp, &flagVersion:
		on, err := strconv.ParseBool(value)
		if err != nil {
			return misspelt(v.seeHelp(), "%s takes no value, got %s", as, quoted(value))
		}
		if on && spec == &flagHelp {
			v.help = true
		}
		if on && spec == &flagVersion {
			v.version = true
			if v.command == nil {
				v.command = &cmdVersion
			}
		}
		return nil
	case &flagVerbose:
		if as == "-vv" && value == "true" {
			value = "2"
		}
	}
	if spec.name == "json" || spec.means == "render=json" || value == "json" && (spec == &flagRender || spec == &flagFormat || spec == &flagLintFormat || spec == &flagVerifyFormat) {
		v.saidJSON = value != "false"
	}
	if target, fixed, ok := strings.Cut(spec.means, "="); ok {
		if on, err := strconv.ParseBool(value); err != nil {
			return misspelt(v.seeHelp(), "%s takes no value, got %s", as, quoted(value))
		} else if !on {
			return nil
		}
		spec, value = flagNamed(v.command, target), fixed
	} else if spec.means != "" {
		spec = flagNamed(v.command, spec.means)
	}
	if spec == &flagRender || spec == &flagLintFormat || spec == &flagVerifyFormat {
		for _, g := range v.flags {
			if g.spec == spec && g.as != as && !sameFormat(g.value, value) {
				return misspelt("give one of them", "%s %s and %s %s contradict each other", g.as, quoted(g.value), as, quoted(value))
			}
		}
	}
	v.flags = append(v.flags, givenFlag{spec, as, value})
	return nil
}

func sameFormat(a, b string) bool {
	x, okA := mwp.FormatByName(a)
	y, okB := mwp.FormatByName(b)
	return okA && okB && x == y || a == b
}

// gave returns the flag as it was typed, "" when it was not.
func (v *invocation) gave(spec *flagSpec) string {
	for _, g := range v.flags {
		if g.spec == spec {
			return g.as
		}
	}
	return ""
}

// readOptions fills the options from flags and environment, in this order of
// precedence; the configuration comes after both and is read where it is needed.
func (a *app) readOptions() error {
	fs := flag.NewFlagSet("mwp", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	var wrong error
	define := func(specs []*flagSpec) {
		for _, spec := range specs {
			set := a.options.setter(spec)
			if set == nil || spec.noVariable && a.gave(spec) == "" {
				continue
			}
			fs.Var(value(func(s string) error {
				reason := set(s)
				if reason == "" {
					return nil
				}
				if wrong == nil {
					as := a.gave(spec)
					if as == "" {
						as = variable(spec)
					}
					wrong = misspelt(a.seeHelp(), "%s: %s", as, reason)
				}
				return wrong
			}), spec.name, "")
		}
	}
	define(globalFlags[:])
	define(a.command.flags)
	args := make([]string, len(a.flags))
	for i, g := range a.flags {
		args[i] = "--" + g.spec.name + "=" + g.value
	}
	err := ff.Parse(fs, args, ff.WithEnvVarPrefix("MWP"))
	if wrong != nil {
		return wrong
	}
	if err != nil || a.quiet || a.verbose > 0 {
		return err
	}
	switch level := a.env("MWP_LOG"); level {
	case "", "warn":
	case "error":
		a.quiet = true
	case "info":
		a.verbose = 1
	case "debug":
		a.verbose = 2
	default:
		return misspelt("see `mwp help environment`", "MWP_LOG: %s", oneOf(level, []string{"error", "warn", "info", "debug"}))
	}
	return nil
}

// variable returns the name of the environment variable that stands for a flag.
func variable(spec *flagSpec) string {
	return "MWP_" + strings.ToUpper(strings.ReplaceAll(spec.name, "-", "_"))
}

// value is a flag.Value made of its setter.
type value func(string) error

func (v value) Set(s string) error { return v(s) }
func (value) String() string       { return "" }

// quoted shows a word from the command line.
func quoted(s string) string { return strconv.Quote(s) }

// arguments says how many there may be.
func arguments(n int) string {
	switch n {
	case 0:
		return "no argument"
	case 1:
		return "one argument"
	}
	return "at most " + strconv.Itoa(n) + " arguments"
}

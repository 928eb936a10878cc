package command

import (
	"path"
	"slices"
	"strings"
)

// Script returns the path, as it is written, of the script that a command names, ""
// if it names none. An approval binds the digest of its content (D-42), and lint
// reports one that is missing (D-79).
//
// That is the first word when it holds a slash, or the file that the first word
// reads when it is an interpreter, by its bare name or an absolute path: sh, bash and
// other shells, python, node, tsx, deno run, bun, ruby, perl, php, make -f. env and
// assignments in front are skipped. Of a command for the shell, the words in front of
// the first shell syntax are looked at.
//
// Not seen are: what a script reads or starts in turn; further scripts of one command
// ("./a.sh && ./b.sh", "node -r ./hook.js x.js", "make -f a.mk -f b.mk"); programs
// that are searched for, whatever the PATH finds; code in the command itself (sh -c);
// modules (python -m) and directories of them; scripts of package.json, a Makefile or
// another file that a tool finds for itself; files named without an extension to
// node, deno and bun, which try several; other launchers (sudo, xargs, time, npx);
// anything behind cd, make -C or env -C, where a relative path is another one.
func Script(c Command) string {
	if c.Invalid != "" {
		return ""
	}
	words := c.Words
	if c.Shell {
		for _, w := range scan(c.Text).before() {
			if len(words) > 0 || !assigns(w.value[:w.bare]) {
				words = append(words, w.value)
			}
		}
	}
	for len(words) > 0 && programName(words[0]) == "env" {
		words = behindEnv(words[1:])
	}
	if len(words) == 0 {
		return ""
	}
	if i := interpreterNamed(programName(words[0])); i != nil {
		return i.file(words[1:])
	}
	if strings.Contains(words[0], "/") && !strings.HasSuffix(words[0], "/") {
		return words[0]
	}
	return ""
}

// programName returns a bare name, or the last element of an absolute path, "" for a
// path within the workspace: what stands there is a script, whatever its name.
func programName(w string) string {
	if path.IsAbs(w) {
		return path.Base(w)
	}
	if strings.Contains(w, "/") {
		return ""
	}
	return w
}

// behindEnv returns the command that env starts, nil when its options are not
// understood.
func behindEnv(words []string) []string {
	for i, w := range words {
		switch {
		case w == "-i" || w == "-" || w == "--ignore-environment" || assigns(w):
		case strings.HasPrefix(w, "-"):
			return nil
		default:
			return words[i:]
		}
	}
	return nil
}

// interpreter says how a program is told which file to run. Lists are separated by
// blanks.
type interpreter struct {
	names string
	// sub is a word that has to follow the name, or may follow it where it ends in ?.
	sub string
	// inline are the option letters that make the program run something other than a
	// file, or in another directory; valued those that take a value, attached or as
	// the next word; attached those that take the rest of their word; script those whose
	// value is the script.
	inline, valued, attached, script string
	// The same for whole words.
	longInline, longValued, longScript string
	// extension is set where only a name with an extension is a file for certain,
	// named where words that are no options name something else than a file.
	extension, named bool
	// plus is set where options may begin with + as well.
	plus bool
}

var interpreters = [...]interpreter{
	{names: "sh bash zsh dash ash ksh mksh yash", inline: "cs", valued: "oO", plus: true, longValued: "--rcfile --init-file"},
	{names: "python pypy", inline: "cm", valued: "WX", longValued: "--check-hash-based-pycs"},
	{names: "node nodejs tsx ts-node", inline: "ep", valued: "rC", extension: true, longInline: "--eval --print --run",
		longValued: "--require --import --loader --experimental-loader --conditions --env-file --tsconfig --project"},
	{names: "deno", sub: "run", valued: "c", extension: true,
		longValued: "--config --import-map --lock --cert --seed --location --env-file"},
	{names: "bun", sub: "run?", inline: "ep", valued: "rcd", extension: true, longInline: "--eval --print --cwd",
		longValued: "--preload --config --define --env-file --filter"},
	{names: "ruby", inline: "eSCX", valued: "rIE", attached: "0FKTWix", longValued: "--encoding --external-encoding --internal-encoding"},
	{names: "perl", inline: "eES", valued: "I", attached: "0CDFMVdilmx"},
	{names: "php", inline: "rRBESa", valued: "cdzt", script: "fF", longInline: "--run --server --interactive"},
	{names: "make gmake", inline: "C", valued: "IoW", attached: "jlO", script: "f", named: true, longInline: "--directory --eval",
		longValued: "--include-dir --old-file --assume-old --what-if --new-file --assume-new", longScript: "--file --makefile"},
}

// interpreterNamed knows names with a version, such as python3.12.
func interpreterNamed(name string) *interpreter {
	name = strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.")
	for i := range interpreters {
		if has(interpreters[i].names, name) {
			return &interpreters[i]
		}
	}
	return nil
}

func has(list, w string) bool { return slices.Contains(strings.Fields(list), w) }

// file returns the script among the arguments of an interpreter.
func (in *interpreter) file(args []string) string {
	sub, optional := strings.CutSuffix(in.sub, "?")
	if sub != "" && len(args) > 0 && args[0] == sub {
		args = args[1:]
	} else if sub != "" && !optional {
		return ""
	}
	found := ""
	for len(args) > 0 {
		w := args[0]
		args = args[1:]
		switch {
		case !in.isOption(w) && in.named:
			continue
		case w == "--" && !in.named:
			return in.path(args)
		case !in.isOption(w):
			return in.path([]string{w})
		}
		o := in.option(w)
		if o.inline {
			return ""
		}
		if o.next && len(args) > 0 {
			o.value, args = args[0], args[1:]
		}
		if o.script && found == "" {
			found = o.value
		}
		// What follows the script of php is the script's own; make reads on.
		if found != "" && !in.named {
			break
		}
	}
	return found
}

func (in *interpreter) isOption(w string) bool {
	return len(w) > 1 && (w[0] == '-' || w[0] == '+' && in.plus)
}

// path returns the first of the words if it is a file for certain.
func (in *interpreter) path(words []string) string {
	if len(words) == 0 || words[0] == "-" || strings.Contains(words[0], "://") || in.extension && len(path.Ext(words[0])) < 2 {
		return ""
	}
	return words[0]
}

// option is what a word that begins with - means. next is set when its value is the
// next word.
type option struct {
	inline, script, next bool
	value                string
}

func (in *interpreter) option(w string) option {
	if strings.HasPrefix(w, "--") {
		name, value, ok := strings.Cut(w, "=")
		script := has(in.longScript, name)
		return option{inline: has(in.longInline, name), script: script, next: !ok && (script || has(in.longValued, name)), value: value}
	}
	for i := 1; i < len(w); i++ {
		letter := w[i : i+1]
		switch {
		case strings.Contains(in.inline, letter):
			return option{inline: true}
		case strings.Contains(in.valued, letter) || strings.Contains(in.script, letter):
			return option{script: strings.Contains(in.script, letter), next: i+1 == len(w), value: w[i+1:]}
		case strings.Contains(in.attached, letter):
			return option{}
		}
	}
	return option{}
}

package main

import "strings"

func (a *app) runCompletion() error {
	if len(a.words) == 0 {
		return misspelt("see `mwp help completion`", "completion needs a shell: %s", strings.Join(shellChoices, ", "))
	}
	switch a.words[0] {
	case "bash":
		return a.print([]byte(bashCompletion()))
	case "zsh":
		return a.print([]byte(zshCompletion()))
	case "fish":
		return a.print([]byte(fishCompletion()))
	case "powershell":
		return a.print([]byte(powershellCompletion()))
	}
	return misspelt("see `mwp help completion`", "completion: %s", oneOf(a.words[0], shellChoices))
}

// typed returns all spellings of a flag with their dashes.
func (f *flagSpec) typed() []string {
	var all []string
	for _, name := range append([]string{f.name}, f.spellings...) {
		all = append(all, dashed(name))
	}
	return all
}

// allFlags returns the flags after a command, nil being none.
func allFlags(c *command) []*flagSpec {
	fs := globalFlags[:]
	if c != nil {
		fs = append(append([]*flagSpec(nil), c.flags...), fs...)
	}
	return fs
}

// typedFlags returns the spellings of flags, all or those that keep says.
func typedFlags(fs []*flagSpec, keep func(*flagSpec) bool) []string {
	var all []string
	for _, f := range fs {
		if keep == nil || keep(f) {
			all = append(all, f.typed()...)
		}
	}
	return all
}

func commandNames() []string {
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	return names
}

// completed is a flag whose value can be completed.
type completed struct {
	command *command // nil for flags of every command
	flag    *flagSpec
}

func completedFlags() []completed {
	var all []completed
	add := func(c *command, fs []*flagSpec) {
		for _, f := range fs {
			if f.values != nil || f.files || f.dirs || f == &flagSession {
				all = append(all, completed{c, f})
			}
		}
	}
	add(nil, globalFlags[:])
	for _, c := range commands {
		add(c, c.flags)
	}
	return all
}

// patterns returns shell patterns for "command flag", for case statements.
func (c completed) patterns(quote func(string) string) string {
	var ps []string
	for _, t := range c.flag.typed() {
		if c.command == nil {
			ps = append(ps, "*"+quote(" "+t))
			continue
		}
		ps = append(ps, quote(c.command.name+" "+t))
		if c.command.alias != "" {
			ps = append(ps, quote(c.command.alias+" "+t))
		}
	}
	return strings.Join(ps, "|")
}

func takesValue(f *flagSpec) bool { return f.arg != "" }

// valueFlags are the spellings of every flag that takes a value, which the scripts
// step over when they look for the command.
func valueFlags() []string {
	seen := map[string]bool{}
	var all []string
	add := func(fs []*flagSpec) {
		for _, t := range typedFlags(fs, takesValue) {
			if !seen[t] {
				seen[t] = true
				all = append(all, t)
			}
		}
	}
	add(globalFlags[:])
	for _, c := range commands {
		add(c.flags)
	}
	return all
}

func doubleQuoted(s string) string { return `"` + s + `"` }

// sessionIDs is a shell command that prints the ids of the workspace's sessions, which
// have no blanks in them (BadSessionID).
const sessionIDs = `mwp sessions list --quiet 2>/dev/null | sed '1d;s/ .*//'`

// names returns the command's name and its other one, with something between.
func (c *command) names(between string) string {
	if c.alias == "" {
		return c.name
	}
	return c.name + between + c.alias
}

// flagCases writes the lines of a case statement that offers the flags of each command.
func flagCases(b *strings.Builder, before, after string) {
	line := func(pattern string, c *command) {
		b.WriteString("    (" + pattern + ") " + before + strings.Join(typedFlags(allFlags(c), nil), " ") + after + " ;;\n")
	}
	line(`""`, nil)
	for _, c := range commands {
		line(c.names("|"), c)
	}
}

// wordCases writes the lines of a case statement, over the command and its first
// argument, that offers what can follow: commands, choices, sessions and, where other
// says how, what else the command takes.
func wordCases(b *strings.Builder, before, after, sessions string, noPaths string) {
	b.WriteString(`    (" ") ` + before + strings.Join(commandNames(), " ") + after + " ;;\n")
	for _, c := range commands {
		if c.choices != nil {
			b.WriteString(`    ("` + c.name + ` ") ` + before + strings.Join(c.choices, " ") + after + " ;;\n")
		}
	}
	b.WriteString(`    ("` + cmdSessions.name + ` inspect"|"` + cmdSessions.name + ` rm") ` + sessions + " ;;\n")
	for _, c := range commands {
		if !c.takesPaths() {
			b.WriteString(`    ("` + c.name + ` "*) ` + noPaths + " ;;\n")
		}
	}
}

// takesPaths reports whether an argument of the command can be a path.
func (c *command) takesPaths() bool {
	return !c.noPaths && (c.choices == nil || c.words != 1)
}

func bashCompletion() string {
	var b strings.Builder
	// mapfile and compopt are missing in bash 3.2, which macOS has.
	b.WriteString(`# bash completion for mwp. Load it with: source <(mwp completion bash)
_mwp_offer() {
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$@" -- "$cur")
}
_mwp_paths() { type compopt >/dev/null 2>&1 && compopt -o filenames; _mwp_offer "$@"; }
_mwp_no_paths() { type compopt >/dev/null 2>&1 && compopt +o default +o bashdefault; }
_mwp() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" cmd="" arg="" i
  COMPREPLY=()
  # "=" is a word of its own to bash.
  if [[ "$cur" == "=" ]]; then
    cur=""
  elif [[ "$prev" == "=" ]]; then
    prev="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
      ` + strings.Join(valueFlags(), "|") + `)
        [[ "${COMP_WORDS[i+1]}" == "=" ]] && ((i++))
        ((i++)) ;;
      -*) ;;
      *) if [[ -z "$cmd" ]]; then cmd="${COMP_WORDS[i]}"; elif [[ -z "$arg" ]]; then arg="${COMP_WORDS[i]}"; fi ;;
    esac
  done
  case "$cmd $prev" in
`)
	for _, c := range completedFlags() {
		b.WriteString("    " + c.patterns(doubleQuoted) + ") ")
		switch {
		case c.flag == &flagSession:
			b.WriteString(`_mwp_offer -W "$(` + sessionIDs + `)"`)
		case c.flag.values != nil:
			b.WriteString(`_mwp_offer -W "` + strings.Join(c.flag.values(), " ") + `"`)
		case c.flag.dirs:
			b.WriteString("_mwp_paths -d")
		default:
			b.WriteString("_mwp_paths -f")
		}
		b.WriteString("; return ;;\n")
	}
	b.WriteString(`  esac
  if [[ "$cur" == -* ]]; then
    case "$cmd" in
`)
	flagCases(&b, `_mwp_offer -W "`, `"`)
	b.WriteString(`    esac
    return
  fi
  # Without a word to offer, bash completes paths.
  case "$cmd $arg" in
`)
	wordCases(&b, `_mwp_offer -W "`, `"`, `_mwp_no_paths; _mwp_offer -W "$(`+sessionIDs+`)"`, "_mwp_no_paths")
	b.WriteString(`  esac
}
complete -o bashdefault -o default -F _mwp mwp
`)
	return b.String()
}

func zshCompletion() string {
	var b strings.Builder
	b.WriteString(`#compdef mwp
# zsh completion for mwp. Save it as _mwp in a directory of $fpath, or load it
# with: source <(mwp completion zsh)
_mwp() {
  local cmd="" arg="" i
  for ((i = 2; i < CURRENT; i++)); do
    case "${words[i]}" in
      (` + strings.Join(valueFlags(), "|") + `) ((i++)) ;;
      (-*) ;;
      (*) if [[ -z "$cmd" ]]; then cmd="${words[i]}"; elif [[ -z "$arg" ]]; then arg="${words[i]}"; fi ;;
    esac
  done
  local prev="${words[CURRENT-1]}"
  if [[ "${words[CURRENT]}" == --*=* ]]; then
    prev="${words[CURRENT]%%=*}"
    compset -P '*='
  fi
  case "$cmd $prev" in
`)
	for _, c := range completedFlags() {
		b.WriteString("    (" + c.patterns(doubleQuoted) + ") ")
		switch {
		case c.flag == &flagSession:
			b.WriteString("compadd -- ${(f)\"$(" + sessionIDs + ")\"}")
		case c.flag.values != nil:
			b.WriteString("compadd -- " + strings.Join(c.flag.values(), " "))
		case c.flag.dirs:
			b.WriteString("_files -/")
		default:
			b.WriteString("_files")
		}
		b.WriteString("; return ;;\n")
	}
	b.WriteString(`  esac
  if [[ "${words[CURRENT]}" == -* ]]; then
    case "$cmd" in
`)
	flagCases(&b, "compadd -- ", "")
	b.WriteString(`    esac
    return
  fi
  case "$cmd $arg" in
`)
	wordCases(&b, "compadd -- ", "", "compadd -- ${(f)\"$("+sessionIDs+")\"}", "")
	b.WriteString(`    (*) _files ;;
  esac
}
if [[ "$funcstack[1]" == _mwp ]]; then
  _mwp "$@"
else
  compdef _mwp mwp
fi
`)
	return b.String()
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }

func fishCompletion() string {
	var b strings.Builder
	b.WriteString(`# fish completion for mwp. Save it as ~/.config/fish/completions/mwp.fish
# __mwp_words prints the command and its arguments, without flags and their values.
function __mwp_words
  set -l skip 0
  for word in (commandline -opc)[2..-1]
    if test $skip = 1
      set skip 0
    else if contains -- $word ` + strings.Join(valueFlags(), " ") + `
      set skip 1
    else if not string match -q -- '-*' $word
      printf '%s\n' $word
    end
  end
end
# __mwp_begin reports whether the command is next.
function __mwp_begin
  set -l words (__mwp_words)
  test (count $words) = 0
end
# __mwp_in reports whether these are the command, or the command and its first argument.
function __mwp_in
  set -l words (__mwp_words)
  contains -- "$words[1]" $argv; or contains -- "$words[1] $words[2]" $argv
end
# __mwp_before reports whether the first argument of one of these commands is next.
function __mwp_before
  set -l words (__mwp_words)
  test (count $words) = 1; and contains -- $words[1] $argv
end
`)
	for _, f := range globalFlags {
		fishFlag(&b, "", f)
	}
	for _, c := range commands {
		b.WriteString("complete -c mwp -n __mwp_begin -f -a " + c.name + " -d " + singleQuoted(c.summary) + "\n")
	}
	for _, c := range commands {
		condition := " -n " + singleQuoted("__mwp_in "+c.names(" "))
		for _, f := range c.flags {
			fishFlag(&b, condition, f)
		}
		if !c.takesPaths() {
			b.WriteString("complete -c mwp" + condition + " -f\n")
		}
		if c.choices != nil {
			b.WriteString("complete -c mwp -n " + singleQuoted("__mwp_before "+c.name) + " -f -a " + singleQuoted(strings.Join(c.choices, " ")) + "\n")
		}
	}
	b.WriteString(`complete -c mwp -n '__mwp_in "` + cmdSessions.name + ` inspect" "` + cmdSessions.name + ` rm"' -f -a "(` + sessionIDs + `)"` + "\n")
	return b.String()
}

// fishFlag writes the line of one flag.
func fishFlag(b *strings.Builder, condition string, f *flagSpec) {
	b.WriteString("complete -c mwp" + condition)
	for _, name := range append([]string{f.name}, f.spellings...) {
		switch {
		case len(name) == 1:
			b.WriteString(" -s " + name)
		case len(name) == 2:
			b.WriteString(" -o " + name)
		default:
			b.WriteString(" -l " + name)
		}
	}
	switch {
	case f == &flagSession:
		b.WriteString(` -x -a "(` + sessionIDs + `)"`)
	case f.values != nil:
		b.WriteString(" -x -a " + singleQuoted(strings.Join(f.values(), " ")))
	case f.dirs:
		b.WriteString(" -x -a '(__fish_complete_directories)'")
	case f.files:
		b.WriteString(" -r -F")
	case f.arg != "":
		b.WriteString(" -x")
	}
	b.WriteString(" -d " + singleQuoted(f.help) + "\n")
}

func powershellCompletion() string {
	list := func(ss []string) string {
		quoted := make([]string, len(ss))
		for i, s := range ss {
			quoted[i] = "'" + s + "'"
		}
		return "@(" + strings.Join(quoted, ", ") + ")"
	}
	var b strings.Builder
	b.WriteString(`# PowerShell completion for mwp. Load it with:
#   mwp completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName mwp -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $takesValue = ` + list(valueFlags()) + `
  $values = @{
`)
	for _, c := range completedFlags() {
		if c.flag.values == nil {
			continue
		}
		for _, t := range c.flag.typed() {
			name := ""
			if c.command != nil {
				name = c.command.name + " "
			}
			b.WriteString("    '" + name + t + "' = " + list(c.flag.values()) + "\n")
		}
	}
	b.WriteString("  }\n  $flags = @{\n    '' = " + list(typedFlags(allFlags(nil), nil)) + "\n")
	for _, c := range commands {
		b.WriteString("    '" + c.name + "' = " + list(typedFlags(allFlags(c), nil)) + "\n")
	}
	b.WriteString("  }\n  $words = @{\n    '' = " + list(commandNames()) + "\n")
	for _, c := range commands {
		if c.choices != nil {
			b.WriteString("    '" + c.name + "' = " + list(c.choices) + "\n")
		}
	}
	b.WriteString(`  }
  $command = ''
  $argument = ''
  $previous = ''
  $skip = $false
  foreach ($element in $commandAst.CommandElements | Select-Object -Skip 1) {
    $text = $element.Extent.Text
    if ($element.Extent.EndOffset -ge $cursorPosition -and $text -eq $wordToComplete) { break }
    if ($skip) { $skip = $false }
    elseif ($takesValue -ccontains $text) { $skip = $true }
    elseif ($text -like '-*') { }
    elseif ($command -eq '') { $command = $text }
    elseif ($argument -eq '') { $argument = $text }
    $previous = $text
  }
  if ($command -eq 'collect') { $command = 'map' }
  $offers = @()
  if ($values.ContainsKey("$command $previous")) { $offers = $values["$command $previous"] }
  elseif ($values.ContainsKey($previous)) { $offers = $values[$previous] }
  elseif ($wordToComplete -like '-*') { $offers = $flags[$command] }
  elseif ($argument -eq '') { $offers = $words[$command] }
  elseif ($command -eq '` + cmdSessions.name + `' -and @('inspect', 'rm') -ccontains $argument) {
    $offers = @(mwp sessions list --quiet 2>$null | Select-Object -Skip 1 | ForEach-Object { ($_ -split ' ')[0] })
  }
  # Without an offer, PowerShell completes paths.
  $offers | Where-Object { $_ -clike "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`)
	return b.String()
}

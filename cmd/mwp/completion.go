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

// completed describes one flag whose value can be completed.
type completed struct {
	command *command // nil for flags of every command
	flag    *flagSpec
}

func completedFlags() []completed {
	var all []completed
	add := func(c *command, fs []*flagSpec) {
		for _, f := range fs {
			if f.values != nil || f.files || f.dirs {
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

func bashCompletion() string {
	var b strings.Builder
	b.WriteString(`# bash completion for mwp. Load it with: source <(mwp completion bash)
_mwp() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" cmd="" i
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
      *) cmd="${COMP_WORDS[i]}"; break ;;
    esac
  done
  case "$cmd $prev" in
`)
	for _, c := range completedFlags() {
		b.WriteString("    " + c.patterns(doubleQuoted) + ")\n      ")
		switch {
		case c.flag.values != nil:
			b.WriteString(`mapfile -t COMPREPLY < <(compgen -W "` + strings.Join(c.flag.values(), " ") + `" -- "$cur")`)
		case c.flag.dirs:
			b.WriteString(`compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur")`)
		default:
			b.WriteString(`compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")`)
		}
		b.WriteString("\n      return ;;\n")
	}
	b.WriteString(`  esac
  local flags="" words=""
  case "$cmd" in
    "") flags="` + strings.Join(typedFlags(allFlags(nil), nil), " ") + `"; words="` + strings.Join(commandNames(), " ") + "\" ;;\n")
	for _, c := range commands {
		name := c.name
		if c.alias != "" {
			name += "|" + c.alias
		}
		b.WriteString("    " + name + `) flags="` + strings.Join(typedFlags(allFlags(c), nil), " ") + `"`)
		if c.choices != nil {
			b.WriteString(`; words="` + strings.Join(c.choices, " ") + `"`)
		}
		b.WriteString(" ;;\n")
	}
	b.WriteString(`  esac
  # Without a word to offer, bash completes paths.
  if [[ "$cur" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
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
  local cmd="" i
  for ((i = 2; i < CURRENT; i++)); do
    case "${words[i]}" in
      (` + strings.Join(valueFlags(), "|") + `) ((i++)) ;;
      (-*) ;;
      (*) cmd="${words[i]}"; break ;;
    esac
  done
  case "$cmd ${words[CURRENT-1]}" in
`)
	for _, c := range completedFlags() {
		b.WriteString("    (" + c.patterns(doubleQuoted) + ") ")
		switch {
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
      ("") compadd -- ` + strings.Join(typedFlags(allFlags(nil), nil), " ") + " ;;\n")
	for _, c := range commands {
		name := c.name
		if c.alias != "" {
			name += "|" + c.alias
		}
		b.WriteString("      (" + name + ") compadd -- " + strings.Join(typedFlags(allFlags(c), nil), " ") + " ;;\n")
	}
	b.WriteString(`    esac
    return
  fi
  case "$cmd" in
    ("") compadd -- ` + strings.Join(commandNames(), " ") + " ;;\n")
	for _, c := range commands {
		if c.choices != nil {
			b.WriteString("    (" + c.name + ") compadd -- " + strings.Join(c.choices, " "))
			if c == &cmdCache {
				b.WriteString("; _files")
			}
			b.WriteString(" ;;\n")
		}
	}
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
	b.WriteString("# fish completion for mwp. Save it as ~/.config/fish/completions/mwp.fish\n")
	flag := func(condition string, f *flagSpec) {
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
	for _, f := range globalFlags {
		flag("", f)
	}
	for _, c := range commands {
		b.WriteString("complete -c mwp -n __fish_use_subcommand -f -a " + c.name + " -d " + singleQuoted(c.summary) + "\n")
	}
	for _, c := range commands {
		name := c.name
		if c.alias != "" {
			name += " " + c.alias
		}
		condition := " -n " + singleQuoted("__fish_seen_subcommand_from "+name)
		for _, f := range c.flags {
			flag(condition, f)
		}
		if c.choices != nil {
			files := " -f"
			if c == &cmdCache {
				files = ""
			}
			b.WriteString("complete -c mwp" + condition + files + " -a " + singleQuoted(strings.Join(c.choices, " ")) + "\n")
		}
	}
	return b.String()
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
  $previous = ''
  $skip = $false
  foreach ($element in $commandAst.CommandElements | Select-Object -Skip 1) {
    $text = $element.Extent.Text
    if ($element.Extent.EndOffset -ge $cursorPosition -and $text -eq $wordToComplete) { break }
    if ($skip) { $skip = $false }
    elseif ($takesValue -ccontains $text) { $skip = $true }
    elseif ($text -notlike '-*' -and $command -eq '') { $command = $text }
    $previous = $text
  }
  if ($command -eq 'collect') { $command = 'map' }
  $offers = @()
  if ($values.ContainsKey("$command $previous")) { $offers = $values["$command $previous"] }
  elseif ($values.ContainsKey($previous)) { $offers = $values[$previous] }
  elseif ($wordToComplete -like '-*') { $offers = $flags[$command] }
  else { $offers = $words[$command] }
  # Without an offer, PowerShell completes paths.
  $offers | Where-Object { $_ -clike "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`)
	return b.String()
}

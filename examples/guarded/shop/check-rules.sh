#!/bin/sh
# Proves RULES.md. Prints every line and every name that breaks a rule, and ends with
# 1 when there is one. A directory that is missing, or a file that cannot be read, is
# an error and no pass.
set -eu
cd -- "$(dirname -- "$0")"
LC_ALL=C
export LC_ALL

# lines PATTERN DIRECTORY... prints the lines of modules that match.
lines() {
	pattern=$1
	shift
	# grep ends with 1 when nothing matches, which is no failure, and with 2 for one.
	find "$@" -type f -name '*.py' -exec sh -c '
		pattern=$1
		shift
		grep -nE -e "$pattern" /dev/null "$@" || [ $? -eq 1 ]' sh "$pattern" {} +
}

status=0

# rule NUMBER FOUND says what breaks a rule, unless nothing does.
rule() {
	if [ -n "$2" ]; then
		printf 'rule %s of RULES.md is broken:\n%s\n' "$1" "$2"
		status=1
	fi
}

found=$(lines '^[[:space:]]*(from|import)[[:space:]]+(api|store)([.[:space:],]|$)' core)
rule 1 "$found"
found=$(lines '^[[:space:]]*(from|import)[[:space:]]+sqlite3([.[:space:],]|$)' core api)
rule 2 "$found"
found=$(find core api store -type f -name '*[!a-z0-9_]*.py')
rule 3 "$found"
exit "$status"

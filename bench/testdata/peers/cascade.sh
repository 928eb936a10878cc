#!/bin/sh
# Prints the context files that hold for a target, from the root of the project down to
# the target's directory, each below a comment that says where it is from.
#
#	sh cascade.sh TARGET [ROOT]
set -eu

target=$1
[ -d "$target" ] || target=$(dirname "$target")
dir=$(cd "$target" && pwd)

# The root is the nearest directory above that has a .mwp.
root=${2:-$dir}
while [ ! -e "$root/.mwp" ]; do
	if [ "$root" = / ]; then
		echo "no .mwp above $1" >&2
		exit 1
	fi
	root=$(dirname "$root")
done

show() {
	[ -f "$root/$1" ] || return 0
	printf '<!-- %s -->\n' "$1"
	cat "$root/$1"
	echo
}

rest=${dir#"$root"}
at=
show .mwp-context.md
IFS=/
for name in $rest; do
	[ -n "$name" ] || continue
	at=$at$name/
	show "$at.mwp-context.md"
done

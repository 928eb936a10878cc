#!/bin/sh
# Prints what cascade.sh does, without the comments, and starts one process only: what
# a shell can do at best.
#
#	sh onecat.sh TARGET
case $1 in
*/*) [ -d "$1" ] && cd "$1" || cd "${1%/*}/" ;;
*) [ ! -d "$1" ] || cd "$1" ;;
esac || exit 1
dir=$PWD
set --
while :; do
	[ ! -f "$dir/.mwp-context.md" ] || set -- "$dir/.mwp-context.md" "$@"
	[ ! -e "$dir/.mwp" ] || break
	[ -n "$dir" ] || exit 1
	dir=${dir%/*}
done
[ $# -eq 0 ] || exec cat "$@"

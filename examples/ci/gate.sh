#!/bin/sh
# What stands before anything is restored: whoever writes a cache decides what maps say, so
# none is taken from a checkout, nor from what an earlier run left in it.
#
#   sh gate.sh [keep]
#
# Run it in the workspace's directory. The root of a workspace may lie above that, so it
# looks in every directory from there up to the outermost checkout of git: a submodule, or
# a checkout within another, has more of them than git rev-parse --show-toplevel says.
#
# It refuses, with status 1 and one line on stderr, state that is a link or a submodule, as
# git does not say what is in those, and state whose cache, modules, results or decisions
# are under version control. Then it removes the cache that is there: a machine that keeps
# its work tree may have one from a stranger's change. Modules stay, as they are compared
# with the lock file, and results of guards, as they are signed.
#
# With keep the cache of the workspace's directory itself stays: where the system has
# restored it already, into a tree that it had cleaned.
set -eu
LC_ALL=C
export LC_ALL
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_LITERAL_PATHSPECS

# A directory of the checkout may look like a bare repository, with settings that git runs.
git() { command git -c safe.bareRepository=explicit "$@"; }

# No message has a name that a change chose, nor is what git and rm say of them shown.
refuse() {
	printf 'gate.sh: %s\n' "$1" >&2
	exit 1
}

# look DIR UP looks in one directory, which messages call UP.
look() {
	for state in .mwp .mwp.d; do
		path=$1/$state
		[ ! -L "$path" ] || refuse "$2$state is a link, and what it leads to would be believed"
		shipped=$(
			git -C "$1/" ls-files -- ":(icase)$state/cache" ":(icase)$state/modules" ":(icase)$state/guards.cache.json" ":(icase)$state/trust.lock" 2>/dev/null
		) || refuse 'git cannot read this checkout; git status says why'
		[ -z "$shipped" ] || refuse "$2$state has a cache, modules, results or decisions under version control, and they would be believed"
		shipped=$(git -C "$1/" ls-files --stage -- ":(icase)$state" 2>/dev/null) || refuse 'git cannot read this checkout; git status says why'
		if printf '%s\n' "$shipped" | grep -i "^160000 .*$(printf '\t')$state\$" >/dev/null; then
			refuse "$2$state is a submodule, and what is in it would be believed"
		fi
		if [ "$keep" = keep ] && [ -z "$2" ]; then
			continue
		fi
		if [ -d "$path" ]; then
			rm -rf -- "$path/cache" 2>/dev/null || refuse "the cache in $2$state cannot be removed"
		fi
	done
}

# walk looks in the current directory and those above it, by the name in PWD.
walk() {
	dir=${PWD%/}
	checkout=
	while :; do
		if [ -e "$dir/.git" ]; then
			checkout=$dir/
		fi
		[ -n "$dir" ] || break
		dir=${dir%/*}
	done
	[ -n "$checkout" ] || refuse 'this is no checkout of git, so nothing says what came with it'
	dir=${PWD%/}
	up=
	while :; do
		look "$dir" "$up"
		[ "$dir/" != "$checkout" ] || break
		dir=${dir%/*}
		up=../$up
	done
}

keep=${1:-}
case $# in 0 | 1) ;; *) refuse 'usage: gate.sh [keep]' ;; esac
case $keep in '' | keep) ;; *) refuse 'usage: gate.sh [keep]' ;; esac
# A directory on the way may be a link, and then has two directories above it.
walk
cd -P .
walk

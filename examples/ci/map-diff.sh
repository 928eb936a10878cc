#!/bin/sh
# What a change does to maps: the map of the whole project, and of every directory with a
# context file, at BASE and at HEAD.
#
#   sh map-diff.sh BASE OUT
#
# Run it in the workspace's directory. BASE is a revision of git, from which the point is
# taken where HEAD left it. OUT must not exist yet: what a checkout brings along, a link
# for instance, is not written through. It gets
#
#   maps.diff     what a reader of the maps would see, as differences of Markdown
#   ir.diff       the same of the JSON, with the account of what was left out and why
#   base, head    the JSON maps that differ, by number
#   targets.txt   which number is which directory
#   tokens.txt    what the change adds to each map, from `mwp lint --diff`
#   summary.md    the beginning of all this, for a page about the run
#
# Both sides are clean work trees of commits below a temporary directory. So neither what
# a build left in the checkout nor results of guards, which only one side has, look like a
# change. Nothing of either side is run: a map runs no guard, and no hook of git is called.
#
# MAP_DIFF_TARGETS (500) is how many maps are compared and MAP_DIFF_BYTES (4 MiB) how much
# is written; what is beyond them is counted in the summary. The last line on stdout is
# "N of M maps differ". The status is 0 with or without differences, 1 when there is
# nothing to compare with, 2 for a misuse.
set -eu
LC_ALL=C
export LC_ALL

die() {
	printf 'map-diff: %s\n' "$1" >&2
	exit "$2"
}
[ $# -eq 2 ] || die 'usage: map-diff.sh BASE OUT' 2
case $1 in '' | [-^]*) die 'BASE must be a revision of git' 2 ;; esac
limit=${MAP_DIFF_TARGETS:-500}
room=${MAP_DIFF_BYTES:-4194304}
# They are words of sed and of arithmetic.
number() {
	case $2 in *[!0-9]* | 0* | ??????????*) die "$1 must be a number from 1 to 999999999" 2 ;; esac
}
number MAP_DIFF_TARGETS "$limit"
number MAP_DIFF_BYTES "$room"

# A directory of the checkout may look like a bare repository, with settings that git runs.
git() { command git -c safe.bareRepository=explicit "$@"; }

head=$(git rev-parse --verify --quiet 'HEAD^{commit}') || die 'there is no commit here' 1
base=$(git rev-parse --verify --quiet --end-of-options "$1^{commit}") ||
	die 'BASE is not in this clone; fetch it, or clone with the whole history' 1
# Without a common ancestor, as in a shallow clone, BASE itself is the best there is.
base=$(git merge-base "$base" "$head") || base=$(git rev-parse --verify --end-of-options "$1^{commit}")
prefix=$(git rev-parse --show-prefix)
mkdir -- "$2" || die 'OUT must not exist, and its parent must' 2
out=$(cd -- "$2" && pwd)
mkdir "$out/base" "$out/head"
for file in maps.diff ir.diff targets.txt; do
	: >"$out/$file"
done

tmp=$(mktemp -d)
forget() {
	git worktree remove --force "$tmp/base" 2>/dev/null || :
	git worktree remove --force "$tmp/head" 2>/dev/null || :
	rm -rf "$tmp"
	git worktree prune
}
trap forget EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

plain() { [ -d "$1" ] && [ ! -L "$1" ]; }
exists() { [ -e "$1" ] || [ -L "$1" ]; }

# tree SIDE COMMIT checks a commit out, with the modules that are here already.
tree() {
	GIT_LFS_SKIP_SMUDGE=1 git -c core.hooksPath=/dev/null worktree add --quiet --detach "$tmp/$1" "$2"
	for state in .mwp .mwp.d; do
		if plain "$state" && plain "$state/modules" && plain "$tmp/$1/$prefix$state" && ! exists "$tmp/$1/$prefix$state/modules"; then
			cp -R "$state/modules" "$tmp/$1/$prefix$state/"
		fi
	done
	# What cannot be fetched is named in the map.
	if [ -d "$tmp/$1/$prefix" ]; then
		mwp -C "$tmp/$1/$prefix" import --frozen --quiet >/dev/null 2>&1 || :
	fi
}

# contexts SIDE prints the directories that have a context file. A name with a newline has
# the character 1 in its place.
contexts() {
	[ -d "$tmp/$1/$prefix" ] || return 0
	git -C "$tmp/$1/$prefix" ls-files -z -- ':(glob)**/.mwp-context.md' ':(glob)**/.mwp-context.yaml' ':(glob)**/.mwp-context.yml' |
		tr '\n\000' '\001\n' | sed -e 's,[^/]*$,,' -e 's,/$,,' -e 's,^$,.,'
}

# map SIDE FORMAT DIRECTORY FILE writes a map, or why there is none; nothing where the
# directory is not.
map() {
	: >"$4"
	[ -d "$tmp/$1/$prefix$3" ] || return 0
	mwp -C "$tmp/$1/$prefix" map --render "$2" --no-root --offline --quiet --cache-dir "$tmp/cache" -- "$3" >"$4" 2>"$tmp/why" ||
		sed -e "s,$tmp/$1/,,g" "$tmp/why" >>"$4"
}

# shown replaces what does not print, so that no name can begin a line or move a cursor.
shown() { tr '\001-\010\013-\037\177' '?'; }

# keep FILE FROM adds FROM to FILE while there is room.
used=0
cut=0
keep() {
	size=$(wc -c <"$2")
	if [ $((used + size)) -gt "$room" ]; then
		cut=$((cut + 1))
		return 0
	fi
	used=$((used + size))
	cat "$2" >>"$out/$1"
}

tree base "$base"
tree head "$head"
for state in .mwp .mwp.d; do
	if plain "$state" && plain "$state/cache" && ! exists "$tmp/cache"; then
		cp -R "$state/cache" "$tmp/cache"
	fi
done
{
	echo .
	contexts base
	contexts head
} | sort -u >"$tmp/all"
grep -v "$(printf '\001')" "$tmp/all" | sed "${limit}q" >"$tmp/targets"
total=$(wc -l <"$tmp/all")
count=$(wc -l <"$tmp/targets")

changed=0
while IFS= read -r dir; do
	map base json "$dir" "$tmp/base.json"
	map head json "$dir" "$tmp/head.json"
	if cmp -s "$tmp/base.json" "$tmp/head.json"; then
		continue
	fi
	changed=$((changed + 1))
	number=$(printf %04d "$changed")
	name=$(printf '%s' "$dir" | shown)
	printf '%s\t%s\n' "$number" "$name" >>"$out/targets.txt"
	map base markdown "$dir" "$tmp/base.md"
	map head markdown "$dir" "$tmp/head.md"
	for form in md json; do
		diff -u -L "base: $name" -L "head: $name" "$tmp/base.$form" "$tmp/head.$form" >"$tmp/$form.diff" || :
	done
	keep maps.diff "$tmp/md.diff"
	keep ir.diff "$tmp/json.diff"
	keep "base/$number.json" "$tmp/base.json"
	keep "head/$number.json" "$tmp/head.json"
done <"$tmp/targets"
mwp lint --quiet --format text --diff "$base" >"$tmp/tokens" 2>/dev/null || : >"$tmp/tokens"
keep tokens.txt "$tmp/tokens"

# block FILE LINES prints the beginning of a file as a block of code. Every line is
# indented, so none can end the block.
block() {
	if [ -s "$1" ]; then
		echo
		shown <"$1" | cut -c 1-300 | sed -e "${2}q" | sed -e 's/^/    /'
		lines=$(wc -l <"$1")
		if [ "$lines" -gt "$2" ]; then
			printf '\nMore lines in the reports: %s.\n' $((lines - $2))
		fi
	fi
}
{
	printf '### Maps\n\n%s of %s maps differ from %s.\n' "$changed" "$((count))" "$(git rev-parse --short "$base")"
	[ "$count" -eq "$total" ] || printf '\n**Maps that were not compared: %s.** The limit is %s, and names with a newline are left out.\n' $((total - count)) "$limit"
	[ "$cut" -eq 0 ] || printf '\n**Files and differences that were left out: %s.** The limit is %s bytes in all.\n' "$cut" "$room"
	block "$out/tokens.txt" 40
	block "$out/maps.diff" 200
} >"$out/summary.md"
printf '%s of %s maps differ\n' "$changed" "$((count))"

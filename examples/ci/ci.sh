#!/bin/sh
# What CI does with mwp, for any system that runs a shell: take over what an earlier run
# computed, fetch the pinned modules, lint, compare the maps with those of BASE, run the
# guards, and leave what was computed for the next run.
#
#   sh ci.sh
#
# It stands in the workspace's directory, which is in a checkout of git, and has mwp and
# mwp-git on PATH, and gate.sh and map-diff.sh beside it. What it takes from the
# environment:
#
#   ARCHIVE       the file that travels from run to run, outside of the checkout; without
#                 it nothing does. The system restores it before and stores it after
#   OUT           where reports go (mwp-ci); it must not exist yet
#   BASE          the revision to compare with, such as origin/main; without it nothing is
#   VERIFY        yes runs the guards. A guard is a program of the checkout: say yes for
#                 changes of people whose code you would run, and no for strangers'
#   MAX_WARNINGS  more warnings of lint than that are a failure
#   MWP_TRUST_KEY a secret of the CI, the same in every run: signs the archive, and one
#                 without that signature is ignored. Strangers' changes must not see it
#   UNSIGNED      yes takes an archive that nobody signed: where only builds that you
#                 trust can store one
#   KEEP_CACHE    yes lets .mwp/cache be, which is removed otherwise: where the system has
#                 restored it, into a tree without leftovers, before it starts this
#
# Every step is taken whatever became of the one before. The status is 0 when all of them
# were well, else 1.
set -eu

out=${OUT:-mwp-ci}
mkdir -- "$out" || {
	echo "ci.sh: OUT must not exist: remove $out, or set OUT" >&2
	exit 1
}
here=$(cd -- "$(dirname -- "$0")" && pwd)
bad=0
step() {
	printf '== %s\n' "$1" >&2
	shift
	"$@" || {
		printf '== failed with %s\n' "$?" >&2
		bad=1
	}
}

# Before anything is restored or imported.
keep=
if [ "${KEEP_CACHE:-no}" = yes ]; then
	keep=keep
fi
sh "$here/gate.sh" $keep || exit 1

# An archive that is damaged, or that somebody else signed, is ignored with a warning.
if [ -n "${ARCHIVE:-}" ] && [ -f "$ARCHIVE" ]; then
	set --
	if [ "${UNSIGNED:-no}" = yes ]; then
		set -- --unsigned
	fi
	step 'what earlier runs computed' mwp cache import "$@" "$ARCHIVE"
fi
step modules mwp import --frozen --quiet
if [ -n "${MAX_WARNINGS:-}" ]; then
	step lint mwp lint --max-warnings "$MAX_WARNINGS"
else
	step lint mwp lint
fi
mwp targets >"$out/targets.txt" || bad=1
if [ -n "${BASE:-}" ]; then
	step maps sh "$here/map-diff.sh" "$BASE" "$out/maps"
fi
# Before the guards run: what they leave behind is not for the next run.
if [ -n "${ARCHIVE:-}" ]; then
	step 'for later runs' mwp cache export -o "$ARCHIVE"
fi
if [ "${VERIFY:-no}" = yes ]; then
	step guards mwp verify --offline --no-discoveries --junit -o "$out/verify.xml"
fi
exit "$bad"

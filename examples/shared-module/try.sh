#!/bin/sh
# Runs mwp in a copy of project/ whose import leads to a repository made from
# module/. What it does goes to stderr; stdout is mwp's.
#
#   try.sh                            the map of crates/ledger/src/lib.rs
#   try.sh explain crates/ledger      or any other command, run in the copy
#
# MWP=PROGRAM stands in for the mwp on PATH. KEEP=1 leaves copy and repository.
set -eu

version=v0.1.0
published=https://example.com/modules/
name=mwp-rust-idiomatic.git

say() { printf '%s\n' "try.sh: $*" >&2; }
fail() { say "$*"; exit 1; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
mwp=${MWP:-mwp}
case $mwp in
/*) ;;
*/*) mwp=$PWD/$mwp ;;
esac
command -v "$mwp" >/dev/null || fail "found no program $mwp; set MWP to one, or put mwp on PATH"
command -v git >/dev/null || fail "found no git, which makes the repository"
[ $# -gt 0 ] || set -- map crates/ledger/src/lib.rs --render markdown

tmp=$(mktemp -d "${TMPDIR:-/tmp}/mwp-shared-module.XXXXXX")
tmp=$(CDPATH='' cd -- "$tmp" && pwd -P)
cleanup() {
	if [ "${KEEP:-}" = 1 ]; then
		say "kept $tmp"
		return
	fi
	# A store of modules may be write-protected.
	chmod -R u+w "$tmp"
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
case $tmp in
*[!A-Za-z0-9/._+-]*) fail "$tmp cannot stand in a URL as it is; set TMPDIR to a directory with a plain name" ;;
esac

# The commit's id must be the same everywhere, so git sees neither the
# environment nor anybody's configuration, attributes, ignore files or hooks.
repository=$tmp/modules/$name
isolated() {
	env -i PATH="$PATH" HOME="$tmp" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 \
		GIT_AUTHOR_NAME=Example GIT_AUTHOR_EMAIL=example@example.com GIT_AUTHOR_DATE=2026-01-01T00:00:00Z \
		GIT_COMMITTER_NAME=Example GIT_COMMITTER_EMAIL=example@example.com GIT_COMMITTER_DATE=2026-01-01T00:00:00Z \
		git -c init.defaultBranch=main -c core.fileMode=false "$@"
}
in_module() { (cd -- "$here/module" && isolated --git-dir="$repository" --work-tree=. "$@") >&2; }

isolated init --quiet --bare --template= "$repository" >&2
in_module add --force --all .
in_module commit --quiet --message "mwp-rust-idiomatic $version"
in_module tag --annotate --message "$version" "$version"
say "module/ is commit $(isolated --git-dir="$repository" rev-parse "$version^{commit}"), tagged $version"

cp -R "$here/project" "$tmp/project"
cd -- "$tmp/project"
# What running mwp or cargo in the original may have left there.
rm -rf .mwp/cache .mwp/modules .mwp/modules.lock target
context=crates/ledger/.mwp-context.md
sed "s|$published$name@|file://$repository@|" "$here/project/$context" >"$context"
grep -q "file://$repository@$version" "$context" || fail "$context does not import $published$name@$version"
say "$context imports file://$repository@$version"

# mwp fetches with git too, and a hook that runs this script sets GIT_DIR.
# shellcheck disable=SC2046 # the names are words
unset $(isolated rev-parse --local-env-vars) MWP_ROOT MWP_OFFLINE
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
say "mwp $*"
"$mwp" "$@"

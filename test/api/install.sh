#!/bin/sh
# Installs the mocks of wrapped APIs into node/node_modules at the versions that
# package-lock.json names; with the argument compare also the programs that tenon
# api draft is compared with, into compare/node_modules. Run it as often as you
# like: it does nothing when they are there. Without npm it says so and ends well,
# and the tests that need them are skipped.
set -eu
cd "$(dirname "$0")"

say() { echo "test/api: $*"; }

if ! command -v npm >/dev/null 2>&1; then
	say "skipped: npm is missing. On Debian, 'apt-get install nodejs npm' as root brings it."
	exit 0
fi

install() (
	cd "$1"
	if cmp -s package-lock.json node_modules/.installed.json; then
		say "$2: installed already"
		exit 0
	fi
	say "$2: installing with npm ci"
	npm ci --no-audit --no-fund --no-progress --loglevel=error --ignore-scripts
	# Of GitHub's descriptions only that of api.github.com is used; the others are 370 MB.
	rm -f node_modules/@octokit/openapi/generated/*.deref.json node_modules/@octokit/openapi/generated/ghe*.json
	cp package-lock.json node_modules/.installed.json
)

install node "the mocks"
if [ "${1:-}" = compare ]; then
	install compare "the programs to compare with"
fi
say "done"

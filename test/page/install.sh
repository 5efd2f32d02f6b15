#!/bin/sh
# Installs axe-core, which judges the page, into node/node_modules at the
# version that package-lock.json names, and a Chromium. Run it as often as you
# like: it does nothing when they are there. What cannot be installed is named,
# and the tests that need it are skipped.
set -eu
cd "$(dirname "$0")"

say() { echo "test/page: $*"; }

have() { command -v "$1" >/dev/null 2>&1; }

# wants packages, by the names that Debian gives them.
wants() {
	if [ "$(id -u)" != 0 ] || ! have apt-get; then
		say "missing: $*. On Debian, 'apt-get install $*' as root brings it."
		return 0
	fi
	say "missing: $*; installing it with apt-get"
	apt-get install -y --no-install-recommends "$@" || {
		apt-get update && apt-get install -y --no-install-recommends "$@"
	} || say "apt-get failed"
}

have chromium || have chromium-browser || have google-chrome || wants chromium
have npm || wants nodejs npm
if ! have npm; then
	say "skipped: axe-core, for want of npm"
	exit 0
fi
cd node
if cmp -s package-lock.json node_modules/.installed.json; then
	say "axe-core: installed already"
else
	say "axe-core: installing with npm ci"
	npm ci --no-audit --no-fund --no-progress --loglevel=error --ignore-scripts
	cp package-lock.json node_modules/.installed.json
fi
say "done"

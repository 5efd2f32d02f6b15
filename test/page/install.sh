#!/bin/sh
# Installs axe-core, which judges the page, into node/node_modules, and views of
# others into views/node_modules, at the versions that the package-lock.json files
# name, and a Chromium and a Firefox. Run it as often as you
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
have firefox-esr || have firefox || wants firefox-esr
have npm || wants nodejs npm
if ! have npm; then
	say "skipped: axe-core and views, for want of npm"
	exit 0
fi
# packages installs what the package-lock.json of a folder names.
packages() {
	if cmp -s "$1/package-lock.json" "$1/node_modules/.installed.json"; then
		say "$1: installed already"
		return 0
	fi
	say "$1: installing with npm ci"
	(cd "$1" && npm ci --no-audit --no-fund --no-progress --loglevel=error --ignore-scripts --legacy-peer-deps --omit=peer --omit=optional && cp package-lock.json node_modules/.installed.json)
}
packages node
packages views
say "done"

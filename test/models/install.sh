#!/bin/sh
# Installs the vendors' JavaScript SDKs into node/node_modules, at the versions that
# the package-lock.json there names. It does nothing when they are there. Without
# node or npm it says so and ends well, and the tests that need them are skipped.
set -eu
cd "$(dirname "$0")/node"
say() { echo "test/models: $*"; }
if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
	say "skipped: node or npm is missing"
	exit 0
fi
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
	say "skipped: node $(node --version) is too old; version 20 or newer is needed"
	exit 0
fi
if cmp -s package-lock.json node_modules/.installed.json; then
	say "installed already"
	exit 0
fi
npm ci --no-audit --no-fund --no-progress --loglevel=error --ignore-scripts
cp package-lock.json node_modules/.installed.json
say "done"

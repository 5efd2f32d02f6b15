#!/bin/sh
# Installs the TypeScript peers, and a Node for them, into node/node_modules, and
# the bridges from stdio to HTTP into bridges/node_modules, at the versions that
# the files package-lock.json name. It does nothing when they are there. Without
# npm it says so and ends well: those peers are then left out.
set -eu
cd "$(dirname "$0")"
if ! command -v npm >/dev/null 2>&1; then
	echo "bench/peers: npm is missing; programs for Node are not measured" >&2
	exit 0
fi
for dir in node bridges; do
	(
		cd "$dir"
		if cmp -s package-lock.json node_modules/.installed.json; then
			exit 0
		fi
		echo "bench/peers: installing $dir with npm ci" >&2
		npm ci --no-audit --no-fund --no-progress --loglevel=error --ignore-scripts
		cp package-lock.json node_modules/.installed.json
	)
done

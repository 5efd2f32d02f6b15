#!/usr/bin/env bash
# Runs the real commands and puts what they write into docs/cli.md, between
# "<!-- capture NAME -->" and "<!-- end -->". The commands run in a terminal of 80
# columns, since piped output is bare. Needs go, tmux, and script of util-linux.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
pane=tenon-captures-$$
trap 'tmux kill-session -t "$pane" 2>/dev/null || true; rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -trimpath -o "$work/tenon" ./cmd/tenon
export PATH="$work:$PATH" TENON_CONFIG_DIR="$work/config" NO_COLOR=1

# capture NAME COMMAND: the command as typed, and what a terminal shows of it.
capture() {
	local name=$1 line=$2 code=0
	script -qefc "stty cols 80 rows 40; $line" /dev/null </dev/null >"$work/screen" || code=$?
	{
		echo "\$ $line"
		tr -d '\r' <"$work/screen" | sed -e 's/[[:space:]]*$//'
		if [ "$code" != 0 ]; then echo "(exit code $code)"; fi
	} >"$work/$name.txt"
}

capture tools 'tenon tools builtin:calc'
capture tool 'tenon tools builtin:calc add'
capture call 'tenon call builtin:calc add a=20 b=22'
capture call-json 'tenon call builtin:calc add a=20 b=22 --format json'
capture call-wrong 'tenon call builtin:calc add a=twenty'
capture answer 'tenon call builtin:calc average --answer a=20 --answer b=22'
capture discover 'tenon discover builtin:calc'
capture trace 'tenon call builtin:calc add a=20 b=22 --trace'
capture doctor 'tenon doctor builtin:calc'
capture doctor-sick 'tenon doctor -- tenon replay docs/captures/sick.txtar --serve'
capture exit-codes 'tenon exit-codes'

# The shell is typed into, in a terminal of 80 columns. <Tab> is pressed where
# the words end in the middle.
keys() { tmux send-keys -t "$pane" "$@"; sleep 0.7; }
tmux -f /dev/null new-session -d -s "$pane" -x 80 -y 40 'PS1="$ " sh'
until tmux capture-pane -t "$pane" -p | grep -q '^\$'; do sleep 0.1; done
keys 'tenon shell builtin:calc' Enter
keys 'cal' Tab
keys 'ad' Tab
keys Tab
keys 'a=20 b=22' Enter
keys 'read wel' Tab
keys 'ada' Enter
keys 'call average' Enter
keys '20' Enter
keys '22' Enter
keys 'ping' Enter
keys 'exit' Enter
tmux capture-pane -t "$pane" -p | sed -e 's/[[:space:]]*$//' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' | sed '$d' >"$work/shell.txt"

# Long lines of a trace are cut: a page is narrower than a terminal.
cut -c1-150 "$work/trace.txt" >"$work/trace.cut" && mv "$work/trace.cut" "$work/trace.txt"

awk -v dir="$work" '
	/^<!-- capture .* -->$/ {
		print; print "```text"
		file = dir "/" $3 ".txt"
		while ((getline line < file) > 0) print line
		print "```"; skipping = 1; next
	}
	/^<!-- end -->$/ { skipping = 0 }
	!skipping { print }
' docs/cli.md >"$work/cli.md"
cp "$work/cli.md" docs/cli.md
echo "docs/cli.md has been brought up to date"

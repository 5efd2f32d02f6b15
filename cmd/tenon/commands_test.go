package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/version"
)

// Every command against a builtin server: what it writes, and its exit code.
func TestCommands(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "args.json")
	write(t, file, `{"a": 20, "b": 22}`)
	for _, c := range []struct {
		line string // words; _ stands for a space in a word, DIR for a folder
		in   string
		code int
		want []string // on standard output, or after "err:" on standard error
	}{
		{line: "tools builtin:calc", want: []string{"add a:number b:number\n  read-only\n  Add two numbers\n", "divide"}},
		{line: "tools builtin:calc -q", want: []string{"add\nsubtract\nmultiply\ndivide\naverage\n"}},
		{line: "tools builtin:calc add", want: []string{"Arguments\n  a  number  the first number\n"}},
		{line: "tools builtin:calc ad", code: exitUsage, want: []string{`err:tenon: no tool "ad": did you mean add?`}},
		{line: "tools builtin:calc --format json", want: []string{`"name": "add"`}},
		{line: "tools builtin:calc --format jsonl", want: []string{"\n{\"name\":\"subtract\""}},
		{line: "tools builtin:calc --format yaml", want: []string{"tools:\n  - name: add\n    "}},
		{line: "tools builtin:calc --format xml", code: exitUsage, want: []string{`err:unknown format "xml"`}},
		{line: "tools builtin:none", code: exitUsage, want: []string{`err:unknown builtin server "none"`}},
		{line: "tools builtin:calc?colour=red", code: exitUsage, want: []string{`err:unknown setting "colour"`}},
		{line: "call builtin:fs?readonly=perhaps list_directory", code: exitUsage, want: []string{"err:readonly"}},
		{line: "--config-dir DIR config add x builtin:note?vault=.", code: exitUsage, want: []string{`err:unknown builtin server "note": did you mean notes? There are api, calc, demo, fs, github, notes, onenote, orders, slack, sql`}},
		{line: "--config-dir DIR config add x builtin:zzzzzzzz", code: exitUsage, want: []string{`err:unknown builtin server "zzzzzzzz": there are api, calc, demo, fs, github, notes, onenote, orders, slack, sql`}},
		{line: "tools", code: exitUsage, want: []string{"err:missing SERVER"}},
		{line: "tools nobody", code: exitUsage, want: []string{"err:nobody"}},
		{line: "tools -- no-such-program", code: exitConnection, want: []string{"err:no-such-program"}},
		{line: "resources builtin:calc", want: []string{"no resources", "Templates\nwelcome://{userId}"}},
		{line: "resources builtin:calc --templates --format json", want: []string{`"resourceTemplates": [`}},
		{line: "prompts builtin:calc", want: []string{"explain calculation\n"}},
		{line: "prompt builtin:calc explain calculation=1+1", want: []string{"Explain step by step how to work out 1+1"}},
		{line: "prompt builtin:calc explain", code: exitProtocol, want: []string{"err:calculation"}},
		{line: "prompt builtin:calc", code: exitUsage},
		{line: "prompt builtin:calc explain oops", code: exitUsage, want: []string{"err:name=value"}},
		{line: "read builtin:calc welcome://ada", want: []string{"Welcome, ada!"}},
		{line: "read builtin:calc welcome://ada -o DIR/out", want: []string{""}},
		{line: "read builtin:calc nope://x", code: exitProtocol, want: []string{"err:nope://x"}},
		{line: "read builtin:calc", code: exitUsage},
		{line: "complete builtin:calc welcome://{userId} userId=a"},
		{line: "complete builtin:calc", code: exitUsage},
		{line: "call builtin:calc add a=20 b=22", want: []string{"42"}},
		{line: "call builtin:calc add a=20 b=22 --format json", want: []string{`"result": 42`}},
		{line: "call builtin:calc add --json -", in: `{"a":1,"b":2}`, want: []string{"3"}},
		{line: "call builtin:calc add --json @" + file, want: []string{"42"}},
		{line: "call builtin:calc add @" + file, want: []string{"42"}},
		{line: `call builtin:calc add {"a":1,"b":2}`, want: []string{"3"}},
		{line: "call builtin:calc add --json nonsense", code: exitUsage, want: []string{"err:parse --json"}},
		{line: "tools http://127.0.0.1:1/mcp", code: exitConnection, want: []string{`err:connect to "127.0.0.1:1": cannot reach http://127.0.0.1:1/mcp`}},
		{line: "tools builtin:notes?vault=/nowhere", code: exitConnection, want: []string{"err:builtin:notes: open the vault"}},
		{line: "call builtin:calc add {nonsense", code: exitUsage, want: []string{"err:parse the arguments"}},
		{line: "raw builtin:calc tools/list {nonsense", code: exitUsage, want: []string{"err:parse the parameters"}},
		{line: "call builtin:calc add --json [1]", code: exitUsage, want: []string{"err:one JSON object"}},
		{line: "call builtin:calc add --json {} a=1", code: exitUsage, want: []string{"err:not both"}},
		{line: "call builtin:calc add a=x", code: exitTool, want: []string{"err:The tool failed:", "expected a number"}},
		{line: "call builtin:calc add word", code: exitUsage, want: []string{"err:name=value"}},
		{line: "call builtin:calc", code: exitUsage, want: []string{"err:missing TOOL"}},
		{line: "call builtin:calc average --answer a=1 --answer b=2", want: []string{"1.5"}},
		{line: "call builtin:calc average --decline", code: exitTool, want: []string{"err:Declined the question of calc"}},
		{line: "call builtin:calc average", code: exitProtocol},
		{line: "discover builtin:calc", want: []string{"server     calc (Calculator) 1.0.0", "5 tools"}},
		{line: "discover builtin:calc --format json --revision 2024-11-05", want: []string{`"revision": "2024-11-05"`}},
		{line: "discover builtin:calc --revision 1999-01-01", code: exitUsage, want: []string{`err:unknown revision "1999-01-01"`}},
		{line: "ping builtin:calc", want: []string{"calc responded to server/discover in "}},
		{line: "ping builtin:calc --revision 2025-06-18 --format json", want: []string{`"method": "ping"`}},
		{line: "ping builtin:calc -c 2 --format json", want: []string{"{\n  \"pings\": [\n"}},
		{line: "ping builtin:calc -c 0", code: exitUsage},
		{line: "auth login builtin:calc", code: exitUsage, want: []string{"err:is not an HTTP server"}},
		{line: "raw builtin:calc tools/list", want: []string{`"name": "add"`}},
		{line: "raw builtin:calc no/such", code: exitProtocol, want: []string{"err:-32601"}},
		{line: "raw builtin:calc", code: exitUsage},
		{line: "doctor builtin:calc", want: []string{"No problems found."}},
		{line: "doctor builtin:calc --format json", want: []string{`"findings": []`, `"2024-11-05"`}},
		{line: "doctor -- no-such-program", code: exitTool, want: []string{"✗ error", "Install the program"}},
		{line: "shell builtin:calc", in: "call add a=1 b=2\nread 'welcome://ada'\n# a remark\n\nexit\nping\n", want: []string{"3\nWelcome, ada!\n"}},
		{line: "shell builtin:calc", in: "call add a=x\nping\n", code: exitTool, want: []string{"calc responded"}},
		{line: "shell builtin:calc", in: "fly\n", code: exitUsage, want: []string{`err:unknown command "fly"`}},
		{line: "shell builtin:calc", in: "call 'add\n", code: exitUsage, want: []string{"err:the quote ' is not closed"}},
		{line: "shell builtin:calc", in: "help\nhelp call\nlisten on\nlisten off\nlisten\n", code: exitUsage, want: []string{"Ctrl-D leaves", "--json object", "err:listen on or listen off"}},
		{line: "shell builtin:calc", in: "trace on\nping\ntrace off\ntools -q\n", want: []string{"add\n", "err:→ modern server/discover"}},
		{line: "shell builtin:calc", in: "tools --format jsonl\nresources\nprompts\nprompt explain calculation=1\ncomplete explain calculation=1\nraw tools/list\ndiscover\n"},
		{line: "shell builtin:calc tools", code: exitUsage, want: []string{"err:takes only the server"}},
		{line: "record builtin:calc -o DIR/r.txtar -- call add a=20 b=22", want: []string{"42", "err:Recorded in"}},
		{line: "replay DIR/r.txtar builtin:calc", want: []string{"err:match the recording"}},
		{line: "replay DIR/none builtin:calc", code: exitUsage},
		{line: "replay " + file + " builtin:calc", code: exitUsage},
		{line: "record", code: exitUsage},
		{line: "tap", code: exitUsage},
		{line: "tap -o DIR/t.txtar -- echo hi", want: []string{"hi\n"}},
		{line: "tap -- false", code: 1},
		{line: "config", want: []string{"No servers are configured"}},
		{line: "config fly", code: exitUsage, want: []string{`err:unknown command "config fly"`}},
		{line: "config add x ./no-such.json", code: exitUsage, want: []string{"err:there is no file ./no-such.json"}},
		{line: "auth status builtin:calc", code: exitUsage, want: []string{"err:is not an HTTP server"}},
		{line: "auth status http://127.0.0.1:1/mcp", code: exitConnection, want: []string{"err:cannot reach"}},
		{line: "version", want: []string{"tenon " + version.String()}},
		{line: "version --format json", want: []string{`"revisions": [`}},
		{line: "version --json", want: []string{`"version": "`, `"commit": "`, `"go": "go1`, `"revisions": [`}},
		{line: "version x", code: exitUsage},
		{line: "--version", want: []string{"tenon " + version.String()}},
		{line: "", want: []string{"Use a server:"}},
		{line: "help", want: []string{"completion", "man", "Use a server:"}},
		{line: "exit-codes", want: []string{"130  interrupted"}},
		{line: "tols", code: exitUsage, want: []string{`err:unknown command "tols": did you mean tools?`}},
		{line: "api chek x", code: exitUsage, want: []string{`err:unknown command "api chek": did you mean check?`}},
		{line: "gateway statu", code: exitUsage, want: []string{`err:unknown command "gateway statu": did you mean status?`}},
		{line: "demo odrers", code: exitUsage, want: []string{`err:unknown command "demo odrers": did you mean orders?`}},
		{line: "gateway xyzzy", code: exitUsage, want: []string{`err:unknown command "gateway xyzzy"; run "tenon help gateway"`}},
		{line: "inspect builtin:clac --no-browser", code: exitUsage, want: []string{`err:unknown builtin server "clac"; did you mean "calc"?`}},
		{line: "inspect builtin:fs?rot=. --no-browser", code: exitUsage, want: []string{`err:unknown setting "rot"`}},
		{line: "tools builtin:calc --revision 2025", code: exitUsage, want: []string{`err:unknown revision "2025": use one of 2026-07-28, 2025-11-25, `}},
		{line: "ping builtin:calc -c x", code: exitUsage, want: []string{`err:invalid argument "x" for "-c, --count" flag: use a number; run "tenon help ping"`}},
		{line: "ping builtin:calc --timeout x", code: exitUsage, want: []string{`err:invalid argument "x" for "--timeout" flag: use a time such as 30s or 2m; run`}},
		{line: "tools --yes=x builtin:calc", code: exitUsage, want: []string{`err:flag: use true or false; run "tenon help tools"`}},
		{line: "shell builtin:calc", in: "xyzzyxyzzy\n", code: exitUsage, want: []string{`err:unknown command "xyzzyxyzzy"; type "help"`}},
		{line: "tools --fly", code: exitUsage, want: []string{"err:tenon help tools"}},
		{line: "xyzzy", code: exitUsage, want: []string{`err:unknown command "xyzzy"; run "tenon help"`}},
		{line: "up x", code: exitUsage, want: []string{`err:unexpected argument "x"`}},
		{line: "chat x", code: exitUsage, want: []string{`err:unexpected argument "x"`}},
		{line: "audit x", code: exitUsage},
		{line: "up --revision 1999-01-01", code: exitUsage, want: []string{`err:unknown revision "1999-01-01"`}},
		{line: "run x --revision 1999-01-01", code: exitUsage, want: []string{`err:unknown revision "1999-01-01"`}},
		{line: "prompts builtin:fs?root=DIR", want: []string{"no prompts"}},
		{line: "prompts builtin:fs?root=DIR --format json", want: []string{`"prompts": []`}},
		{line: "prompts builtin:fs?root=DIR -q"},
		{line: "resources builtin:fs?root=DIR --templates --format json", want: []string{`"resourceTemplates": [`}},
		{line: "run x --format yaml", code: exitUsage, want: []string{"err:--format yaml"}},
		{line: "run x --format json --output text", code: exitUsage, want: []string{"err:contradict"}},
		{line: "run x --answer a=1", code: exitUsage, want: []string{"err:--answer"}},
		{line: "run x -p y", code: exitUsage, want: []string{`err:unexpected argument "x"`}},
		{line: "run", code: exitUsage, want: []string{"err:empty"}},
		{line: "call builtin:calc average --answer a=x --answer b=2", code: exitUsage, want: []string{"err:--answer does not match", "err:its fields are a, b"}},
		{line: "call builtin:calc average --answer a=1", code: exitUsage, want: []string{"err:--answer does not match"}},
		{line: "call builtin:calc average --answer c=1", code: exitUsage, want: []string{"err:--answer does not match", "err:its fields are a, b"}},
		{line: "call builtin:calc average --answer a=1 --answer b=2 --answer c=3", want: []string{"1.5", "err:--answer c was not used"}},
		{line: "call builtin:calc add a=1 b=2 --answer c=3", want: []string{"3", "err:--answer c was not used"}},
		{line: "call builtin:calc average --answer c=1 --decline", code: exitTool, want: []string{"err:Declined the question of calc"}},
		{line: "serve", code: exitUsage},
		{line: "serve nothing", code: exitUsage, want: []string{`err:unknown builtin server "nothing"`}},
		{line: "serve calc x", code: exitUsage, want: []string{"err:option=value"}},
		{line: "man", code: exitUsage},
	} {
		words := strings.Fields(strings.ReplaceAll(c.line, "DIR", dir))
		var o, e bytes.Buffer
		t.Setenv("TENON_CONFIG_DIR", t.TempDir())
		code := run(t.Context(), words, strings.NewReader(c.in), &o, &e)
		if code != c.code {
			t.Errorf("%s: exit code %d, not %d\n%s%s", c.line, code, c.code, o.String(), e.String())
		}
		for _, want := range c.want {
			if text, ok := strings.CutPrefix(want, "err:"); ok && !strings.Contains(e.String(), text) {
				t.Errorf("%s: standard error does not have %q:\n%s", c.line, text, e.String())
			} else if !ok && !strings.Contains(o.String(), want) {
				t.Errorf("%s: the output does not have %q:\n%s%s", c.line, want, o.String(), e.String())
			}
		}
		if code != exitOK && code != exitTool && e.Len() == 0 {
			t.Errorf("%s: exit code %d without a word", c.line, code)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "out")); err != nil || string(got) != "Welcome, ada!" {
		t.Errorf("read -o wrote %q, %v", got, err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A recording that differs makes the exit code 1 and says where.
func TestReplayTellsDifferences(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.txtar")
	if code, _, errs := tenon(t, "record", "builtin:calc", "-o", file, "--format", "json", "--", "call", "add", "a=20", "b=22"); code != 0 {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.ReplaceAll(string(text), `"result":42`, `"result":43`))
	code, out, errs := tenon(t, "replay", file, "builtin:calc")
	if code != exitTool || !strings.Contains(out, "recorded  43") || !strings.Contains(out, "now       42") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// A command within record has the flags that were given to record.
func TestRecordKeepsFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.txtar")
	_, out, errs := tenon(t, "record", "builtin:calc", "-o", file, "--format", "json", "--", "call", "add", "a=20", "b=22")
	if !json.Valid([]byte(out)) || out == "" {
		t.Errorf("the output is not JSON: %s%s", out, errs)
	}
}

func TestCompletionAndManPages(t *testing.T) {
	for shell := range scriptNames() {
		if code, out, errs := tenon(t, "completion", shell); code != 0 || !strings.Contains(out, "tenon") {
			t.Errorf("completion %s: exit code %d, %.80q %s", shell, code, out, errs)
		}
	}
	if _, out, _ := tenon(t, "__complete", "to"); !strings.Contains(out, "tools\t") {
		t.Errorf("to is not completed to tools: %s", out)
	}
	dir := t.TempDir()
	if code, _, errs := tenon(t, "man", dir); code != 0 {
		t.Fatal(errs)
	}
	for _, page := range []string{"tenon.1", "tenon-call.1", "tenon-config-add.1", "tenon-shell.1", "tenon-doctor.1"} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil || !strings.HasPrefix(string(text), ".TH ") || !strings.Contains(string(text), ".SH EXIT STATUS") {
			t.Errorf("%s: %v %.60q", page, err, text)
		}
	}
}

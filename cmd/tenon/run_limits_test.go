package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/schema"
)

// A runLine is a line of --output stream-json.
type runLine struct {
	Seq     int
	Kind    string
	Session string
	Text    string
	Result  *struct {
		Stop, Answer string
		ExitCode     int
		Data         json.RawMessage
		Steps        int
		Failed       []string
		Error        struct{ Message, Kind string }
	}
	Init *struct{ Version int }
}

// streamed parses the lines of a stream, checks each with the published schema, and
// that the last is the only result. It returns the lines.
func streamed(t *testing.T, out string) []runLine {
	t.Helper()
	raw, err := os.ReadFile("../../docs/events.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := schema.NewValidator(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []runLine
	for text := range strings.Lines(out) {
		var l runLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if err := v.Check(json.RawMessage(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		if n := len(lines); n > 0 && (l.Seq <= lines[n-1].Seq || lines[n-1].Kind == "result") {
			t.Errorf("%s after %+v", text, lines[n-1])
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 || lines[len(lines)-1].Result == nil {
		t.Fatalf("there is no result at the end of\n%s", out)
	}
	return lines
}

// The exit code, the stop reason and the answer of runs that end in different
// ways; the process, the result event and --output json agree (D6).
func TestRunResults(t *testing.T) {
	add := `{"call":{"name":"calc__add","arguments":{"a":2,"b":3}}}`
	usage := `{"usage":{"input":1000,"output":1000,"cost":0.02}}`
	priced := `{"script":1,"model":{"provider":"test","name":"m","prices":{"input":1,"output":10}}}`
	person := `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	call := func(args string) string { return `{"call":{"name":"final_answer","arguments":` + args + `}}` }
	for name, c := range map[string]struct {
		script       []string
		args         []string
		code         int
		stop, answer string
	}{
		"an answer":       {[]string{`{"text":"Hi."}`}, nil, 0, "end", "Hi."},
		"max turns":       {[]string{`{"text":"One moment."}`, add, `{"expect":{}}`, `{"text":"no"}`}, []string{"--allow", "calc", "--max-turns", "1"}, exitLimit, "max_turns", "One moment."},
		"denied":          {[]string{add, `{"expect":{"role":"tool"}}`, `{"text":"I may not."}`}, nil, exitDenied, "end", "I may not."},
		"allowed by args": {[]string{add, `{"expect":{"role":"tool"}}`, `{"text":"5"}`}, []string{"--allow", "calc/add:a=2,b=?"}, 0, "end", "5"},
		"denied by args":  {[]string{add, `{"expect":{"role":"tool"}}`, `{"text":"no"}`}, []string{"--allow", "calc/add:a=2,b=4"}, exitDenied, "end", "no"},
		"no key":          {[]string{`{"error":{"kind":"auth","status":401,"message":"bad key"}}`}, nil, exitModel, "error", ""},
		"too long":        {[]string{`{"error":{"kind":"context_length"}}`}, nil, exitLimit, "error", ""},
		"refused":         {[]string{`{"text":"No."}`, `{"done":"refusal"}`}, nil, exitTool, "refusal", "No."},
		"cut at length":   {[]string{`{"text":"Ha"}`, `{"done":"length"}`}, nil, exitLimit, "length", "Ha"},
		"budget":          {[]string{priced, `{"text":"One moment."}`, add, usage, `{"expect":{}}`, `{"text":"no"}`}, []string{"--allow", "calc", "--max-budget", "0.02"}, exitLimit, "max_budget", "One moment."},
		"within budget":   {[]string{priced, add, usage, `{"expect":{"role":"tool"}}`, `{"text":"5"}`}, []string{"--allow", "calc", "--max-budget", "9"}, 0, "end", "5"},
		"schema":          {[]string{call(`{"name":"Ada"}`)}, []string{"--json-schema", person}, 0, "end", `{"name":"Ada"}`},
		"schema, text":    {[]string{`{"text":"Ada"}`, `{"expect":{"has":"final_answer"}}`, call(`{"name":"Ada"}`)}, []string{"--json-schema", person}, 0, "end", `{"name":"Ada"}`},
		"schema, wrong":   {[]string{call(`{"name":1}`), `{"expect":{"has":"does not match"}}`, call(`{}`), `{"expect":{}}`, call(`{"name":2}`)}, []string{"--json-schema", person}, exitTool, "schema", ""},
		"schema, wrapped": {[]string{call(`{"answer":[1,2]}`)}, []string{"--json-schema", `{"type":"array"}`}, 0, "end", `[1,2]`},
		"append":          {[]string{`{"expect":{"system":"Speak Latin."}}`, `{"text":"Ita."}`}, []string{"--append-system", "Speak Latin."}, 0, "end", "Ita."},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"run", "hello", "-s", "builtin:calc"}, c.args...)
			code, out, errs := tenon(t, append(args, "--output", "stream-json", said(t, c.script...))...)
			lines := streamed(t, out)
			r := lines[len(lines)-1].Result
			if code != c.code || r.ExitCode != code || r.Stop != c.stop || r.Answer != c.answer {
				t.Errorf("exit code %d, result %+v\n%s", code, r, errs)
			}
			if c.stop == "max_turns" && !strings.Contains(errs, "the model has answered once, as often as it may") {
				t.Errorf("it does not say which limit was reached:\n%s", errs)
			}
			inits := 0
			for _, l := range lines {
				if l.Init != nil && l.Init.Version == 1 {
					inits++
				}
			}
			if inits != 1 {
				t.Errorf("%d init events", inits)
			}
			code, out, errs = tenon(t, append(args, "--output", "json", said(t, c.script...))...)
			var whole struct {
				Stop, Answer string
				ExitCode     int
				Calls        []json.RawMessage
			}
			if err := json.Unmarshal([]byte(out), &whole); err != nil || code != c.code || whole.ExitCode != code || whole.Stop != c.stop || whole.Answer != c.answer || whole.Calls == nil {
				t.Errorf("json: exit code %d, %v, %+v\n%s", code, err, whole, errs)
			}
		})
	}
}

// Runs that fail before the turn end with a result, too.
func TestRunResultOfEarlyFailures(t *testing.T) {
	t.Setenv("TENON_CONFIG_DIR", t.TempDir())
	code, out, errs := tenon(t, "run", "x", "-s", "http://127.0.0.1:9/mcp", "--output", "stream-json", said(t, `{"text":"no"}`))
	if r := streamed(t, out); code != exitConnection || r[len(r)-1].Result.ExitCode != code || r[len(r)-1].Result.Error.Message == "" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	// No model is connected, and no tool has such words.
	code, out, errs = tenon(t, "run", "zebra quux", "-s", "builtin:calc", "--model", "none", "--output", "stream-json")
	if r := streamed(t, out); code != exitModel || r[len(r)-1].Result.ExitCode != code || !strings.Contains(errs, "No model is connected") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	for _, args := range [][]string{
		{"--max-budget", "1", said(t, `{"text":"no"}`)}, {"--max-turns", "-1"}, {"--json-schema", "/nowhere.json"}, {"--json-schema", `{"type":7}`},
	} {
		if code, out, errs := tenon(t, append([]string{"run", "x", "-s", "builtin:calc"}, args...)...); code != exitUsage || out != "" {
			t.Errorf("%q: exit code %d\n%s%s", args, code, out, errs)
		}
	}
}

// --timeout ends a run whose server does not start, one whose model does not
// answer, and one whose output nobody reads.
func TestRunTimeout(t *testing.T) {
	silent := said(t, `{"delay":"10m"}`, `{"text":"late"}`)
	code, out, errs := output(t, binary(t, "run", "x", "-s", "builtin:calc", "--timeout", "300ms", "--output", "stream-json", silent))
	if r := streamed(t, out); code != exitLimit || r[len(r)-1].Result.Stop != "timeout" || r[len(r)-1].Result.ExitCode != code {
		t.Errorf("the model: exit code %d\n%s%s", code, out, errs)
	}
	cmd := binary(t, "run", "x", "--timeout", "1s", "--allow", "hangs", "--output", "stream-json", silent)
	if err := os.MkdirAll(filepath.Join(cmd.Dir, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(cmd.Dir, "config", "tenon.json"), `{"mcpServers":{"hangs":{"command":"sleep","args":["600"]}}}`)
	code, out, errs = output(t, cmd)
	if r := streamed(t, out); code != exitLimit || r[len(r)-1].Result.Stop != "timeout" {
		t.Errorf("the server: exit code %d\n%s%s", code, out, errs)
	}
	words, err := json.Marshal(strings.Repeat("word ", 40_000))
	if err != nil {
		t.Fatal(err)
	}
	cmd = binary(t, "run", "x", "-s", "builtin:calc", "--timeout", "1s", "--output", "stream-json", said(t, fmt.Sprintf(`{"text":%s}`, words)))
	unread, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if state, err := cmd.Process.Wait(); err != nil || state.ExitCode() != exitLimit {
		t.Errorf("nobody reads: %v, %v", state, err)
	}
}

// The script of docs/scripts.md works.
func TestScriptOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- script -->\n```sh\n")
	text, _, ok := strings.Cut(rest, "\n```\n")
	if !ok {
		t.Fatal("there is no script in docs/scripts.md")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	cmd := binary(t)
	bin := t.TempDir()
	script(t, bin, "tenon", "exec "+cmd.Path+" \"$@\"\n")
	set(cmd, "PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=", "OPENAI_API_KEY=", "OLLAMA_HOST=127.0.0.1:9")
	write(t, filepath.Join(bin, "script"), text)
	cmd.Path, cmd.Args = sh, []string{"sh", filepath.Join(bin, "script")}
	code, out, errs := output(t, cmd)
	if r := streamed(t, out); code != 0 || !strings.Contains(r[0].Result.Answer, "5") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

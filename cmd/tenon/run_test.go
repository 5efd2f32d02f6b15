package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// said writes a script for a model and returns the flag that takes it.
func said(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--model=script:" + file
}

// addition is a model that adds and tells the sum.
func addition(t *testing.T) string {
	return said(t,
		`{"expect":{"has":"add"}}`, `{"text":"Let me see. "}`, `{"call":{"name":"calc__add","arguments":{"a":2,"b":3}}}`, `{"usage":{"input":100,"output":10}}`,
		`{"expect":{"role":"tool"}}`, `{"text":"It is "}`, `{"text":"${result}"}`, `{"usage":{"input":50,"output":5}}`)
}

func TestRunText(t *testing.T) {
	code, out, errs := tenon(t, "run", "-p", "add 2 and 3", "-s", "builtin:calc", "--allow", "calc/add", addition(t))
	if code != exitOK || !strings.Contains(out, "It is") || !strings.Contains(out, "5") || strings.Contains(out, "Let me see") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
	if !strings.Contains(errs, "calc__add") {
		t.Errorf("what is done is not told: %s", errs)
	}
	if code, out, errs := tenon(t, "run", "--quiet", "-p", "add 2 and 3", "-s", "builtin:calc", "--allow", "calc", addition(t)); code != exitOK || errs != "" || out == "" {
		t.Errorf("quiet: exit code %d\n%s\n%s", code, out, errs)
	}
}

func TestRunJSON(t *testing.T) {
	code, out, errs := tenon(t, "run", "-p", "add 2 and 3", "-s", "builtin:calc", "--allow", "calc", "--output", "json", addition(t))
	var got struct {
		Session, Answer, Stop string
		Calls                 []struct{ Name, Phase string }
		Usage                 struct{ Input, Output int }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v\n%s\n%s", code, err, out, errs)
	}
	if !strings.HasPrefix(got.Answer, "It is") || got.Stop != "end" || len(got.Calls) != 1 || got.Calls[0].Phase != "done" || got.Usage.Input != 150 || got.Session == "" {
		t.Errorf("got %+v", got)
	}
}

func TestRunStream(t *testing.T) {
	code, out, errs := tenon(t, "run", "-p", "add 2 and 3", "-s", "builtin:calc", "--allow", "calc", "--output", "stream-json", addition(t))
	if code != exitOK {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	var kinds []string
	last := 0
	for line := range strings.Lines(out) {
		var e struct {
			Seq  int
			Kind string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Seq <= last {
			t.Errorf("event %d after %d", e.Seq, last)
		}
		last = e.Seq
		if e.Kind != "changed" { // a server's list of tools arrives whenever it does
			kinds = append(kinds, e.Kind)
		}
	}
	all := strings.Join(kinds, " ")
	for _, want := range []string{"turn", "text", "tool tool tool", "usage"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
	if !strings.HasSuffix(all, "done result") {
		t.Errorf("it ends with %s", all)
	}
}

// What nobody allowed is refused, and the exit code says so; deny goes before
// allow.
func TestRunRefuses(t *testing.T) {
	denied := func() string {
		return said(t, `{"expect":{"has":"add"}}`, `{"call":{"name":"calc__add","arguments":{"a":2,"b":3}}}`, `{"expect":{"has":"denied"}}`, `{"text":"I may not."}`)
	}
	code, out, errs := tenon(t, "run", "-p", "add", "-s", "builtin:calc", denied())
	if code != exitDenied || !strings.Contains(out, "I may not.") || !strings.Contains(errs, "Denied: no rule allows calc/add. Use --allow calc/add.\n") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
	// A tool that is denied as a whole is not even offered.
	hidden := said(t, `{"expect":{"has":"add","absent":["calc__add"],"tools":["calc__subtract"]}}`, `{"text":"I cannot."}`)
	if code, out, errs := tenon(t, "run", "-p", "add", "-s", "builtin:calc", "--allow", "calc", "--deny", "calc/add", hidden); code != exitOK || !strings.Contains(out, "I cannot") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
}

// A rule for a server that does not exist is noticed.
func TestRunNotesRulesWithoutEffect(t *testing.T) {
	hello := said(t, `{"expect":{}}`, `{"text":"hello"}`)
	code, _, errs := tenon(t, "run", "-p", "x", "-s", "builtin:calc", "--allow", "clac/add", "--allow", "c*", "--deny", "garden", hello)
	want := "--allow clac/add has no effect: no server is called clac; did you mean calc?\n--deny garden has no effect: no server is called garden\n"
	if code != exitOK || !strings.Contains(errs, want) || strings.Count(errs, "no effect") != 2 {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestRunExitCodes(t *testing.T) {
	nothing := func() string { return said(t, `{"expect":{}}`, `{"text":"hello"}`) }
	for name, c := range map[string]struct {
		args []string
		code int
		errs string
	}{
		"no prompt":          {[]string{nothing()}, exitUsage, "the prompt is empty"},
		"no such output":     {[]string{"-p", "x", "--output", "xml", nothing()}, exitUsage, "use text, json or stream-json"},
		"no such server":     {[]string{"-p", "x", "-s", "nobody", nothing()}, exitUsage, "nobody"},
		"no such session":    {[]string{"-p", "x", "--resume", "yesterday", nothing()}, exitUsage, "session yesterday: no such session"},
		"nothing to resume":  {[]string{"-p", "x", "--resume", "last", nothing()}, exitUsage, "no session to resume"},
		"bad rule":           {[]string{"-p", "x", "--allow", "/x", nothing()}, exitUsage, "SERVER or SERVER/TOOL"},
		"no such model":      {[]string{"-p", "x", "--model", "nobody/x"}, exitUsage, "nobody"},
		"server not there":   {[]string{"-p", "x", "-s", "http://127.0.0.1:9/mcp", nothing()}, exitConnection, "refused"},
		"the model fails":    {[]string{"-p", "x", said(t, `{"expect":{}}`, `{"error":{"kind":"auth","status":401,"message":"bad key"}}`)}, exitModel, "bad key"},
		"cut short":          {[]string{"-p", "x", said(t, `{"expect":{}}`, `{"text":"half"}`, `{"done":"length"}`)}, exitLimit, "cut off at the token limit"},
		"an empty prompt":    {[]string{"-p", "-", nothing()}, exitUsage, "the prompt is empty"},
		"a resource missing": {[]string{"-p", "see @calc:x://nope", "-s", "builtin:calc", nothing()}, exitProtocol, "attach @calc:x://nope: no resource"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := tenon(t, append([]string{"run"}, c.args...)...)
			if code != c.code || !strings.Contains(errs, c.errs) {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, c.code, out, errs)
			}
		})
	}
}

// A failed run writes one document with one shape of error, whichever flag asked
// for JSON and however early it failed.
func TestRunWritesOneErrorObject(t *testing.T) {
	fails := func() string {
		return said(t, `{"expect":{}}`, `{"error":{"kind":"auth","status":401,"message":"bad key"}}`)
	}
	for name, args := range map[string][]string{
		"format, late":  {"--format", "json", fails()},
		"output, late":  {"--output", "json", fails()},
		"format, early": {"--format", "json", "-s", "http://127.0.0.1:9/mcp", fails()},
		"output, early": {"--output", "json", "-s", "http://127.0.0.1:9/mcp", fails()},
	} {
		want := exitModel
		if strings.HasSuffix(name, "early") {
			want = exitConnection
		}
		code, out, errs := tenon(t, append([]string{"run", "-p", "x"}, args...)...)
		var got struct {
			Error struct {
				Message  string
				ExitCode int
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != want || got.Error.ExitCode != code || got.Error.Message == "" {
			t.Errorf("%s: exit code %d, %v\n%s\n%s", name, code, err, out, errs)
		}
	}
}

// --allow counts before a rule of the configuration that asks, and not before
// one that denies.
func TestRunAllowCountsBeforeAsk(t *testing.T) {
	for effect, want := range map[string]int{"ask": exitOK, "deny": exitOK} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "tenon.json"), `{"permissions":[{"effect":"`+effect+`","tool":"add"}]}`)
		model := said(t, `{"expect":{"has":"add"}}`, `{"call":{"name":"calc__add","arguments":{"a":2,"b":3}}}`, `{"expect":{"has":"5"}}`, `{"text":"five"}`)
		if effect == "deny" {
			model = said(t, `{"expect":{"absent":["calc__add"]}}`, `{"text":"five"}`)
		}
		code, out, errs := tenon(t, "run", "-p", "add", "-s", "builtin:calc", "--allow", "calc/add", "--config-dir", dir, model)
		if code != want || !strings.Contains(out, "five") {
			t.Errorf("%s: exit code %d\n%s\n%s", effect, code, out, errs)
		}
	}
}

// A session goes on in another run of the program; what is read from standard
// input is what is said.
func TestRunResumes(t *testing.T) {
	t.Setenv("TENON_CONFIG_DIR", t.TempDir())
	tenon := func(in string, args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"run"}, args...), strings.NewReader(in), &out, &errs)
		return code, out.String(), errs.String()
	}
	code, out, errs := tenon("my name is Ada", "-p", "-", "--output", "json", said(t, `{"expect":{"text":"my name is Ada"}}`, `{"text":"Hello Ada."}`))
	var first struct{ Session string }
	if err := json.Unmarshal([]byte(out), &first); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v: %s", code, err, errs)
	}
	if code, _, errs := tenon("", "-p", "x", "--resume", "last", said(t, `{"text":"no"}`)); code != exitUsage || !strings.Contains(errs, "no session to resume in") {
		t.Errorf("H27: a run is the last session: exit code %d: %s", code, errs)
	}
	record := filepath.Join(t.TempDir(), "rec.jsonl")
	model := strings.TrimPrefix(said(t, `{"expect":{"has":"who am I"}}`, `{"text":"Ada."}`), "--model=")
	code, out, errs = tenon("", "-p", "who am I?", "--resume", first.Session, "--model", "record:"+record+":"+model)
	if code != exitOK || !strings.Contains(out, "Ada.") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	if data, err := os.ReadFile(record); err != nil || !strings.Contains(string(data), "my name is Ada") {
		t.Errorf("the model was not given what was said before: %v %s", err, data)
	}
}

// A server that is not named is waited for only for a while, and one that is
// named until it is there or cannot be.
func TestRunWaitsForWhatItNeeds(t *testing.T) {
	dir := t.TempDir()
	config := `{"mcpServers":{"hangs":{"command":"sleep","args":["600"]},"calc":{"builtin":"calc"}}}`
	if err := os.WriteFile(filepath.Join(dir, "tenon.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TENON_CONFIG_DIR", dir)
	var out, errs bytes.Buffer
	args := []string{"run", "-p", "add", "--allow", "calc/add", "--wait", "50ms", addition(t)}
	if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code != exitOK || !strings.Contains(out.String(), "5") {
		t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
	}
	// Interrupted while it waits for what it needs.
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if code := run(ctx, []string{"run", "-p", "@hangs:x://y", addition(t)}, strings.NewReader(""), &out, &errs); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// samplerVar makes the test binary a server of an older revision that wants the
// client's model to write, and does it by itself where it may not.
const samplerVar = "TENON_TEST_SAMPLER"

func serveSampler() {
	s := server.New(mcp.Implementation{Name: "sampler", Version: "1"}, nil)
	server.AddTool(s, "rhyme", "Write a rhyme", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		//lint:ignore SA1019 the test is about this deprecated feature
		_, err := server.Sample(c, "s", &mcp.CreateMessageParams{MaxTokens: 5, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(mcp.Text("go"))}}})
		if refused, ok := errors.AsType[*server.InputError](err); ok {
			return "a rhyme of my own: " + refused.Err.Error(), nil
		}
		return "a rhyme of the model", err
	}, nil)
	stdio.Serve(context.Background(), s, &era.ServerOptions{LegacyOnly: true})
}

// H22: without a terminal a sampling request is refused, and the call that it
// belongs to still finishes, with what the server does without a model.
func TestRunRefusesSamplingAndGoesOn(t *testing.T) {
	cmd := binary(t, "run", "-p", "rhyme please", "--allow", "sampler/rhyme", said(t,
		`{"expect":{"has":"rhyme please"}}`, `{"call":{"name":"sampler__rhyme","arguments":{}}}`,
		`{"expect":{"role":"tool","has":"a rhyme of my own: User rejected sampling request (-1)"}}`, `{"text":"It wrote by itself."}`))
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"sampler": map[string]any{"command": cmd.Path, "env": map[string]string{samplerVar: "1", "GORACE": "atexit_sleep_ms=0"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cmd.Dir, "config")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tenon.json"), string(config))
	code, out, errs := output(t, cmd)
	if code != exitOK || !strings.Contains(out, "It wrote by itself.") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
}

// Keys come from the keyring, once; a keyring that fails is not asked again.
func TestKeys(t *testing.T) {
	asked := 0
	k := &keys{read: func(service, user string) (string, error) {
		asked++
		if service != keyService || user == "openai" {
			return "", keyring.ErrNotFound
		}
		return "key of " + user, nil
	}}
	for provider, want := range map[string]string{"anthropic": "key of anthropic", "openai": ""} {
		if got, err := k.key(provider); got != want || err != nil {
			t.Errorf("%s: %q, %v", provider, got, err)
		}
	}
	broken := &keys{read: func(string, string) (string, error) { asked++; return "", errors.New("locked") }}
	asked = 0
	if _, err := broken.key("a"); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("a locked keyring: %v", err)
	}
	if key, err := broken.key("b"); key != "" || err != nil || asked != 1 {
		t.Errorf("asked again: %q, %v, %d times", key, err, asked)
	}
}

// H5: a key that was found and does not work is an error, not the keyword
// matcher.
func TestRejectedKeyIsAnError(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refuses.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for at, want := range map[string]string{refuses.URL: "the API key was rejected", gone.URL: "no server at"} {
		t.Setenv("ANTHROPIC_API_KEY", "sk-wrong")
		t.Setenv("ANTHROPIC_BASE_URL", at)
		for _, command := range [][]string{{"run", "-p", "add 2 and 3", "-s", "builtin:calc", "--allow", "calc"}, {"chat", "-s", "builtin:calc"}} {
			code, out, errs := tenon(t, command...)
			if code != exitModel || out != "" || !strings.Contains(errs, want) || !strings.Contains(errs, "ANTHROPIC_API_KEY") || strings.Contains(errs, "sk-wrong") {
				t.Errorf("%s: exit code %d\n%s\n%s", command[0], code, out, errs)
			}
		}
	}
}

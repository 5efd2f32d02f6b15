package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// chat runs tenon chat with lines as input.
func chat(t *testing.T, typed string, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("TENON_CONFIG_DIR", t.TempDir())
	t.Chdir(t.TempDir())
	var o, e bytes.Buffer
	code = run(t.Context(), append([]string{"chat"}, args...), strings.NewReader(typed), &o, &e)
	if strings.Contains(o.String(), "\x1b") {
		t.Errorf("there is an escape sequence in\n%q", o.String())
	}
	return code, o.String(), e.String()
}

func TestChatOffersBuiltinsWhereNothingIsConfigured(t *testing.T) {
	code, out, errs := chat(t, "add 2 and 3\nonce\n/servers\n", "--model", "none")
	if code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	for _, want := range []string{"No servers are configured. Using the builtin servers calc and fs", "No model connected · matching keywords", "Allow calc/add?", "Allowed once", "fs "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	_, out, _ = chat(t, "/servers\n", "--model", "none", "--no-builtins")
	if !strings.Contains(out, "No servers. Add one with tenon config add NAME -- COMMAND.") {
		t.Errorf("--no-builtins:\n%s", out)
	}
}

// The first lines say once which model answers, or how to connect one.
func TestChatInPlainLinesBeginsWithTheModel(t *testing.T) {
	_, out, errs := chat(t, "", "--model", "none", "-s", "builtin:calc")
	const want = "Model: No model connected · matching keywords: selected by name\nTo connect one, run tenon auth key anthropic"
	if !strings.HasPrefix(out, want) || strings.Count(out, "No model connected") != 1 || strings.Contains(out, "none/keyword") {
		t.Errorf("%s\n%s", out, errs)
	}
	script := filepath.Join(t.TempDir(), "talk.jsonl")
	if err := os.WriteFile(script, []byte(`{"script":1,"model":{"provider":"script","name":"demo"}}`+"\n{\"when\":{}}\n{\"text\":\"x\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, errs = chat(t, "", "--model", "script:"+script, "-s", "builtin:calc")
	if !strings.HasPrefix(out, "Model: script/demo (a script, not a language model): selected by name\nServers: calc.") || strings.Count(out, "script/demo") != 1 {
		t.Errorf("%s\n%s", out, errs)
	}
}

func TestChatWithRulesAndAScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "talk.jsonl")
	text := `{"script":1,"model":{"provider":"script","name":"demo"}}
{"expect":{"role":"user"}}
{"call":{"name":"calc__add","arguments":{"a":40,"b":2}}}
{"done":""}
{"expect":{"role":"tool"}}
{"text":"It is ${result}."}
{"done":""}
`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := chat(t, "what is the answer?\n", "--model", "script:"+script, "--server", "builtin:calc", "--allow", "calc/add")
	if code != 0 || strings.Contains(out, "May calc") || !strings.Contains(out, "Allowed by --allow") || !strings.Contains(out, "It is ") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
}

func TestChatMistakes(t *testing.T) {
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"--theme", "pink"}, "use auto, light, dark or plain"},
		{[]string{"--model", "none", "--resume", "nothing"}, "nothing"},
		{[]string{"--model", "none", "--resume", "last"}, "no session to resume"},
		{[]string{"--model", "none", "--resume"}, "needs a terminal"},
		{[]string{"--model", "none", "--resume", "a", "b"}, "unexpected argument"},
	} {
		code, _, errs := chat(t, "", tt.args...)
		if code != exitUsage || !strings.Contains(errs, tt.says) {
			t.Errorf("%q: exit code %d, %q", tt.args, code, errs)
		}
	}
}

func TestChatIsResumed(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := t.TempDir()
	var o, e bytes.Buffer
	first := []string{"chat", "--config-dir", dir, "--model", "none", "--server", "builtin:calc", "--allow", "calc"}
	if code := run(t.Context(), first, strings.NewReader("add 2 and 3\n"), &o, &e); code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, &o, &e)
	}
	o.Reset()
	if code := run(t.Context(), append(first, "--resume", "last"), strings.NewReader("/save talk.md\n/sessions\n"), &o, &e); code != 0 || !strings.Contains(o.String(), "add 2 and 3") {
		t.Errorf("exit code %d\n%s\n%s", code, &o, &e)
	}
	text, err := os.ReadFile("talk.md")
	if err != nil || !strings.Contains(string(text), "# add 2 and 3") {
		t.Errorf("%s %v", text, err)
	}
}

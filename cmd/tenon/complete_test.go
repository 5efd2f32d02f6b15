package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// completed runs the program as a completion script does, and returns what it
// proposes and the directive.
func completed(t *testing.T, cmd *exec.Cmd) (all []string, directive string) {
	t.Helper()
	code, out, errs := output(t, cmd)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 {
		t.Fatalf("%q: exit code %d\n%s%s", cmd.Args[1:], code, out, errs)
	}
	for _, line := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(line, "\t")
		all = append(all, word)
	}
	return all, lines[len(lines)-1]
}

// palette is a server with something to complete of each kind. Some of it must
// not be proposed: it could not be shown, or would run in a shell.
func palette(t *testing.T) string {
	t.Helper()
	bodies := map[string]string{
		mcp.MethodDiscover: `{"capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}}}`,
		mcp.MethodToolsList: `{"tools":[{"name":"paint","inputSchema":{"type":"object","properties":{"colour":{"enum":["red","green"]},"wet":{"type":"boolean"}}}},
			{"name":"leak","inputSchema":{"type":"object","properties":{"x":{"enum":["@/home/ada/secret"]},"x=@/home/ada/secret":{"type":"string"},"--yes":{"type":"string"}}}},
			{"name":"--yes","inputSchema":{"type":"object"}},
			{"name":"$(touch ran)","inputSchema":{"type":"object"}},{"name":"a\u001b[31mb","inputSchema":{"type":"object"}}]}`,
		mcp.MethodResourcesList:         `{"resources":[{"uri":"wall://north","name":"n"},{"uri":"wall://south","name":"s"}]}`,
		mcp.MethodResourceTemplatesList: `{"resourceTemplates":[{"uriTemplate":"floor://{room}","name":"f"}]}`,
		mcp.MethodPromptsList:           `{"prompts":[{"name":"critique","arguments":[{"name":"tone"}]}]}`,
		mcp.MethodComplete:              `{"completion":{"values":["kitchen"]}}`,
	}
	return listening(t, mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		body, ok := bodies[c.Method]
		if !ok {
			return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no %s", c.Method)
		}
		return mcp.Result{Body: json.RawMessage(body)}, nil
	}))
}

// C16: completion knows servers, what they have, and the values of flags.
func TestCompletion(t *testing.T) {
	url := palette(t)
	for _, c := range []struct {
		args []string
		want string // the proposals, separated by spaces, and the directive
	}{
		{[]string{"too"}, "tools :4"},
		{[]string{"tools", "builtin:c"}, "builtin:calc :4"},
		{[]string{"tools", "mi"}, "mine :4"},
		{[]string{"auth", "login", "mi"}, "mine :4"},
		{[]string{"inspect", "mi"}, "mine :4"},
		{[]string{"config", "remove", ""}, "mine :4"},
		{[]string{"chat", "-s", "mi"}, "mine :4"},
		{[]string{"replay", "x", "mi"}, "mine :4"},
		{[]string{"replay", ""}, ":0"},
		{[]string{"call", "mine", "p"}, "paint :4"},
		{[]string{"call", url, "p"}, "paint :4"},
		{[]string{"tools", url, "p"}, "paint :4"},
		{[]string{"tools", "approve", url, "p"}, "paint :4"},
		{[]string{"call", url, "paint", ""}, "colour= wet= :6"},
		{[]string{"call", url, "paint", "wet=true", ""}, "colour= :6"},
		{[]string{"call", url, "paint", "colour="}, "colour=green colour=red :4"},
		{[]string{"call", url, "leak", ""}, "x= :6"},
		{[]string{"call", url, "leak", "x="}, "x=@@/home/ada/secret :4"},
		{[]string{"call", url, "leak", "x=@@"}, "x=@@/home/ada/secret :4"},
		{[]string{"call", url, "leak", "x=@/home/ada/"}, ":4"},
		{[]string{"tools", url, ""}, "$(touch ran) leak paint :4"},
		{[]string{"call", url, "paint", "wet=t"}, "wet=true :4"},
		{[]string{"call", url, "\x1b"}, ":4"},
		{[]string{"call", url, "a"}, ":4"}, // a name that cannot be shown
		{[]string{"read", url, ""}, "floor:// wall://north wall://south :6"},
		{[]string{"read", url, "wall://s"}, "wall://south :4"},
		{[]string{"read", url, "floor://k"}, "floor://kitchen :4"},
		{[]string{"listen", url, "--resource", "wall://n"}, "wall://north :4"},
		{[]string{"prompt", url, ""}, "critique :4"},
		{[]string{"prompt", url, "critique", "t"}, "tone= :6"},
		{[]string{"raw", url, "tools/l"}, "tools/list :4"},
		{[]string{"doctor", url, ""}, ":4"},
		{[]string{"call", "x", "--", ""}, ":0"},
		{[]string{"tools", "--format", ""}, "json jsonl text yaml :4"},
		{[]string{"tools", "--format=j"}, "json jsonl :4"},
		{[]string{"tools", "--color", "a"}, "always auto :4"},
		{[]string{"tools", "--revision", "2026"}, "2026-07-28 :4"},
		{[]string{"tools", "--project", ""}, ":16"},
		{[]string{"call", url, "paint", "--save", ""}, ":16"},
		{[]string{"run", "--output", "s"}, "stream-json :4"},
		{[]string{"run", "--model", "au"}, "auto :4"},
		{[]string{"run", "--model", "anth"}, "anthropic anthropic/ :6"},
		{[]string{"run", "-s", "builtin:calc", "--allow", "calc/a"}, "calc/add calc/average :4"},
		{[]string{"serve", "f"}, "fs :4"},
		{[]string{"serve", "fs", "r"}, "readonly= root= :6"},
		{[]string{"completion", "b"}, "bash :4"},
		{[]string{"version", ""}, ":4"},
	} {
		cmd := binary(t, append([]string{"__complete"}, c.args...)...)
		configure(t, cmd, `{"mcpServers":{"mine":{"url":"`+url+`"}}}`)
		all, directive := completed(t, cmd)
		if got := strings.Join(append(all, directive), " "); got != c.want {
			t.Errorf("%q: %s, not %s", c.args, got, c.want)
		}
	}
}

// configure writes the person's own configuration for a process.
func configure(t *testing.T, cmd *exec.Cmd, text string) {
	t.Helper()
	dir := filepath.Join(cmd.Dir, "config")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tenon.json"), text)
}

// C16: the models of a provider are those that it lists.
func TestCompletionOfModels(t *testing.T) {
	cmd := binary(t, "__complete", "run", "--model", "ollama/")
	set(cmd, "OLLAMA_HOST", providing(t, `{"object":"list","data":[{"id":"small"},{"id":"large"}]}`))
	if all, _ := completed(t, cmd); !slices.Equal(all, []string{"ollama/large", "ollama/small"}) {
		t.Errorf("%q", all)
	}
}

// C16: completion starts no server of a project that is not approved, and one
// that is.
func TestCompletionStartsOnlyApprovedServers(t *testing.T) {
	home := t.TempDir()
	program := script(t, home, "server", "touch "+home+"/ran\nexec \"$TENON\" serve calc\n")
	try := func(args ...string) (string, bool) {
		cmd := binary(t, args...)
		write(t, filepath.Join(home, ".mcp.json"), `{"mcpServers":{"theirs":{"command":"`+program+`","env":{"TENON":"`+cmd.Path+`","TENON_TEST_MAIN":"1"}}}}`)
		cmd.Dir = home
		set(cmd, "TENON_CONFIG_DIR", home+"/config")
		_, out, errs := output(t, cmd)
		_, err := os.Stat(home + "/ran")
		os.Remove(home + "/ran")
		return out + errs, err == nil
	}
	if out, ran := try("__complete", "call", "theirs", ""); ran || strings.Contains(out, "add") {
		t.Errorf("a server that is not approved was started (%v): %s", ran, out)
	}
	if out, _ := try("config", "approve", "theirs", "--yes"); !strings.Contains(out, "Approved theirs") {
		t.Fatal(out)
	}
	if out, ran := try("__complete", "call", "theirs", ""); !ran || !strings.Contains(out, "add\n") {
		t.Errorf("an approved server: started %v, %s", ran, out)
	}
}

// C16: a server that never answers does not keep a Tab waiting for ever.
func TestCompletionGivesUp(t *testing.T) {
	cmd := binary(t, "__complete", "call", "silent", "")
	configure(t, cmd, `{"mcpServers":{"silent":{"command":"`+script(t, t.TempDir(), "silent", "trap '' TERM\ncat > /dev/null\nsleep 1000\n")+`"}}}`)
	if all, _ := completed(t, cmd); len(all) != 0 {
		t.Errorf("%q", all)
	}
}

// The line of bash is understood as bash reads it, and what is inserted is
// quoted, so that nothing in it runs.
func TestBashLines(t *testing.T) {
	const breaks = " \t\n\"'@><=;|&(:"
	for _, c := range []struct{ line, done, word, proposal, insert string }{
		{`tenon to`, "tenon", "to", "tools", "tools "},
		{`tenon tools builtin:ca`, "tenon|tools", "builtin:ca", "builtin:calc", "calc "},
		{`tenon call s t colour=re`, "tenon|call|s|t", "colour=re", "colour=red", "red "},
		{`tenon call s t col`, "tenon|call|s|t", "col", "colour=", "colour="},
		{`tenon call s 'my to`, "tenon|call|s", "my to", "my tool", "my tool"},
		{`tenon call s "my to`, "tenon|call|s", "my to", "my $tool", `my \$tool`},
		{`tenon call s my\ to`, "tenon|call|s", "my to", "my tool", `my\ tool `},
		{`tenon call s t name='a b`, "tenon|call|s|t", "name=a b", "name=a b c", "a b c"},
		{`tenon call s `, "tenon|call|s", "", "$(touch ran)`x`;y", "\\$\\(touch\\ ran\\)\\`x\\`\\;y "},
		{`tenon call s 'a' "b c" ''  `, "tenon|call|s|a|b c|", "", "d", "d "},
		{`tenon read s wall\:`, "tenon|read|s", "wall:", "wall:x", "wall:x "},
		{`tenon call s it'`, "tenon|call|s", "it", "it's", ""},
	} {
		l := parseBash(c.line, breaks)
		text, ok := l.insert(c.proposal, true)
		if !ok {
			text = ""
		}
		if strings.Join(l.done, "|") != c.done || l.word != c.word || text != c.insert {
			t.Errorf("%s: %q, %q, inserted %q, not %q", c.line, l.done, l.word, text, c.insert)
		}
	}
}

// providing is a provider of models on this machine that answers everything with
// the body, and returns its address.
func providing(t *testing.T, body string) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// C5: --timeout counts for the connecting, too. The server never answers; the
// default for connecting is 30 s.
func TestTimeoutCountsForConnecting(t *testing.T) {
	silent := script(t, t.TempDir(), "silent", "cat > /dev/null\n")
	for _, args := range [][]string{{"tools"}, {"doctor"}} {
		cmd := binary(t, append(args, "--timeout", "200ms", "--", silent)...)
		guard := time.AfterFunc(25*time.Second, func() { cmd.Process.Kill() })
		code, out, errs := output(t, cmd)
		guard.Stop()
		if want := map[string]int{"tools": exitConnection, "doctor": exitTool}[args[0]]; code != want {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, errs)
		}
	}
}

// C9: what a failing server wrote to stdout is shown.
func TestFailingServerPrintsToStdout(t *testing.T) {
	program := script(t, t.TempDir(), "broken", "echo 'Error: API_TOKEN is missing'\nexit 1\n")
	for _, command := range []string{"tools", "doctor"} {
		if code, out, errs := output(t, binary(t, command, "--", program)); code == 0 || !strings.Contains(out+errs, "API_TOKEN is missing") {
			t.Errorf("%s: exit code %d\n%s%s", command, code, out, errs)
		}
	}
}

// C10: doctor says what is wrong with answers that cannot be matched, and does
// not blame a program for being ended by it.
func TestDoctorJudgesAnswers(t *testing.T) {
	var all sync.WaitGroup // each waits for its timeouts
	defer all.Wait()
	for _, c := range []struct{ name, answer, want, not string }{
		{"string id", `{"jsonrpc":"2.0","id":"1","result":{}}`, "which is text", "says nothing"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, "a batch", "says nothing"},
		{"other id", `{"jsonrpc":"2.0","id":77,"result":{}}`, "id 77, which no request has", "says nothing"},
		{"nothing", ``, "says nothing", "was ended"},
	} {
		program := script(t, t.TempDir(), "server", "trap 'exit 1' TERM\nwhile read -r line; do printf '%s\\n' '"+c.answer+"'; done\nsleep 100\n")
		cmd := binary(t, "doctor", "--once", "--timeout", "1s", "--", program)
		all.Go(func() {
			code, out, errs := output(t, cmd)
			if code != exitTool || !strings.Contains(strings.Join(strings.Fields(out), " "), c.want) || strings.Contains(out, c.not) {
				t.Errorf("%s: exit code %d\n%s%s", c.name, code, out, errs)
			}
		})
	}
}

// C11: the data of an error is shown, and scripts get an error object.
func TestErrorsHaveTheirData(t *testing.T) {
	url := failing(t, mcp.Errorf(-32050, "out of stock").With(map[string]any{"sku": "A-7", "left": 0}))
	code, out, errs := output(t, binary(t, "call", url, "buy"))
	if code != exitProtocol || out != "" || !strings.Contains(errs, "out of stock (-32050)") || !strings.Contains(errs, `"sku":"A-7"`) {
		t.Errorf("text: exit code %d\n%s%s", code, out, errs)
	}
	for _, format := range []string{"json", "jsonl"} {
		code, out, errs = output(t, binary(t, "call", url, "buy", "--format", format))
		var got struct {
			Error struct {
				Code     int
				Message  string
				ExitCode int
				Data     struct{ SKU string }
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitProtocol || got.Error.Code != -32050 || got.Error.Message != "out of stock" || got.Error.Data.SKU != "A-7" || got.Error.ExitCode != exitProtocol {
			t.Errorf("%s: exit code %d, %v, %+v\n%s%s", format, code, err, got, out, errs)
		}
	}
	if code, out, errs := output(t, binary(t, "tools", "nobody", "--format", "json")); code != exitUsage || !strings.Contains(out, `"exitCode": 2`) {
		t.Errorf("a mistake of the command line: exit code %d\n%s%s", code, out, errs)
	}
}

// C11: tenon shell shows the data of an error, too.
func TestErrorsHaveTheirDataInTheShell(t *testing.T) {
	cmd := binary(t, "shell", failing(t, mcp.Errorf(-32050, "out of stock").With(map[string]any{"sku": "A-7"})))
	cmd.Stdin = strings.NewReader("call buy\n")
	if code, out, errs := output(t, cmd); code != exitProtocol || !strings.Contains(errs, "out of stock (-32050)\n  data: {\"sku\":\"A-7\"}") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// C15: a model that cannot be reached, or refuses the key, is exit code 5.
func TestUnreachableModel(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refuses.Close()
	var all sync.WaitGroup // each waits between its tries
	defer all.Wait()
	for _, at := range []string{gone.URL, refuses.URL} {
		for _, c := range []struct{ model, variable string }{{"anthropic/claude-x", "ANTHROPIC_BASE_URL"}, {"anthropic", "ANTHROPIC_BASE_URL"}, {"openai/gpt-x", "OPENAI_BASE_URL"}, {"ollama/x", "OLLAMA_HOST"}} {
			cmd := binary(t, "run", "hello", "-s", "builtin:calc", "--model", c.model)
			for name, value := range map[string]string{c.variable: at, "ANTHROPIC_API_KEY": "sk-x", "OPENAI_API_KEY": "sk-x"} {
				set(cmd, name, value)
			}
			all.Go(func() {
				if code, out, errs := output(t, cmd); code != exitModel || out != "" || errs == "" {
					t.Errorf("%s at %s: exit code %d\n%s%s", c.model, at, code, out, errs)
				}
			})
		}
	}
}

// C17: progress is for terminals, and --save says where the bytes went.
func TestProgressAndSavedFiles(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "x", Version: "1"}, nil)
	server.AddTool(s, "draw", "", func(_ context.Context, c *mcp.Call, _ struct{}) (*mcp.CallToolResult, error) {
		for i := range 100 {
			server.Progress(c, float64(i), 100, "drawing")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("bytes"), MIMEType: "image/png"}}}, nil
	}, nil)
	url := listening(t, s)
	cmd := binary(t, "call", url, "draw", "--save", "pictures")
	code, out, errs := output(t, cmd)
	if code != 0 || errs != "Saved pictures/1.png\n" {
		t.Errorf("exit code %d\n%q\n%q", code, out, errs)
	}
	if data, err := os.ReadFile(filepath.Join(cmd.Dir, "pictures", "1.png")); err != nil || string(data) != "bytes" {
		t.Errorf("%q, %v", data, err)
	}
}

// C12: a recording that is not made leaves the older one, files are for the
// person alone, and tap never overwrites a recording.
func TestRecordingsAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.txtar")
	if err := os.WriteFile(file, []byte("older"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, server := range []string{"no-such", "builtin:none"} {
		if code, _, errs := output(t, binary(t, "record", server, "-o", file)); code == 0 {
			t.Errorf("%s: exit code %d\n%s", server, code, errs)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "older" {
			t.Errorf("%s: the older recording is %q, %v", server, text, err)
		}
	}
	if code, _, errs := output(t, binary(t, "record", "builtin:calc", "-o", file)); code != 0 {
		t.Error(errs)
	}
	private(t, file)

	if runtime.GOOS == "windows" {
		return
	}
	tapped := filepath.Join(filepath.Dir(file), "t.txtar")
	for i, want := range []string{tapped, filepath.Join(filepath.Dir(file), "t-2.txtar"), filepath.Join(filepath.Dir(file), "t-3.txtar")} {
		cmd := binary(t, "tap", "-o", tapped, "--", "cat")
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
		if code, _, errs := output(t, cmd); code != 0 {
			t.Fatalf("%d: exit code %d\n%s", i, code, errs)
		}
		private(t, want)
	}
}

func private(t *testing.T, file string) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("%s has mode %v and %d bytes", file, info.Mode(), info.Size())
	}
}

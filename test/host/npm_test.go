package host

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/mcp"
)

// peers is where test/peers/install.sh puts the servers from npm.
const peers = "../peers/node"

// node returns the program and the script of a reference server.
func node(t *testing.T, name string) (program, script string) {
	t.Helper()
	program, err := exec.LookPath("node")
	if err != nil {
		needtest.Missing(t, "node is not installed; run test/peers/install.sh")
	}
	if _, err := os.Stat(peers + "/node_modules/.installed.json"); err != nil {
		needtest.Missing(t, "the servers from npm are not installed; run test/peers/install.sh")
	}
	script, err = filepath.Abs(filepath.Join(peers, "node_modules", "@modelcontextprotocol", name, "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	return program, script
}

// reference is an entry for a reference server over stdio.
func reference(t *testing.T, name, as string, env map[string]string, args ...string) config.Server {
	t.Helper()
	program, script := node(t, name)
	return config.Server{Name: as, Kind: config.Stdio, Command: program, Args: append([]string{script}, args...), Env: env}
}

// referenceHTTP starts server-everything over HTTP on a free port.
func referenceHTTP(t *testing.T, as string) config.Server {
	t.Helper()
	program, script := node(t, "server-everything")
	loopback, err := filepath.Abs(peers + "/loopback.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--import", "file://"+filepath.ToSlash(loopback), script, "streamableHttp")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() { // ends with the process
		for in := bufio.NewScanner(out); in.Scan(); {
			if strings.HasPrefix(in.Text(), "http://") {
				select {
				case address <- in.Text():
				default:
				}
			}
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		reading.Wait()
		_ = cmd.Wait()
	})
	select {
	case url := <-address:
		return config.Server{Name: as, Kind: config.HTTP, URL: url}
	case <-time.After(long):
		t.Fatal("the server did not say where it listens")
	}
	return config.Server{}
}

// The everything server, over stdio and HTTP: a loop, parallel calls, progress,
// every kind of content, an attachment, a prompt, questions and sampling.
func TestEverything(t *testing.T) {
	for by, entry := range map[way]func(*testing.T) config.Server{
		overStdio: func(t *testing.T) config.Server { return reference(t, "server-everything", "every", nil) },
		overHTTP:  func(t *testing.T) config.Server { return referenceHTTP(t, "every") },
	} {
		t.Run(string(by), func(t *testing.T) {
			w := open(t, lines(
				m{"when": m{"has": "sing a song"}}, m{"text": "la la la"},

				m{"expect": m{"has": "go", "tools": []string{"every__echo", "every__get-sum"}}},
				call("every__echo", m{"message": "one"}), call("every__get-sum", m{"a": 2, "b": 3}), call("every__get-structured-content", m{"location": "Chicago"}),
				expect("The sum of 2 and 3 is 5."),
				call("every__get-tiny-image", m{}), call("every__get-resource-links", m{"count": 2}), call("every__trigger-long-running-operation", m{"duration": 0.2, "steps": 4}),
				expect("link to the resource"),
				call("every__trigger-elicitation-request", m{}),
				expect("Ada"),
				call("every__trigger-url-elicitation", m{"url": "https://example.com/pay", "message": "Pay"}),
				expect("completed the URL elicitation"),
				call("every__trigger-sampling-request", m{"prompt": "sing a song", "maxTokens": 20}),
				expect("la la la"), m{"text": "done"},

				expect("Resource 7"), m{"text": "read"},
				expect("weather in Bern"), m{"text": "sunny"},
				expect("wrong"), call("every__get-sum", m{"a": "two"}), m{"expect": m{"role": "tool", "error": true}}, m{"text": "sorry"},
			), []config.Server{entry(t)}, nil)
			w.answering(answerEverything)
			w.ready("every")
			session := w.send("go")
			w.sendTo(session, "look at @every:demo://resource/dynamic/text/7")
			w.sendTo(session, "/every:args-prompt city=Bern")
			w.sendTo(session, "wrong")
			progress := 0
			for _, e := range w.told() {
				if e.Kind == host.EventTool && e.Call.Progress > 0 {
					progress++
				}
			}
			if progress < 4 {
				t.Errorf("progress was told %d times", progress)
			}
			if n := w.script.Left(); n != 0 {
				t.Errorf("%d turns are left", n)
			}
			image := slices.ContainsFunc(w.calls(), func(c *host.ToolCall) bool {
				return c.Result != nil && slices.ContainsFunc(c.Result.Content, func(c mcp.Content) bool { _, ok := c.(*mcp.ImageContent); return ok })
			})
			if !image {
				t.Error("there is no picture for the person")
			}
			for _, kind := range []host.AskKind{host.AskForm, host.AskURL, host.AskSampling} {
				for _, a := range w.asked(kind) {
					if a.Server != "every" || a.Session != session.ID {
						t.Errorf("%s: asked by %q in session %q", kind, a.Server, a.Session)
					}
				}
				if len(w.asked(kind)) == 0 {
					t.Errorf("nobody was asked for %s", kind)
				}
			}
		})
	}
}

func answerEverything(a host.Ask) *host.Reply {
	switch a.Kind {
	case host.AskForm:
		return &host.Reply{Action: "accept", Content: json.RawMessage(`{"name":"Ada","check":true,"number":7}`)}
	case host.AskURL, host.AskSampling:
		return &host.Reply{Action: "accept"}
	}
	return &host.Reply{Action: "deny"}
}

// The filesystem and the memory server work together with one of ours; a path
// outside is an error that the model is told of.
func TestFilesystemAndMemory(t *testing.T) {
	dir := t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if err := os.WriteFile(filepath.Join(dir, "facts.txt"), []byte("Ada likes tea."), 0o600); err != nil {
		t.Fatal(err)
	}
	servers := []config.Server{
		reference(t, "server-filesystem", "files", nil, dir),
		reference(t, "server-memory", "memory", map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}),
		inMemory.own(t, "calc", nil),
	}
	w := open(t, lines(
		m{"expect": m{"has": "remember", "tools": []string{"files__read_text_file", "memory__create_entities", "calc__add"}}},
		call("files__read_text_file", m{"path": filepath.Join(dir, "facts.txt")}), call("calc__add", m{"a": 1, "b": 2}),
		expect("Ada likes tea"),
		call("memory__create_entities", m{"entities": []m{{"name": "Ada", "entityType": "person", "observations": []string{"likes tea"}}}}),
		call("files__write_file", m{"path": filepath.Join(dir, "done.txt"), "content": "done"}),
		expect("Ada"),
		call("memory__search_nodes", m{"query": "tea"}), call("files__read_text_file", m{"path": "/etc/passwd"}),
		expect("outside allowed directories"), m{"text": "Remembered."},
	), servers, nil)
	w.ready("files", "memory", "calc")
	w.send("remember what is in facts.txt")
	calls := w.calls()
	if got := calls[4].ForModel; !strings.Contains(got, "likes tea") {
		t.Errorf("the memory holds %s", got)
	}
	if last := calls[5]; last.Phase != host.CallFailed || last.Result == nil || !last.Result.IsError {
		t.Errorf("a path outside: %+v", last)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "done.txt")); err != nil || string(got) != "done" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

// A server of npm that is killed in a call is started again, like any other.
func TestEverythingKilled(t *testing.T) {
	w := open(t, lines(
		expect("go"), call("every__trigger-long-running-operation", m{"duration": 60, "steps": 60}), expect("did not come to a result"), m{"text": "oh"},
		expect("again"), call("every__echo", m{"message": "back"}), expect("Echo: back"), m{"text": "ok"},
	), []config.Server{reference(t, "server-everything", "every", nil)}, nil)
	w.ready("every")
	done := make(chan struct{})
	go func() {
		defer close(done)
		eventually(t, "the call runs", func() bool { c := w.calls(); return len(c) == 1 && c[0].Progress > 0 })
		kill(t, w.Fleet.Get("every").State().Pid)
	}()
	session := w.send("go")
	<-done
	eventually(t, "it is back", func() bool { st := w.Fleet.Get("every").State(); return st.Usable() && st.Starts == 2 })
	w.sendTo(session, "again")
}

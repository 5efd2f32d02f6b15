package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/ptytest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

const (
	formSecret     = "Vx83kq/Lz0+w" // typed into a form
	argumentSecret = "Pn51tr/Hc9+y" // passed by the model, and typed with /call
)

// lockers serves tools that take secrets and says them again in every way that
// a host keeps: in a result, its structured content, progress and an error.
func lockers(t *testing.T) (url string, got chan string) {
	t.Helper()
	got = make(chan string, 16)
	s := server.New(mcp.Implementation{Name: "depot", Version: "1"}, nil)
	server.AddTool(s, "open_locker", "Open a locker", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		in, err := server.Elicit[struct {
			Locker   int    `json:"locker"`
			Passcode string `json:"passcode"`
		}](c, "code", "Which locker shall be opened?")
		if err != nil {
			return "", err
		}
		got <- in.Passcode
		server.Progress(c, 1, 2, "trying "+in.Passcode)
		return fmt.Sprintf("opened with %s (%s)", in.Passcode, base64.StdEncoding.EncodeToString([]byte("code:"+in.Passcode))), nil
	}, nil)
	type login struct {
		User     string `json:"user"`
		Password string `json:"password"`
		Body     string `json:"body,omitzero"`
	}
	server.AddTool(s, "log_in", "Log in", func(_ context.Context, _ *mcp.Call, in login) (string, error) {
		got <- in.Password + in.Body
		return "logged in as " + in.User, nil
	}, nil)
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() { h.Shutdown(); web.Close() })
	return web.URL + streamable.Path, got
}

// noFileHolds searches all files of a folder for a secret, also in base64. It
// returns what is in the files whose names it is given, which must be there.
func noFileHolds(t *testing.T, dir, secret string, names ...string) map[string]string {
	t.Helper()
	read := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read[d.Name()] += string(data)
		for _, spelling := range []string{secret, base64.RawStdEncoding.EncodeToString([]byte("code:" + secret))[8:20]} {
			if at := bytes.Index(data, []byte(spelling)); at >= 0 {
				t.Errorf("%s holds the secret: %q", d.Name(), data[max(0, at-120):min(len(data), at+60)])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if read[name] == "" {
			t.Errorf("%s is missing or empty", name)
		}
	}
	return read
}

// chatFolder returns a configuration folder with the server depot, and a model
// that calls its tools.
func chatFolder(t *testing.T) (dir, model string, got chan string) {
	url, got := lockers(t)
	dir = t.TempDir()
	write(t, filepath.Join(dir, "tenon.json"), `{"mcpServers":{"depot":{"url":"`+url+`"}}}`)
	model = scripted(t,
		`{"expect":{"role":"user"}}`, `{"call":{"name":"depot__open_locker","arguments":{}}}`, `{"done":""}`,
		`{"expect":{"role":"tool"}}`, `{"text":"The locker said: ${result}"}`, `{"done":""}`)
	return dir, model, got
}

// stored checks the files of a chat after its form was answered.
func stored(t *testing.T, dir string, got chan string) (files map[string]string) {
	t.Helper()
	if given := <-got; given != formSecret {
		t.Errorf("the server got %q", given)
	}
	files = noFileHolds(t, dir, formSecret, "sessions.db", "audit.jsonl")
	if !strings.Contains(files["audit.jsonl"], "open_locker") {
		t.Errorf("the audit log is\n%s", files["audit.jsonl"])
	}
	if all := files["sessions.db"] + files["sessions.db-wal"]; !strings.Contains(all, "opened with [redacted]") {
		t.Error("the session is not in sessions.db")
	}
	return files
}

// H12, H13: a secret that is typed into a form of a server, in a chat of lines,
// stands in no file that Tenon keeps, also where the server repeats it.
func TestSecretOfAFormIsInNoFile(t *testing.T) {
	dir, model, got := chatFolder(t)
	s := ptytest.New(t)
	cmd := binary(t, "--config-dir", dir, "chat", "--plain", "--model", model, "--allow", "depot")
	atTerminal(t, cmd, s.TTY)
	s.Sees("> ")
	s.Press("open my locker\r")
	s.Sees("what looks like a secret (passcode)")
	s.Sees("locker (integer): ") // what is typed before the question is not an answer
	s.Press("7\r")
	s.Sees("passcode")
	s.Sees(": ")
	s.Press(formSecret + "\r")
	s.Sees("The locker said:")
	s.Sees("> ")
	s.Press("/quit\r")
	cmd.Wait()
	if strings.Contains(s.Text(), formSecret) {
		t.Errorf("the secret is on the screen:\n%q", s.Text())
	}
	stored(t, dir, got)
}

// The same on the whole screen, which also keeps what is typed: there a secret
// argument after /call is not kept either.
func TestSecretOfAFormOnTheScreenIsInNoFile(t *testing.T) {
	dir, model, got := chatFolder(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	v := openTerminal(t, dir, []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + dir, "HOME=" + t.TempDir()}, own, "chat", "--model", model, "--allow", "depot")
	v.until("1 server")
	v.types("open my locker")
	v.keys("Enter")
	v.answer("Fill in", "depot asks you to fill in a form")
	v.until("enter next")
	v.types("7")
	v.keys("Enter")
	v.types(formSecret)
	v.until("> " + strings.Repeat("•", len(formSecret)))
	v.keys("Enter")
	v.answer("Send", "depot asks you to fill in a form")
	v.until("The locker said:", "── /help")
	v.types("/call depot/log_in user=bob password=" + argumentSecret)
	v.keys("Enter")
	v.until("logged in as bob", "── /help")
	v.types("/quit ")
	v.keys("Enter")
	v.until("left with 0")
	files := stored(t, dir, got)
	noFileHolds(t, dir, argumentSecret)
	if !strings.Contains(files["history"], "open my locker") {
		t.Errorf("the history is\n%s", files["history"])
	}
}

// H12: arguments whose names say that they are secret are in no file, whether a
// model passes them or a person types them after /call. The resumed session has
// the call without them, and goes on.
func TestSecretArgumentsAreInNoFile(t *testing.T) {
	url, got := lockers(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tenon.json"), `{"mcpServers":{"depot":{"url":"`+url+`"}}}`)
	inner := `"{\"api_key\":\"` + argumentSecret + `\",\"code\":\"token = read()\"}"`
	model := scripted(t,
		`{"expect":{"role":"user"}}`, `{"call":{"name":"depot__log_in","arguments":{"user":"ada","password":"`+argumentSecret+`","body":`+inner+`}}}`, `{"done":""}`,
		`{"expect":{"role":"tool","has":"logged in as ada"}}`, `{"text":"You are in."}`, `{"done":""}`)
	s := ptytest.New(t)
	cmd := binary(t, "--config-dir", dir, "chat", "--plain", "--model", model, "--allow", "depot")
	atTerminal(t, cmd, s.TTY)
	s.Sees("> ")
	s.Press("log me in\r")
	s.Sees("You are in.")
	s.Sees("> ")
	s.Press("/call depot/log_in user=bob password=" + argumentSecret + "\r")
	s.Sees("logged in as bob")
	s.Sees("> ")
	s.Press("/quit\r")
	cmd.Wait()
	if first, second := <-got, <-got; !strings.HasPrefix(first, argumentSecret+`{"api_key":"`+argumentSecret) || second != argumentSecret {
		t.Errorf("the server got %q and %q", first, second)
	}
	noFileHolds(t, dir, argumentSecret, "sessions.db", "audit.jsonl")
	record := filepath.Join(t.TempDir(), "asked.jsonl")
	resume := binary(t, "--config-dir", dir, "run", "-p", "go on", "--resume", "last", "--model", "record:"+record+":"+scripted(t, `{"expect":{"role":"user"}}`, `{"text":"Going on."}`, `{"done":""}`))
	resume.Dir = cmd.Dir
	code, out, errs := output(t, resume)
	if code != exitOK || !strings.Contains(out, "Going on.") {
		t.Fatalf("exit code %d: %s %s", code, out, errs)
	}
	asked, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"user":"ada","password":"[redacted]"`, `token = read()`, "logged in as ada", "logged in as bob"} {
		if !strings.Contains(string(asked), want) {
			t.Errorf("the resumed session lacks %s:\n%s", want, asked)
		}
	}
}

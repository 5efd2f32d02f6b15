package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// serving starts tenon serve and waits for the address that it tells.
func servingAt(t *testing.T, args ...string) (url string) {
	t.Helper()
	url, _ = servingLogged(t, args...)
	return url
}

// servingLogged is servingAt, and returns what is written to standard error.
func servingLogged(t *testing.T, args ...string) (url string, errs *told) {
	t.Helper()
	return servingWith(t, append([]string{"serve"}, args...)...)
}

// servingWith runs a command that serves over HTTP.
func servingWith(t *testing.T, args ...string) (url string, errs *told) {
	t.Helper()
	return servingIn(t, t.TempDir(), args...)
}

// servingIn is servingWith with a configuration in a directory.
func servingIn(t *testing.T, config string, args ...string) (url string, errs *told) {
	t.Helper()
	t.Setenv("TENON_CONFIG_DIR", config)
	ctx, stop := context.WithCancel(t.Context())
	out, errs := &told{said: make(chan string, 1)}, &told{said: make(chan string, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, args, strings.NewReader(""), out, errs)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 && code != exitInterrupted {
			t.Errorf("serve ended with %d: %s", code, errs.String())
		}
	})
	select {
	case url = <-out.said:
		return url, errs
	case code := <-ended:
		ended <- code
		t.Fatalf("serve ended at once with %d: %s", code, errs.String())
	case <-time.After(time.Minute):
		t.Fatal("serve does not tell its address")
	}
	return "", nil
}

// told hears the address in what is written.
type told struct {
	mu   sync.Mutex
	text string
	said chan string
	once sync.Once
}

func (w *told) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text += string(b)
	if url := regexp.MustCompile(`https?://\S+`).FindString(w.text); url != "" && strings.HasSuffix(w.text, "\n") {
		w.once.Do(func() { w.said <- url })
	}
	return len(b), nil
}

func (w *told) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text
}

// Requests that are refused are logged, without their secrets, over both
// transports.
func TestServeLogsRefusals(t *testing.T) {
	t.Setenv("SERVE_TOKEN", "0123456789abcdef0123")
	url, errs := servingLogged(t, "calc", "--http", "127.0.0.1:0", "--sse", "--auth-token", "SERVE_TOKEN")
	for _, c := range []struct{ path, host, token, want string }{
		{"/mcp", "evil.example", "0123456789abcdef0123", `Host \"evil.example\" is not allowed: add it to Options.Hosts of the server (tenon serve and tenon gateway: --host; a gateway behind a proxy: --public-url)`},
		{"/sse", "sse.example", "0123456789abcdef0123", `\"sse.example\"`},
		{"/mcp", "", "canary-canary-canary", "status=401"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", strings.TrimSuffix(url, "/mcp")+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		req.Header.Set("Authorization", "Bearer "+c.token)
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if log := errs.String(); r.StatusCode < 400 || !strings.Contains(log, c.want) {
			t.Errorf("%s: status %d, log %s, want %s", c.path, r.StatusCode, log, c.want)
		}
	}
	if log := errs.String(); strings.Contains(log, "canary") || strings.Contains(log, "0123456789abcdef") {
		t.Errorf("a token is logged: %s", log)
	}
}

func TestServeHTTP(t *testing.T) {
	url := servingAt(t, "calc", "--http", "127.0.0.1:0")
	for _, args := range [][]string{{}, {"--revision", "2025-06-18"}} {
		if code, out, errs := tenon(t, append([]string{"call", url, "add", "a=20", "b=22"}, args...)...); code != 0 || out != "42" {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
	if code, out, errs := tenon(t, "auth", "status", url); code != 0 || !strings.Contains(out, "no login required") {
		t.Errorf("auth status: exit code %d: %s%s", code, out, errs)
	}
}

func TestServeHTTPWithToken(t *testing.T) {
	t.Setenv("SERVE_TOKEN", "0123456789abcdef0123")
	url := servingAt(t, "calc", "--http", "127.0.0.1:0", "--auth-token", "SERVE_TOKEN")
	if code, _, errs := tenon(t, "tools", url); code == 0 {
		t.Errorf("without a token: exit code %d: %s", code, errs)
	}
	r, err := http.Post(url, "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, r.Body)
	r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", r.Status)
	}
	http.DefaultClient.CloseIdleConnections()
	p := newProject(t, `{}`)
	if code, _, errs := p.tenon("config", "add", "calc", url, "--header", "Authorization=Bearer ${SERVE_TOKEN}"); code != 0 {
		t.Fatal(errs)
	}
	if code, out, errs := p.tenon("call", "calc", "add", "a=20", "b=22"); code != 0 || out != "42" {
		t.Errorf("with a token: exit code %d: %s%s", code, out, errs)
	}
}

// A6: a server that wants an API key is said to want one, with how to give it,
// by every command that meets it; and --header gives it. The key is not shown.
func TestMissingAPIKey(t *testing.T) {
	const key = "0123456789abcdef0123"
	t.Setenv("SERVE_TOKEN", key)
	url := servingAt(t, "calc", "--http", "127.0.0.1:0", "--auth-token", "SERVE_TOKEN")
	p := newProject(t, `{}`)
	if code, _, errs := p.tenon("config", "add", "keyed", url); code != 0 {
		t.Fatal(errs)
	}
	for _, line := range [][]string{
		{"call", url, "add", "a=20", "b=22"}, {"call", "keyed", "add", "a=20", "b=22"}, {"tools", url}, {"doctor", url}, {"auth", "status", url}, {"auth", "login", "keyed"},
		{"run", "-p", "add 2 and 3", "-s", "keyed", "--model", "none"},
	} {
		code, out, errs := p.tenon(line...)
		text := strings.Join(strings.Fields(out+errs), " ")
		for _, want := range []string{"wants a credential that Tenon does not have, such as an API key", "--header 'Authorization: Bearer KEY'", `"headers" of the server in the configuration`} {
			if code == 0 || !strings.Contains(text, want) {
				t.Errorf("%v: exit code %d, without %q: %s%s", line, code, want, out, errs)
			}
		}
		if strings.Contains(text, "register") || strings.Contains(text, "set Client") {
			t.Errorf("%v: %s%s", line, out, errs)
		}
	}
	var text string
	for range 20 { // the server may still be starting when /servers is read
		_, out, errs := chat(t, "/servers\n", "--model", "none", "--server", url)
		if text = strings.Join(strings.Fields(out+errs), " "); strings.Contains(text, "wants a credential") {
			break
		}
	}
	if !strings.Contains(text, "wants a credential") {
		t.Errorf("chat: %s", text)
	}
	if code, out, errs := p.tenon("call", url, "add", "a=20", "b=22", "-H", "Authorization: Bearer "+key, "--trace"); code != 0 || out != "42" || strings.Contains(errs, key) {
		t.Errorf("with the key: exit code %d: %s%s", code, out, errs)
	}
	for _, header := range []string{"Authorization: Bearer wrong-wrong-wrong-wrong", "X-Api-Key: wrong-wrong-wrong-wrong"} {
		code, out, errs := p.tenon("call", url, "add", "a=20", "b=22", "--header", header)
		name, _, _ := strings.Cut(header, ":")
		if code == 0 || !strings.Contains(errs, "answers 401 to the headers that it is sent ("+name+")") || strings.Contains(errs, "wrong-wrong") {
			t.Errorf("%s: exit code %d: %s%s", name, code, out, errs)
		}
	}
	if code, _, errs := p.tenon("config", "add", "basic", url, "-H", "Authorization: Basic eDp5=="); code != 0 {
		t.Error(errs)
	}
	if _, out, _ := p.tenon("config", "show", "basic"); strings.Contains(out, "eDp5") {
		t.Errorf("the key is shown: %s", out)
	}
	if _, _, errs := p.tenon("tools", "basic"); !strings.Contains(errs, "(Authorization)") {
		t.Errorf("the header was not read: %s", errs)
	}
	for _, bad := range [][]string{{url, "-H", "geheim"}, {url, "-H", "a b: geheim"}, {url, "-H", "a: b\r\ngeheim: c"}, {"builtin:calc", "-H", "a: geheim"}} {
		if code, out, errs := p.tenon(append([]string{"tools"}, bad...)...); code != exitUsage || strings.Contains(errs, "geheim") {
			t.Errorf("%q: exit code %d: %s%s", bad, code, out, errs)
		}
	}
}

func TestServeOlderHTTP(t *testing.T) {
	url := servingAt(t, "calc", "--http", "127.0.0.1:0", "--sse")
	old := "sse+" + strings.TrimSuffix(url, "/mcp") + "/sse"
	if code, out, errs := tenon(t, "call", old, "add", "a=20", "b=22"); code != 0 || out != "42" {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// Nobody serves to the world by mistake.
func TestServeRefuses(t *testing.T) {
	t.Setenv("SHORT", "secret")
	for line, want := range map[string]string{
		"calc --http 0.0.0.0:0":                                          "other machines can reach 0.0.0.0:0: require authorization with --auth-issuer or --auth-token, or serve on 127.0.0.1",
		"calc --http 127.0.0.1:0 --auth-token SHORT":                     "at least 20 characters",
		"calc --http 127.0.0.1:0 --auth-token NONE":                      "--auth-token: the environment variable NONE must hold a token of at least 20 characters",
		"calc --http 127.0.0.1:0 --auth-token A --auth-issuer https://a": "not both",
		"calc --http nowhere":                                            "nowhere",
		"fs root=/no/such/folder":                                        "/no/such/folder",
	} {
		code, _, errs := tenon(t, append([]string{"serve"}, strings.Fields(line)...)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("serve %s: exit code %d: %s", line, code, errs)
		}
	}
}

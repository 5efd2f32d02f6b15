package main

import (
	"bytes"
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
	t.Setenv("TENON_CONFIG_DIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	out := &told{said: make(chan string, 1)}
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"serve"}, args...), strings.NewReader(""), out, &errs)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 && code != exitInterrupted {
			t.Errorf("serve ended with %d: %s", code, errs.String())
		}
	})
	select {
	case url = <-out.said:
		return url
	case code := <-ended:
		ended <- code
		t.Fatalf("serve ended at once with %d: %s", code, errs.String())
	case <-time.After(30 * time.Second):
		t.Fatal("serve does not tell its address")
	}
	return ""
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
	if url := regexp.MustCompile(`http://\S+`).FindString(w.text); url != "" && strings.HasSuffix(w.text, "\n") {
		w.once.Do(func() { w.said <- url })
	}
	return len(b), nil
}

func TestServeHTTP(t *testing.T) {
	url := servingAt(t, "calc", "--http", "127.0.0.1:0")
	for _, args := range [][]string{{}, {"--revision", "2025-06-18"}} {
		if code, out, errs := tenon(t, append([]string{"call", url, "add", "a=20", "b=22"}, args...)...); code != 0 || out != "42\n" {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
	if code, out, errs := tenon(t, "auth", "status", url); code != 0 || !strings.Contains(out, "no login is wanted") {
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
	if code, out, errs := p.tenon("call", "calc", "add", "a=20", "b=22"); code != 0 || out != "42\n" {
		t.Errorf("with a token: exit code %d: %s%s", code, out, errs)
	}
}

func TestServeOlderHTTP(t *testing.T) {
	url := servingAt(t, "calc", "--http", "127.0.0.1:0", "--sse")
	old := "sse+" + strings.TrimSuffix(url, "/mcp") + "/sse"
	if code, out, errs := tenon(t, "call", old, "add", "a=20", "b=22"); code != 0 || out != "42\n" {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// Nobody serves to the world by mistake.
func TestServeRefuses(t *testing.T) {
	t.Setenv("SHORT", "secret")
	for line, want := range map[string]string{
		"calc --http 0.0.0.0:0":                                          "say who may call",
		"calc --http 127.0.0.1:0 --auth-token SHORT":                     "at least 20 characters",
		"calc --http 127.0.0.1:0 --auth-token NONE":                      "at least 20 characters",
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

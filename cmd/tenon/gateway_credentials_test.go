package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// G06: the gateway has credentials of its own, by grant or by reference, and passes
// nothing of its callers on: not to a server over HTTP, not over redirects, and not
// to a program.
func TestGatewayUsesItsOwnCredentials(t *testing.T) {
	other := newOAuthServer(t)
	notes := newProtectedServer(t, other)
	var elsewhere strings.Builder
	var mu sync.Mutex
	redirecting := newRecorder(t, &mu, &elsewhere, "")
	away := newRecorder(t, &mu, &elsewhere, redirecting)
	t.Setenv("NOTES_KEY", "static-key-of-the-gateway-1")
	dumped := filepath.Join(t.TempDir(), "dumped")
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	servers := `"notes":{"url":"` + notes.url() + `","headers":{"X-Key":"${NOTES_KEY}"},"oauth":{"grant":"client_credentials","clientId":"gw","clientSecret":"gw-secret-12345","authMethod":"client_secret_post"}},
		"away":{"url":"` + away + `"}`
	if runtime.GOOS != "windows" {
		servers += `,"calc":{"command":"/bin/sh","args":["-c","env > ` + dumped + `; echo \"$@\" >> ` + dumped + `; exec ` + me + ` serve calc","sh"],"env":{"TENON_TEST_MAIN":"1"}}`
	}
	t.Setenv("GATEWAY_TOKEN", "token-of-callers-0123456789")
	url, errs := servingEntries(t, servers, "--auth-token", "GATEWAY_TOKEN")
	u := newGatewayUser(t, "anybody", url, "token-of-callers-0123456789")
	for _, revision := range []mcp.Revision{"2026-07-28", "2025-11-25", "2024-11-05"} {
		c := u.dial(revision)
		if got := u.call(c, "notes__whoami"); got != "you are client:gw" {
			t.Errorf("%s: %s", revision, got)
		}
		if runtime.GOOS != "windows" {
			if _, err := c.CallTool(t.Context(), "calc__add", map[string]any{"a": 1, "b": 2}, nil); err != nil {
				t.Errorf("%s: %v", revision, err)
			}
		}
	}
	seen := notes.received()
	if !strings.Contains(seen, "X-Key:[static-key-of-the-gateway-1]") {
		t.Error("the header by reference is missing")
	}
	if data, err := os.ReadFile(dumped); err == nil {
		seen += string(data)
	} else if runtime.GOOS != "windows" {
		t.Error(err)
	}
	mu.Lock()
	seen += elsewhere.String()
	mu.Unlock()
	if strings.Contains(seen, "token-of-callers") {
		t.Error("the token of a caller was passed on")
	}
	for _, secret := range []string{"token-of-callers", "static-key-of-the-gateway-1", "gw-secret-12345"} {
		if strings.Contains(errs.String(), secret) {
			t.Errorf("%s was printed", secret)
		}
	}
}

// newRecorder returns the address of a server that writes down what it is sent, and
// redirects to another address if there is one.
func newRecorder(t *testing.T, mu *sync.Mutex, to *strings.Builder, redirect string) string {
	t.Helper()
	return serveTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		fmt.Fprintf(to, "%v %v\n", r.URL, r.Header)
		mu.Unlock()
		if redirect != "" {
			http.Redirect(w, r, redirect, http.StatusTemporaryRedirect)
			return
		}
		http.NotFound(w, r)
	}))
}

// A vault with grants is not usable inside a gateway, where all callers look alike.
func TestGatewayRefusesGrantsOfNotes(t *testing.T) {
	t.Setenv("TENON_CONFIG_DIR", t.TempDir())
	grants := filepath.Join(t.TempDir(), "grants.json")
	write(t, grants, `{"everyone":[{"folder":"","write":true}]}`)
	var o bytes.Buffer
	line := []string{"gateway", "--addr", "127.0.0.1:0", "-s", "builtin:notes?vault=" + t.TempDir() + "&grants=" + grants}
	if code := run(t.Context(), line, strings.NewReader(""), &o, &o); code != exitUsage || !strings.Contains(o.String(), "run tenon serve notes with --auth-issuer") {
		t.Errorf("%d %s", code, &o)
	}
}

// G12: an entry with an address that no server has is refused, however it is
// written, and costs its own tools only.
func TestGatewayRefusesAddresses(t *testing.T) {
	for i, address := range []string{"http://169.254.169.254/mcp", "http://[2002:7f00:1::]:9/mcp"} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			url, errs := servingEntries(t, `"bad":{"url":"`+address+`"},"calc":{"builtin":"calc"}`)
			u := newGatewayUser(t, "", url, "")
			c := u.dial("2026-07-28")
			if got := u.call(c, "bad__x"); !strings.Contains(got, "refused") || !strings.Contains(got, "bad") {
				t.Errorf("%s", got)
			}
			if got := u.tools(c); !slices.Contains(got, "calc__add") {
				t.Errorf("%q, %s", got, errs)
			}
		})
	}
}

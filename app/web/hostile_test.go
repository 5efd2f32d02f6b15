package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// locked is a server over HTTP that lets nobody in, and says that the person
// logs in at page.
func locked(t *testing.T, page string) string {
	t.Helper()
	var own *httptest.Server
	own = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(status int, v map[string]any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(v)
		}
		switch r.URL.Path {
		case "/.well-known/oauth-protected-resource/mcp":
			answer(http.StatusOK, map[string]any{"resource": own.URL + "/mcp", "authorization_servers": []string{own.URL}})
		case "/.well-known/oauth-authorization-server":
			answer(http.StatusOK, map[string]any{
				"issuer": own.URL, "authorization_endpoint": strings.ReplaceAll(page, "OWN", own.URL), "token_endpoint": own.URL + "/token",
				"registration_endpoint": own.URL + "/register", "response_types_supported": []string{"code"},
				"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
			})
		case "/register":
			var in map[string]any
			json.NewDecoder(r.Body).Decode(&in)
			in["client_id"] = "client"
			answer(http.StatusCreated, in)
		default:
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+own.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(func() {
		own.CloseClientConnections()
		own.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return own.URL + "/mcp"
}

// await polls for what a server becomes: real connections are made.
func (s *site) await(name string, is func(serverSummary) bool) serverSummary {
	s.t.Helper()
	var got serverSummary
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		s.get("/api/v1/servers/"+name, &got)
		if is(got) {
			return got
		}
	}
	s.t.Fatalf("%s stays %+v", name, got)
	return got
}

// I06: a page to log in at that is no page of the web is not opened, not named
// as one, and the server is shown as one that fails, with the reason.
func TestLoginPageOfAnOddKind(t *testing.T) {
	for _, page := range []string{"javascript:fetch('//evil.example')//", "JavaScript:alert(1)", "file:///etc/passwd", "data:text/html,<script>alert(1)</script>", "vbscript:x", "ms-msdt:/id"} {
		t.Run(page, func(t *testing.T) {
			s := newSite(t, nil, config.Server{Name: "odd", Kind: config.HTTP, URL: locked(t, page)}).enter()
			got := s.await("odd", func(one serverSummary) bool {
				return one.Phase == connect.Restarting || one.Phase == connect.Failed
			})
			if !strings.Contains(got.Why, "authorization_endpoint") || got.Page != "" {
				t.Errorf("it is shown as %+v", got)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, st := range s.states {
				if st.Page != "" || st.Phase == connect.NeedsLogin {
					t.Errorf("it was told as %+v", st)
				}
			}
			if len(s.opened) > 0 {
				t.Errorf("opened was %q", s.opened)
			}
		})
	}
}

// The other way round: one that is in order is shown, and opened.
func TestLoginPage(t *testing.T) {
	s := newSite(t, nil, config.Server{Name: "even", Kind: config.HTTP, URL: locked(t, "OWN/authorize")}).enter()
	got := s.await("even", func(one serverSummary) bool { return one.Phase == connect.NeedsLogin && one.Page != "" })
	if !strings.Contains(got.Page, "/authorize?") {
		t.Errorf("the page is %q", got.Page)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, page := range s.opened {
		if page != got.Page {
			t.Errorf("opened was %q", page)
		}
	}
}

// I10: 100,000 messages of 1 KB, all of them served as rows, are held in less
// than 200 MB, page and all.
func TestManyLargeMessagesStayBelow200MB(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 200 MB")
	}
	s := newSite(t, nil).enter()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	wire, pad := s.work.Log.Wire("flood"), strings.Repeat("x", 920)
	for i := range 50_000 {
		wire.Frame(jsonrpc.Out, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":{"q":"%s"}}}`, i, pad))
		wire.Frame(jsonrpc.In, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`, i, pad))
	}
	served := 0
	for at := uint64(0); ; {
		var got struct {
			Next     uint64
			Kept     int
			Messages []summary
		}
		s.get(fmt.Sprintf("/api/v1/wire?limit=5000&server=flood&before=%d", at), &got)
		for i, m := range got.Messages {
			if i > 0 && m.Seq >= got.Messages[i-1].Seq {
				t.Fatalf("%d comes after %d", m.Seq, got.Messages[i-1].Seq)
			}
		}
		served += len(got.Messages)
		if at = got.Next; at == 0 {
			break
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / 1_000_000
	t.Logf("%d messages are kept, %d were served, in %d MB", s.work.Log.Len(), served, used)
	if used >= 200 {
		t.Errorf("%d messages hold %d MB", s.work.Log.Len(), used)
	}
	if served < 90_000 {
		t.Errorf("only %d of 100,000 messages of 1 KB were served", served)
	}
	if total := int64(after.HeapAlloc) / 1_000_000; total >= 200 {
		t.Errorf("the whole process holds %d MB", total)
	}
	runtime.KeepAlive(wire)
}

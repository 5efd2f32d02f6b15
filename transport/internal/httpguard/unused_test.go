package httpguard

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A connection without a request is idle, and the time for the headers begins
// with the first bytes. net/http alone ends it after ReadHeaderTimeout: a client
// that then uses it gets EOF, or 400 if the server has read the first bytes.
func TestUnusedConnectionIsIdle(t *testing.T) {
	const served = "HTTP/1.1 204 No Content"
	for name, test := range map[string]struct {
		idle  time.Duration
		sends []sending
		reply string        // how the response begins; "" means none
		ends  time.Duration // when the response or the end arrives
	}{
		"used late":         {2 * time.Minute, []sending{{119 * time.Second, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"}}, served, 119 * time.Second},
		"used in pieces":    {2 * time.Minute, []sending{{119 * time.Second, "GET / HTTP/1.1"}, {9 * time.Second, "\r\nHost: x\r\n\r\n"}}, served, 128 * time.Second},
		"never used":        {2 * time.Minute, nil, "", 2 * time.Minute},
		"incomplete":        {2 * time.Minute, []sending{{time.Minute, "GET / HTTP/1.1\r\n"}}, "", 70 * time.Second},
		"no idle timeout":   {0, nil, "", 10 * time.Second},
		"idle timeout less": {5 * time.Second, nil, "", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far := serveUnused(t, test.idle)
				begun := time.Now()
				var sent sync.WaitGroup
				sent.Go(func() { send(far, test.sends) })
				got := make([]byte, 4096)
				n, err := far.Read(got)
				took := time.Since(begun)
				sent.Wait()
				if reply := string(got[:n]); !strings.HasPrefix(reply, test.reply) || (test.reply == "") != (n == 0 && err == io.EOF) {
					t.Errorf("read %q, %v", reply, err)
				}
				if took < test.ends || took > test.ends+2*lastRead {
					t.Errorf("it took %s instead of %s", took, test.ends)
				}
			})
		})
	}
}

// A sending is a text that is sent after a time.
type sending struct {
	after time.Duration
	text  string
}

func send(to net.Conn, all []sending) {
	for _, s := range all {
		time.Sleep(s.after)
		io.WriteString(to, s.text)
	}
}

// serveUnused serves one connection with a ReadHeaderTimeout of 10 s and returns
// the client's end.
func serveUnused(t *testing.T, idle time.Duration) net.Conn {
	near, far := net.Pipe()
	s := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idle, Protocols: new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }),
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true) // net/http reads 14 bytes first
	l := Strict(s, &onceListener{c: near, closed: make(chan struct{})})
	go s.Serve(l)
	t.Cleanup(func() { far.Close(); s.Close() })
	return far
}

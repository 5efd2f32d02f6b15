package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A probe that fails for another reason than a replica that does not answer, such
// as a lack of file descriptors here, cuts no requests in flight.
func TestOnlySilentReplicasAreCut(t *testing.T) {
	dial := func(err error) error { return unreachable{&net.OpError{Op: "dial", Net: "tcp", Err: err}} }
	system := func(no syscall.Errno) error { return dial(os.NewSyscallError("connect", no)) }
	for name, c := range map[string]struct {
		probe error
		cut   bool
	}{
		"timeout":             {unreachable{context.DeadlineExceeded}, true},
		"timeout of the dial": {dial(os.ErrDeadlineExceeded), true},
		"timeout of TCP":      {system(syscall.ETIMEDOUT), true},
		"no host":             {system(syscall.EHOSTUNREACH), true},
		"no network":          {system(syscall.ENETUNREACH), true},
		"no files":            {system(syscall.EMFILE), false},
		"no ports":            {system(syscall.EADDRNOTAVAIL), false},
		"reset":               {system(syscall.ECONNRESET), false},
		"closed":              {unreachable{io.EOF}, false},
		"no name server":      {dial(&net.DNSError{IsTimeout: true}), false},
		"refused":             {ErrGone, false},
		"answers":             {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := Member{ID: "b"}
				l := &links{by: map[string]*link{}, probe: func(Member) error { return c.probe }}
				near, far := net.Pipe()
				defer far.Close()
				conn := l.add(m, tls.Client(near, &tls.Config{ServerName: "b"}))
				defer conn.Close()
				l.begin(m)
				time.Sleep(5 * probeEvery)
				synctest.Wait()
				if got := conn.why.Load() != nil; got != c.cut {
					t.Errorf("cut: %v", got)
				}
				l.end(m)
				time.Sleep(2 * probeEvery)
			})
		})
	}
}

// A client learns within 5 seconds that a replica hangs which alone can serve its
// request, whichever step of it the replica does not answer.
func TestHangingReplicasAreNoticedInTime(t *testing.T) {
	for name, takes := range map[string]time.Duration{
		"a new connection": dialTimeout + explainTimeout,
		"a message":        probeEvery + probeTimeout + explainTimeout,
		"a stream":         pingAfter + pingTimeout + explainTimeout,
		"a broadcast":      broadcastTimeout,
	} {
		if takes > 5*time.Second {
			t.Errorf("%s: %v", name, takes)
		}
	}
}

// brokenWriter cannot be flushed.
type brokenWriter struct{ http.ResponseWriter }

var errBroken = errors.New("broken")

func (brokenWriter) FlushError() error { return errBroken }

// A handler of forwarded requests learns that its client has gone.
func TestForwardedWriterReportsErrorsOfFlush(t *testing.T) {
	w := &forwardedWriter{ResponseWriter: brokenWriter{httptest.NewRecorder()}}
	if err := http.NewResponseController(w).Flush(); err != errBroken {
		t.Errorf("got %v", err)
	}
}

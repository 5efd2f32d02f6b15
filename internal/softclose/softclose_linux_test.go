package softclose

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Clients that connect while a server ends are served, or refused before they have
// sent anything; no connection is reset.
func TestNoConnectionIsReset(t *testing.T) {
	for range 3 {
		l, err := Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var serving sync.WaitGroup
		accepted := make(chan struct{})
		go func() {
			defer close(accepted)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				serving.Go(func() { echo(c) })
			}
		}()
		var calls atomic.Int64
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for {
					err := ask(l.Addr().String())
					if errors.Is(err, syscall.ECONNREFUSED) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					calls.Add(1)
				}
			})
		}
		for calls.Load() < 50 {
			time.Sleep(time.Millisecond)
		}
		Refuse(l)
		l.Close()
		<-accepted
		clients.Wait()
		serving.Wait()
	}
}

func echo(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 5)
	if _, err := io.ReadFull(c, buf); err == nil {
		c.Write(buf)
	}
}

func ask(addr string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 5))
	return err
}

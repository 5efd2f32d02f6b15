package faults

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// mark is in the message that a fault is about; numberMark where it is a number.
const (
	mark       = "the-answer"
	numberMark = "31415926"
)

// A wire carries one connection between a client and a server.
type wire struct {
	client, server io.ReadWriteCloser
	again          func(request []byte) // sends a request once more, on another connection; nil without one
	held           chan struct{}        // closed when a wire that hangs may end
	killed         func()               // is called when the server is killed
	cut            func()               // makes the network drop all packets; nil without one
}

func (w *wire) close() {
	w.client.Close()
	w.server.Close()
}

// A change passes data on to a writer, changed. It returns false if nothing may
// be passed after it.
type change func(w *wire, to io.Writer, data []byte) bool

func pass(_ *wire, to io.Writer, data []byte) bool {
	_, err := to.Write(data)
	return err == nil
}

// wireFaults are the faults that a wire makes: what becomes of the first piece
// with the mark. Those of a server are in its responses, those of a client in its
// requests, but for slow readers, where it is the other way round.
var wireFaults = map[string]change{
	killed: func(w *wire, _ io.Writer, _ []byte) bool {
		w.killed()
		w.close()
		return false
	},
	hangs: func(w *wire, _ io.Writer, _ []byte) bool { <-w.held; return false },
	halfOpen: func(w *wire, to io.Writer, data []byte) bool {
		w.cut()
		pass(w, to, data)
		<-w.held
		return false
	},
	slowReader: slowly(32<<10, 20*time.Millisecond),
	slowWriter: slowly(1, time.Millisecond),
	garbage: func(w *wire, to io.Writer, data []byte) bool {
		return pass(w, to, []byte("\x00\xff}{ garbage\n")) && pass(w, to, data)
	},
	truncated: func(w *wire, to io.Writer, data []byte) bool { pass(w, to, data[:len(data)/2]); return false },
	duplicate: func(w *wire, to io.Writer, data []byte) bool { return pass(w, to, bytes.Repeat(data, 2)) },
	reordered: nil, // see pump
}

// ofClients are the faults of clients that are others than those of servers: the
// request itself arrives.
var ofClients = map[string]change{
	killed: func(w *wire, to io.Writer, data []byte) bool { pass(w, to, data); w.close(); return false },
	hangs: func(w *wire, to io.Writer, data []byte) bool {
		pass(w, to, data)
		<-w.held
		return true
	},
	halfOpen: func(w *wire, to io.Writer, data []byte) bool {
		pass(w, to, data)
		time.Sleep(100 * time.Millisecond) // the request must have arrived
		w.cut()
		<-w.held
		return false
	},
	duplicate: func(w *wire, to io.Writer, data []byte) bool {
		if w.again == nil { // the same stream has it twice
			return pass(w, to, bytes.Repeat(data, 2))
		}
		w.again(data)
		return pass(w, to, data)
	},
}

// slowly passes size bytes at a time.
func slowly(size int, pause time.Duration) change {
	return func(w *wire, to io.Writer, data []byte) bool {
		for len(data) > 0 {
			time.Sleep(pause)
			n := min(size, len(data))
			if !pass(w, to, data[:n]) {
				return false
			}
			data = data[n:]
		}
		return true
	}
}

// pump copies what it reads to a writer, with a fault in the first piece that has
// the mark. A nil change exchanges that piece with the next one. Slow readers are
// slow from there on.
func (w *wire) pump(to io.Writer, from io.Reader, c change, stays bool) {
	var held []byte
	buffer := make([]byte, 64<<10)
	for done := false; ; {
		n, err := from.Read(buffer)
		data, now := buffer[:n], pass
		if (!done || stays) && (done || (bytes.Contains(data, []byte(mark)) || bytes.Contains(data, []byte(numberMark)))) {
			done, now = true, c
			if c == nil {
				held = bytes.Clone(data)
				continue
			}
		}
		if n > 0 && !now(w, to, data) || held != nil && !pass(w, to, held) || err != nil {
			return
		}
		held = nil
	}
}

// run passes bytes until the server ends, and returns what waits for the end of
// the client. A fault is one of the client if fromClient.
func (w *wire) run(fault string, fromClient bool) *sync.WaitGroup {
	up, down := change(pass), change(pass)
	made, ok := wireFaults[fault]
	if special := ofClients[fault]; fromClient && special != nil {
		made = special
	}
	stays := fault == slowReader
	switch {
	case !ok:
	case fromClient != stays:
		up = made
	default:
		down = made
	}
	var waits sync.WaitGroup
	waits.Go(func() {
		w.pump(w.server, w.client, up, stays)
		if closer, ok := w.server.(interface{ CloseWrite() error }); ok {
			closer.CloseWrite()
		} else {
			w.server.Close()
		}
	})
	w.pump(w.client, w.server, down, stays)
	w.close()
	return &waits
}

// A proxy accepts connections for wires.
type proxy struct {
	listener net.Listener
	dial     func() (io.ReadWriteCloser, error)
	fault    string
	client   bool // the fault is one of the client
	http     bool // what was sent once may be sent again on another connection
	cut      func()
	held     chan struct{}
	release  func()
	released bool
	wg       sync.WaitGroup
	mu       sync.Mutex
	open     []*wire
}

// tcp dials an address.
func tcp(address string) func() (io.ReadWriteCloser, error) {
	return func() (io.ReadWriteCloser, error) { return net.Dial("tcp", address) }
}

// newProxy makes a proxy before what dial connects to. In a network, its clients
// are outside.
func newProxy(t *testing.T, dial func() (io.ReadWriteCloser, error), fault string, client bool, n *network) *proxy {
	t.Helper()
	p := &proxy{dial: dial, fault: fault, client: client, held: make(chan struct{})}
	p.release = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.released {
			p.released = true
			close(p.held)
		}
	}
	var err error
	if n != nil {
		p.cut = n.cut
	}
	if n != nil && !client {
		p.listener, err = n.listen()
	} else {
		p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	p.accept(p.listener)
	t.Cleanup(p.close)
	return p
}

// address is where clients connect to.
func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	p.release()
	p.mu.Lock()
	p.listener.Close()
	for _, w := range p.open {
		w.close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// restart ends what hangs, and accepts connections again.
func (p *proxy) restart(t *testing.T) {
	t.Helper()
	p.release()
	l, err := net.Listen("tcp", p.address())
	if err != nil { // the listener is open
		return
	}
	p.mu.Lock()
	p.listener, p.fault = l, ""
	p.mu.Unlock()
	p.accept(l)
}

// accept serves the connections of a listener.
func (p *proxy) accept(l net.Listener) {
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
}

func (p *proxy) serve(c net.Conn) {
	server, err := p.dial()
	if err != nil {
		c.Close()
		return
	}
	p.mu.Lock()
	fault, listener, http := p.fault, p.listener, p.http
	p.mu.Unlock()
	w := &wire{client: c, server: server, held: p.held, cut: p.cut}
	if http {
		w.again = p.again
	}
	if fault == slowReader {
		for _, side := range []io.ReadWriteCloser{c, server} {
			if tcp, ok := side.(*net.TCPConn); ok {
				tcp.SetReadBuffer(16 << 10) // so that writers wait soon
			}
		}
	}
	p.mu.Lock()
	p.open = append(p.open, w)
	p.mu.Unlock()
	if fault == killed && !p.client { // a process that was killed takes no new connections
		w.killed = func() { listener.Close() }
	}
	w.run(fault, p.client).Wait()
}

// again sends a request on a connection of its own, as a load balancer does that
// tries again, and drops the response.
func (p *proxy) again(request []byte) {
	c, err := p.dial()
	if err != nil {
		return
	}
	pass(nil, c, request)
	p.wg.Go(func() {
		<-p.held
		c.Close()
	})
	p.wg.Go(func() { io.Copy(io.Discard, c) })
}

// pipes are the standard input and output of a process.
type pipes struct {
	io.ReadCloser
	in io.WriteCloser
}

func (p pipes) Write(data []byte) (int, error) { return p.in.Write(data) }

func (p pipes) Close() error {
	p.in.Close()
	return p.ReadCloser.Close()
}

func (p pipes) CloseWrite() error { return p.in.Close() }

// relay is a server whose standard input and output have a fault: it passes on
// what a server in another process reads and writes, and ends with it.
func relay(fault string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"=echo")
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	w := &wire{client: pipes{os.Stdin, os.Stdout}, server: pipes{out, in}, held: make(chan struct{})}
	w.killed = func() { os.Exit(9) } // as SIGKILL would: nothing is closed in order
	w.run(fault, false)
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
	os.Exit(3)
}

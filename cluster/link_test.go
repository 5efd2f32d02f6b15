package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

// A network is between a replica and the others. While it is cut, it drops what
// is sent, and connections stay open: as if the replica had hung.
type network struct {
	cluster.Store
	listener net.Listener
	to       atomic.Pointer[string]
	cut      atomic.Bool
	away     atomic.Bool // the store, for this replica
}

// Register registers the replica with the address of the network.
func (n *network) Register(ctx context.Context, group, member string, data []byte, ttl time.Duration) error {
	if n.away.Load() {
		return cluster.ErrUnavailable
	}
	var m cluster.Member
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	to := m.Addr
	n.to.Store(&to)
	m.Addr = n.listener.Addr().String()
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return n.Store.Register(ctx, group, member, data, ttl)
}

// joinBehind returns a replica that others reach through a network.
func joinBehind(t *testing.T, store cluster.Store) (*network, *cluster.Replica) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{Store: store, listener: l}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", *n.to.Load())
			if err != nil {
				in.Close()
				continue
			}
			context.AfterFunc(ctx, func() { in.Close(); out.Close() })
			wg.Go(func() { n.pass(out, in) })
			wg.Go(func() { n.pass(in, out) })
		}
	})
	return n, join(t, n, nil)
}

func (n *network) pass(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		k, err := from.Read(buf)
		if err != nil {
			return
		}
		if !n.cut.Load() {
			to.Write(buf[:k])
		}
	}
}

// A replica that hangs while it serves a message is noticed, also in the middle of
// a response; so is one whose stream is open. It is not gone, and may have served
// the request. When it answers again, messages are forwarded to it.
func TestReplicaThatHangsWithARequestIsNoticed(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"POST": "/wait", "POST, begun": "/stream", "GET": "/wait", "GET, begun": "/stream"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := cluster.NewMemory()
			a := join(t, store, nil)
			n, b := joinBehind(t, store)
			began := make(chan struct{})
			b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if q.URL.Path == "/" {
					return
				}
				if q.URL.Path == "/stream" {
					w.Header().Set("Content-Type", "text/event-stream")
					w.WriteHeader(http.StatusOK)
					w.(http.Flusher).Flush()
				}
				close(began)
				<-q.Context().Done()
			}))
			post := func(to string) (int, error) {
				w := httptest.NewRecorder()
				err := a.Forward(w, httptest.NewRequest("POST", to, strings.NewReader("x")), []byte("x"), b.ID())
				return w.Code, err
			}
			if _, err := post("/"); err != nil { // there is a connection
				t.Fatal(err)
			}
			method, _, _ := strings.Cut(name, ",")
			ended := make(chan error, 1)
			go func() {
				defer func() {
					if e := recover(); e != nil {
						ended <- cluster.ErrCut
					}
				}()
				ended <- a.Forward(httptest.NewRecorder(), httptest.NewRequest(method, path, nil), nil, b.ID())
			}()
			<-began
			n.cut.Store(true)
			select {
			case err := <-ended:
				if !errors.Is(err, cluster.ErrCut) || errors.Is(err, cluster.ErrGone) {
					t.Errorf("got %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("not noticed")
			}
			if _, err := post("/"); err == nil || errors.Is(err, cluster.ErrGone) || method == "POST" && errors.Is(err, cluster.ErrCut) { // its connections are cut: nothing was sent
				t.Errorf("while it hangs: %v", err)
			}
			n.cut.Store(false)
			if status, err := post("/"); err != nil || status != http.StatusOK {
				t.Errorf("when it answers again: %d %v", status, err)
			}
		})
	}
}

// A call that takes long at a replica that lives is not cut, even if the replica
// is no member any more.
func TestLongCallsAreNotCut(t *testing.T) {
	t.Parallel()
	store := cluster.NewMemory()
	a := join(t, store, nil)
	n, b := joinBehind(t, store)
	n.away.Store(true)
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		store.Unregister(q.Context(), "replicas", b.ID())
		time.Sleep(5 * time.Second) // several probes
		io.WriteString(w, "ok")
	}))
	w := httptest.NewRecorder()
	if err := a.Forward(w, httptest.NewRequest("POST", "/", nil), nil, b.ID()); err != nil || w.Body.String() != "ok" {
		t.Errorf("%q %v", w.Body, err)
	}
}

// A message is sent once, also if its client says that it may be repeated, which
// is for those who deduplicate messages. The error says that it may have been served.
func TestMessagesAreNotSentAgain(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	var served atomic.Int32
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Idempotency-Key") != "" {
			served.Add(1)
			panic(http.ErrAbortHandler)
		}
	}))
	if err := forward(a, b.ID()); err != nil { // there is a connection
		t.Fatal(err)
	}
	q := httptest.NewRequest("POST", "/", nil)
	q.Header.Set("Idempotency-Key", "1")
	if err := a.Forward(httptest.NewRecorder(), q, []byte("x"), b.ID()); !errors.Is(err, cluster.ErrCut) || errors.Is(err, cluster.ErrGone) || served.Load() != 1 {
		t.Errorf("served %d times: %v", served.Load(), err)
	}
}

// The response to a message that is a stream does not take the place of messages,
// at either replica, also before its first event.
func TestEventStreamsOfMessagesHaveTheirOwnSlots(t *testing.T) {
	for _, first := range []string{"data: 1\n\n", ""} {
		t.Run(first, func(t *testing.T) { eventStreamHasItsOwnSlot(t, first) })
	}
}

func eventStreamHasItsOwnSlot(t *testing.T, first string) {
	bound := &cluster.Options{MaxForwards: 1}
	store := cluster.NewMemory()
	a, b := join(t, store, bound), join(t, store, bound)
	end := make(chan struct{})
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			if first != "" {
				io.WriteString(w, first)
			}
			http.NewResponseController(w).Flush()
			<-end
		}
	}))
	s := httptest.NewServer(handlerFor(a, b.ID, nil))
	defer s.Close()
	stream, err := http.Post(s.URL+"/stream", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	for range 3 {
		if res, err := http.Post(s.URL+"/", "text/plain", strings.NewReader("x")); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("a message: %v %v", res.Status, err)
		}
	}
	close(end)
	if body, err := io.ReadAll(stream.Body); err != nil || string(body) != first {
		t.Errorf("the stream: %q %v", body, err)
	}
}

// broadcastHeader marks broadcasts between replicas.
const broadcastHeader = "Tenon-Forwarded-All"

// One client cannot take the slots of all, neither at the replica that forwards
// nor at the one that serves, and broadcasts not those of messages.
func TestOneClientHasAShareOfForwards(t *testing.T) {
	bound := &cluster.Options{MaxForwards: 8}
	for name, o := range map[string][2]*cluster.Options{"outgoing": {bound, nil}, "incoming": {nil, bound}} {
		t.Run(name, func(t *testing.T) {
			store := cluster.NewMemory()
			a, b := join(t, store, o[0]), join(t, store, o[1])
			begun, end := make(chan struct{}), make(chan struct{})
			var told atomic.Int32
			b.Handle(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
				if q.Header.Get(broadcastHeader) != "" {
					t.Error("the handler sees the header of broadcasts")
				}
				switch q.URL.Path {
				case "/wait":
					begun <- struct{}{}
					<-end
				case "/told":
					told.Add(1)
				}
			}))
			send := func(client, path string) (int, error) {
				q := httptest.NewRequest("POST", path, nil)
				q.Header.Set(broadcastHeader, "1") // which a client cannot set
				w := httptest.NewRecorder()
				err := a.Forward(w, q.WithContext(cluster.WithClient(q.Context(), client)), nil, b.ID())
				return w.Code, err
			}
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() { send("ada", "/wait") })
				<-begun
			}
			if status, err := send("ada", "/"); !errors.Is(err, cluster.ErrBusy) && status != http.StatusServiceUnavailable {
				t.Errorf("beyond the share of a client: %d %v", status, err)
			}
			q := httptest.NewRequest("POST", "/told", nil)
			if err := a.Broadcast(q.WithContext(cluster.WithClient(q.Context(), "ada")), nil); err != nil || told.Load() != 1 {
				t.Errorf("a broadcast: told %d times, %v", told.Load(), err)
			}
			for _, other := range []string{"bob", ""} {
				if status, err := send(other, "/"); err != nil || status != http.StatusOK {
					t.Errorf("%q: %d %v", other, status, err)
				}
			}
			close(end)
			wg.Wait()
			if status, err := send("ada", "/"); err != nil || status != http.StatusOK {
				t.Errorf("afterwards: %d %v", status, err)
			}
		})
	}
}

// Broadcasts that wait for a replica that hangs do not take the slots of messages;
// those beyond the bound wait for their turn.
func TestBroadcastsDoNotTakeTheSlotsOfMessages(t *testing.T) {
	store := cluster.NewMemory()
	a, b, c := join(t, store, &cluster.Options{MaxForwards: 4}), join(t, store, nil), join(t, store, nil)
	var told atomic.Int32
	end := make(chan struct{})
	b.Handle(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/told" {
			told.Add(1)
		}
	}))
	c.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := a.Broadcast(httptest.NewRequest("POST", "/told", nil), nil); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, func() bool { return told.Load() == 4 })
	if err := forward(a, b.ID()); err != nil {
		t.Error(err)
	}
	close(end)
	wg.Wait()
	if told.Load() != 20 {
		t.Errorf("%d of 20 were told", told.Load())
	}
}

// Broadcasts beyond the bound of a replica that is told wait there for their turn.
func TestBroadcastsWaitWhereTheyAreServed(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, &cluster.Options{MaxForwards: 1})
	var told atomic.Int32
	b.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(20 * time.Millisecond) // others arrive
		told.Add(1)
	}))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := a.Broadcast(httptest.NewRequest("POST", "/", nil), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if told.Load() != 10 {
		t.Errorf("told %d of 10", told.Load())
	}
}

// A replica that refuses a message before its end is heard.
func TestEarlyRefusalsArrive(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	for _, size := range []int{0, 100 << 10, 200 << 10} {
		for range 5 {
			w := httptest.NewRecorder()
			if err := a.Forward(w, httptest.NewRequest("POST", "/", nil), make([]byte, size), b.ID()); err != nil || w.Code != http.StatusUnauthorized {
				t.Errorf("%d bytes: %d %v", size, w.Code, err)
			}
		}
	}
}

// A message that is sent on a connection that its replica has closed meanwhile was
// not served, and the error says so.
func TestIdleConnectionsOfStoppedReplicas(t *testing.T) {
	for range 20 {
		store := cluster.NewMemory()
		a, b := join(t, store, nil), join(t, keepsMembers{store}, nil)
		b.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		if err := forward(a, b.ID()); err != nil {
			t.Fatal(err)
		}
		b.Close()
		if err := forward(a, b.ID()); !errors.Is(err, cluster.ErrGone) || errors.Is(err, cluster.ErrCut) {
			t.Fatalf("got %v", err)
		}
	}
}

// Many clients at once get their own responses; connections are used again.
func TestMessagesDoNotMix(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		if len(body)%3 == 0 { // of unknown length
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
		}
		w.Write(body)
	}))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 50 {
				body := strings.Repeat(string(rune('a'+i)), n*200)
				q := httptest.NewRequest("POST", "/", nil)
				ctx, cancel := context.WithCancel(q.Context())
				if n%10 == 9 {
					cancel() // closes a connection
				}
				w := httptest.NewRecorder()
				err := func() (err error) {
					defer func() {
						if p := recover(); p != nil {
							err = fmt.Errorf("cut: %v", p)
						}
					}()
					return a.Forward(w, q.WithContext(ctx), []byte(body), b.ID())
				}()
				if cancel(); n%10 != 9 && (err != nil || w.Body.String() != body) {
					t.Errorf("%d bytes: %v", n*200, err)
				}
			}
		})
	}
	wg.Wait()
}

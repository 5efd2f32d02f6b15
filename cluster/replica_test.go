package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/credheader"
	"github.com/tenon-mcp/tenon/internal/freeport"
)

func join(t testing.TB, s cluster.Store, o *cluster.Options) *cluster.Replica {
	t.Helper()
	r, err := cluster.Join(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// handlerFor returns a handler that forwards to another replica what it gets from
// clients, and serves what is forwarded with serve.
func handlerFor(r *cluster.Replica, to func() string, serve http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if cluster.Forwarded(q.Context()) {
			serve(w, q)
			return
		}
		body, _ := io.ReadAll(q.Body)
		if err := r.Forward(w, q, body, to()); err != nil {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, err)
		}
	})
}

// A forwarded request has the URL, host, headers, address and body of the
// client's, and the response comes back as it is.
func TestForwardedRequestsArriveUnchanged(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		w.Header().Set("X-Seen", fmt.Sprint(q.Method, " ", q.URL, " ", q.Host, " ", q.Header.Get("X-Own"), " ", q.RemoteAddr, " ", q.TLS != nil, " ", q.Header.Get("Tenon-Forwarded-Client"), q.Header.Get("Tenon-Forwarded-Share"), q.Header.Get("User-Agent"), q.Header.Get("Upgrade"), q.Header.Get("Connection")))
		w.WriteHeader(http.StatusTeapot)
		w.Write(body)
	}))
	q := httptest.NewRequest("POST", "http://public.example/m%2Fcp?x=1", nil)
	q.Header.Set("X-Own", "me")
	q.Header.Set("Tenon-Forwarded-Share", "all") // of no meaning from a client
	q.Header.Set("Connection", "X-Own")          // cannot remove a header
	q.Header.Set("Upgrade", "websocket")
	w := httptest.NewRecorder()
	if err := a.Forward(w, q, []byte("hello"), b.ID()); err != nil {
		t.Fatal(err)
	}
	want := "POST /m%2Fcp?x=1 public.example me " + q.RemoteAddr + " false"
	if w.Code != http.StatusTeapot || w.Body.String() != "hello" || w.Header().Get("X-Seen") != want {
		t.Errorf("%d %q, seen %q, want %q", w.Code, w.Body, w.Header().Get("X-Seen"), want)
	}
}

// sendRaw sends a request to a server as it is, and returns the response.
func sendRaw(t *testing.T, s *httptest.Server, request string) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	io.WriteString(c, request)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A handler that closes the connection of the client, because the framing of the
// request is ambiguous, closes it also if it forwards the request.
func TestForwardKeepsConnectionClose(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	forward := handlerFor(a, b.ID, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Connection", "close")
		forward.ServeHTTP(w, q)
	}))
	defer s.Close()
	res := sendRaw(t, s, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	if body, _ := io.ReadAll(res.Body); string(body) != "ok" || !res.Close {
		t.Errorf("%s %q, close %v", res.Status, body, res.Close)
	}
}

// The target of a request cannot name another replica than that to which it is
// forwarded.
func TestOpaqueTargetsAreNotForwarded(t *testing.T) {
	store := cluster.NewMemory()
	a, b, c := join(t, store, nil), join(t, store, nil), join(t, store, nil)
	for _, r := range []*cluster.Replica{b, c} {
		r.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if r == c || q.URL.Path != "//mcp" {
				t.Errorf("%s serves %q", r.ID(), q.URL)
			}
		}))
	}
	s := httptest.NewServer(handlerFor(a, b.ID, nil))
	defer s.Close()
	for target, status := range map[string]int{"x:@" + c.ID() + ".y/admin": 502, "*": 502, "//mcp": 200, "http://" + c.ID() + "//mcp": 200} {
		if res := sendRaw(t, s, "POST "+target+" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); res.StatusCode != status {
			t.Errorf("%s: %s", target, res.Status)
		}
	}
}

// Parts of a response arrive when they are sent, and when the owner disconnects
// the client the response is cut.
func TestForwardedResponsesStream(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	next, gone := make(chan struct{}), make(chan struct{})
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		defer close(gone)
		for {
			select {
			case <-next:
				io.WriteString(w, "part\n")
				w.(http.Flusher).Flush()
			case <-q.Context().Done():
				return
			}
		}
	}))
	site := httptest.NewServer(handlerFor(a, b.ID, nil))
	defer site.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q, _ := http.NewRequestWithContext(ctx, "GET", site.URL, nil)
	go func() { next <- struct{}{} }()
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for range 3 {
		if line, err := lines.ReadString('\n'); line != "part\n" {
			t.Fatalf("%q %v", line, err)
		}
		go func() { next <- struct{}{} }()
	}
	cancel() // the client disconnects: so does the forwarded request
	<-gone
}

// A response that the owner does not finish is cut for the client as well.
func TestResponseOfAStoppedReplicaIsCut(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		io.WriteString(w, "begin")
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	}))
	site := httptest.NewServer(handlerFor(a, b.ID, nil))
	defer site.Close()
	res, err := http.Get(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if body, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("the response seems complete: %q", body)
	}
}

// leaving tells when a replica leaves the cluster.
type leaving struct {
	cluster.Store
	left func()
}

func (s leaving) Unregister(ctx context.Context, group, member string) error {
	s.left()
	return s.Store.Unregister(ctx, group, member)
}

// A replica that shuts down serves the requests that others have forwarded to it
// before it leaves, and until then those that they need.
func TestShutdownWaitsForForwardedRequests(t *testing.T) {
	store := cluster.NewMemory()
	began, answered, shut := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	a, b := join(t, store, nil), join(t, leaving{store, func() {
		select {
		case <-answered:
		default:
			t.Error("the replica left before it had served a request")
		}
	}}, nil)
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/answer" {
			close(answered)
			return
		}
		close(began)
		<-answered
		io.WriteString(w, "ok")
	}))
	call, failed := httptest.NewRecorder(), make(chan error, 1)
	go func() { failed <- a.Forward(call, httptest.NewRequest("POST", "/call", nil), nil, b.ID()) }()
	<-began
	go func() { shut <- b.Shutdown(t.Context()) }()
	time.Sleep(50 * time.Millisecond)
	if err := a.Forward(httptest.NewRecorder(), httptest.NewRequest("POST", "/answer", nil), nil, b.ID()); err != nil {
		t.Error(err)
	}
	if err := <-failed; err != nil || call.Body.String() != "ok" {
		t.Errorf("the call: %q %v", call.Body, err)
	}
	if err := <-shut; err != nil {
		t.Error(err)
	}
	if err := a.Forward(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil), nil, b.ID()); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("after Shutdown: %v", err)
	}
}

// Shutdown cuts requests that are not served in time.
func TestShutdownEndsWithItsContext(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	began := make(chan struct{})
	b.Handle(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { close(began); <-q.Context().Done() }))
	failed := make(chan error, 1)
	go func() {
		failed <- a.Forward(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil), nil, b.ID())
	}()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-failed; err == nil {
		t.Error("the request was served")
	}
}

// A request is forwarded once at most.
func TestForwardedRequestsAreNotForwardedAgain(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	var second error
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		second = b.Forward(w, q, nil, a.ID())
	}))
	w := httptest.NewRecorder()
	if err := a.Forward(w, httptest.NewRequest("GET", "/", nil), nil, b.ID()); err != nil || second == nil {
		t.Errorf("first %v, second %v", err, second)
	}
}

// A replica that was never there, has left, or died without saying so is gone at
// once; also if another replica has its address now.
func TestStoppedReplicasAreGoneAtOnce(t *testing.T) {
	store := cluster.NewMemory()
	a := join(t, store, nil)
	try := func(id string) error {
		return a.Forward(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil), []byte("x"), id)
	}
	if err := try("nobody"); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("unknown replica: %v", err)
	}
	left := join(t, store, nil)
	left.Close()
	if err := try(left.ID()); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("replica that left: %v", err)
	}
	// One whose lease is live, but whose process is not.
	dead := freeport.ForTest(t)
	register := func(id, addr string) {
		data := fmt.Sprintf(`{"id":%q,"addr":%q}`, id, addr)
		if err := store.Register(t.Context(), "replicas", id, []byte(data), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	register("dead", dead)
	if err := try("dead"); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("dead replica: %v", err)
	}
	b := join(t, store, nil)
	register("before", b.Addr())
	if err := try("before"); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("replica whose address another has: %v", err)
	}
}

// So is one that dies while a connection to it is open.
func TestReplicaThatDiesWithAConnectionIsGone(t *testing.T) {
	for range 20 {
		store := cluster.NewMemory()
		a, b := join(t, store, nil), join(t, keepsMembers{store}, nil)
		b.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		try := func() error {
			return a.Forward(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil), []byte("x"), b.ID())
		}
		if err := try(); err != nil {
			t.Fatal(err)
		}
		b.Close()
		if err := try(); !errors.Is(err, cluster.ErrGone) {
			t.Fatalf("got %v", err)
		}
	}
}

// A replica that does not answer, because its machine hangs, is an error after a
// while.
func TestHangingReplicasAreAnError(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // which accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	store := cluster.NewMemory()
	a := join(t, store, nil)
	data := fmt.Sprintf(`{"id":"hangs","addr":%q}`, l.Addr())
	if err := store.Register(t.Context(), "replicas", "hangs", []byte(data), time.Hour); err != nil {
		t.Fatal(err)
	}
	err = a.Forward(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil), nil, "hangs")
	if err == nil || errors.Is(err, cluster.ErrGone) {
		t.Errorf("got %v", err)
	}
	if err := a.Broadcast(httptest.NewRequest("POST", "/", nil), nil); err == nil {
		t.Error("a broadcast says nothing")
	}
}

// keepsMembers is the store of a process that is killed.
type keepsMembers struct{ cluster.Store }

func (keepsMembers) Unregister(context.Context, string, string) error { return nil }

// Only replicas of the same cluster reach each other.
func TestForeignReplicasAreRefused(t *testing.T) {
	store, other := cluster.NewMemory(), cluster.NewMemory()
	a, foreign := join(t, store, nil), join(t, other, nil)
	var served atomic.Bool
	a.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Store(true) }))
	// The foreign replica believes that a is one of its cluster.
	data := fmt.Sprintf(`{"id":%q,"addr":%q}`, a.ID(), a.Addr())
	if err := other.Register(t.Context(), "replicas", a.ID(), []byte(data), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := foreign.Forward(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), nil, a.ID()); err == nil {
		t.Error("a foreign replica is served")
	}
	// And a client without a certificate, whatever it trusts.
	if res, err := insecure.Get("https://" + a.Addr()); err == nil {
		res.Body.Close()
		t.Error("a client without a certificate is served")
	}
	if served.Load() {
		t.Error("a foreign request was served")
	}
}

// Forwards beyond the bound fail at once. Streams do not take the place of
// messages, neither at the replica that forwards nor at the one that serves.
func TestForwardsAreBounded(t *testing.T) {
	bound := &cluster.Options{MaxForwards: 1}
	for name, o := range map[string][2]*cluster.Options{"outgoing": {bound, nil}, "incoming": {nil, bound}} {
		t.Run(name, func(t *testing.T) {
			store := cluster.NewMemory()
			a, b := join(t, store, o[0]), join(t, store, o[1])
			begun, end := make(chan struct{}), make(chan struct{})
			b.Handle(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
				if q.Method == http.MethodGet {
					begun <- struct{}{}
					<-end
				}
			}))
			send := func(method string) (status int, err error) {
				w := httptest.NewRecorder()
				err = a.Forward(w, httptest.NewRequest(method, "/", nil), nil, b.ID())
				return w.Code, err
			}
			var wg sync.WaitGroup
			wg.Go(func() { send("GET") })
			<-begun
			if status, err := send("GET"); !errors.Is(err, cluster.ErrBusy) && status != http.StatusServiceUnavailable {
				t.Errorf("a second stream: %d %v", status, err)
			}
			if status, err := send("POST"); err != nil || status != http.StatusOK {
				t.Errorf("a message: %d %v", status, err)
			}
			close(end)
			wg.Wait()
		})
	}
}

// A broadcast reaches every other replica; one that has died is no error.
func TestBroadcastReachesAllOthers(t *testing.T) {
	store := cluster.NewMemory()
	var seen atomic.Int32
	var all []*cluster.Replica
	for range 4 {
		r := join(t, store, nil)
		r.HandleDefault(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
			if body, _ := io.ReadAll(q.Body); string(body) == "end" {
				seen.Add(1)
			}
		}))
		all = append(all, r)
	}
	if err := store.Register(t.Context(), "replicas", "dead", []byte(`{"id":"dead","addr":"127.0.0.1:1"}`), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := all[0].Broadcast(httptest.NewRequest("POST", "/", nil), []byte("end")); err != nil {
		t.Fatal(err)
	}
	if seen.Load() != 3 {
		t.Errorf("%d replicas have it", seen.Load())
	}
}

// Replicas that start at once with an empty store have the same keys.
func TestReplicasThatStartAtOnceShareKeys(t *testing.T) {
	store := cluster.NewMemory()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var secrets []string
	for range 8 {
		wg.Go(func() {
			r := join(t, store, &cluster.Options{Secret: []byte("a secret of sixteen bytes")})
			if _, err := r.WatchKeys("test", func(s [][]byte) {
				mu.Lock()
				defer mu.Unlock()
				secrets = append(secrets, fmt.Sprintf("%x", s))
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if slices.Sort(secrets); len(secrets) != 8 || len(slices.Compact(secrets)) != 1 {
		t.Errorf("keys differ: %v", secrets)
	}
}

// keysOf follows the secrets of a replica.
type keysOf struct {
	mu   sync.Mutex
	last [][]byte
}

func watchKeys(t *testing.T, r *cluster.Replica) *keysOf {
	t.Helper()
	k := new(keysOf)
	stop, err := r.WatchKeys("test", func(s [][]byte) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.last = s
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return k
}

func (k *keysOf) get() [][]byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

func (k *keysOf) opens(secret []byte) bool {
	return slices.ContainsFunc(k.get(), func(s []byte) bool { return bytes.Equal(s, secret) })
}

// During a rotation, whatever one replica seals with, all the others open, and
// forwarding goes on.
func TestRotationKeepsEverythingOpen(t *testing.T) {
	store := cluster.NewMemory()
	var all []*cluster.Replica
	var keys []*keysOf
	for range 3 {
		r := join(t, store, &cluster.Options{Lease: 300 * time.Millisecond})
		r.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		all, keys = append(all, r), append(keys, watchKeys(t, r))
	}
	first := keys[0].get()[0]
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			for _, k := range keys {
				seals := k.get()[0]
				for j, other := range keys {
					if !other.opens(seals) {
						t.Errorf("replica %d does not open what another seals", j)
						return
					}
				}
			}
			if err := all[0].Forward(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), nil, all[1].ID()); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	if err := all[0].RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rotations sync.WaitGroup
	for _, r := range all { // at the same time
		rotations.Go(func() {
			if err := r.RotateKeys(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	rotations.Wait()
	for _, k := range keys { // the last change arrives by hint
		waitFor(t, func() bool { return len(k.get()) == 5 && bytes.Equal(k.get()[0], keys[0].get()[0]) })
		if bytes.Equal(k.get()[0], first) || !k.opens(first) {
			t.Error("the first key still seals, or no longer opens")
		}
	}
	close(stop)
	wg.Wait()
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("not reached in a minute")
		}
	}
}

// An empty secret is none, and a short one is refused.
func TestSecretLength(t *testing.T) {
	store := cluster.NewMemory()
	short := []byte("0123456789abcde")
	if err := cluster.CheckSecret(t.Context(), store, short); err == nil || !strings.Contains(err.Error(), "at least 16 bytes") {
		t.Errorf("a secret of 15 bytes, before the first replica: %v", err)
	}
	if r, err := cluster.Join(t.Context(), store, &cluster.Options{Secret: short}); err == nil {
		r.Close()
		t.Error("a replica with a secret of 15 bytes joins")
	}
	join(t, store, &cluster.Options{Secret: []byte{}})
	join(t, store, nil)
	for name, secret := range map[string][]byte{"no": nil, "an empty": {}} {
		if err := cluster.CheckSecret(t.Context(), store, secret); err != nil {
			t.Errorf("%s secret: %v", name, err)
		}
	}
	if _, err := cluster.SecretCipher(nil, "test"); err == nil {
		t.Error("there is a cipher without a secret")
	}
}

// Keys in the store are encrypted with the secret; another secret does not join.
func TestSecretEncryptsTheKeys(t *testing.T) {
	store := cluster.NewMemory()
	join(t, store, &cluster.Options{Secret: []byte("a secret of sixteen bytes")})
	raw, _, err := store.Get(t.Context(), "keyring", 0)
	if err != nil || bytes.Contains(raw, []byte("secret")) {
		t.Errorf("stored %q %v", raw, err)
	}
	for _, secret := range [][]byte{nil, []byte("another secret, long enough"), []byte("short")} {
		if r, err := cluster.Join(t.Context(), store, &cluster.Options{Secret: secret}); err == nil {
			r.Close()
			t.Errorf("joined with %q", secret)
		} else if !strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", secret, err)
		}
	}
}

// After the store was emptied, replicas restore the keys that they have.
func TestKeysSurviveAnEmptiedStore(t *testing.T) {
	store := cluster.NewMemory()
	a := join(t, store, &cluster.Options{Lease: 100 * time.Millisecond})
	first := watchKeys(t, a).get()[0]
	if err := store.Delete(t.Context(), "keyring"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { _, v, err := store.Get(t.Context(), "keyring", 0); return err == nil && v != 0 })
	if b := watchKeys(t, join(t, store, nil)); !bytes.Equal(b.get()[0], first) {
		t.Error("another key")
	}
}

// A replica that has not renewed its lease is no member any more.
func TestMembershipEndsWithTheLease(t *testing.T) {
	store := cluster.NewMemory()
	a := join(t, store, &cluster.Options{Name: "one"})
	if err := store.Register(t.Context(), "replicas", "dead", []byte(`{"id":"dead","addr":"127.0.0.1:1"}`), 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { m, err := a.Members(t.Context()); return err == nil && len(m) == 1 && m[0].Name == "one" })
	if s := a.Status(t.Context()); s.Self.ID != a.ID() || len(s.Keys) != 1 || !s.Keys[0].Seals || s.Error != "" {
		t.Errorf("status %+v", s)
	}
}

// A message reaches the subscribers at other replicas, once, not those at its own.
func TestTopicsReachOtherReplicas(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	got := make(chan string, 10)
	for name, r := range map[string]*cluster.Replica{"a": a, "b": b} {
		stop, err := r.Topic("news").Subscribe(func(data []byte) { got <- name + " " + string(data) }, func() {})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
	}
	a.Topic("news").Publish([]byte("one two"))
	a.Topic("other").Publish([]byte("x"))
	b.Topic("news").Publish([]byte("three"))
	seen := []string{<-got, <-got}
	if slices.Sort(seen); !slices.Equal(seen, []string{"a three", "b one two"}) {
		t.Errorf("%q", seen)
	}
}

func TestAddressesWithoutHostNeedAnother(t *testing.T) {
	r, err := cluster.Join(t.Context(), cluster.NewMemory(), &cluster.Options{Addr: ":0"})
	if err == nil {
		r.Close()
		t.Error("joined")
	}
	join(t, cluster.NewMemory(), &cluster.Options{Addr: ":0", Advertise: "here.example:1"})
}

// Credentials that middleware has verified and removed arrive at the replica that a
// request is forwarded to, which verifies them itself.
func TestForwardedRequestsHaveTheirCredentials(t *testing.T) {
	store := cluster.NewMemory()
	a, b := join(t, store, nil), join(t, store, nil)
	b.Handle(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, q.Header.Get("Authorization")) }))
	q := httptest.NewRequest("POST", "http://public.example/mcp", nil)
	q.Header.Set("Authorization", "Bearer t")
	ctx := credheader.With(q.Context(), q.Header)
	q = q.WithContext(ctx)
	q.Header.Del("Authorization")
	w := httptest.NewRecorder()
	if err := a.Forward(w, q, nil, b.ID()); err != nil {
		t.Fatal(err)
	}
	if w.Body.String() != "Bearer t" || q.Header.Get("Authorization") != "" {
		t.Errorf("the owner got %q, and the request has %q", w.Body, q.Header)
	}
}

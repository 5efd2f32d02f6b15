package streamable

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/mcp"
)

// laterStore is a store whose clock a test moves.
type laterStore struct {
	cluster.Store
	by time.Duration
}

func (s *laterStore) Now(ctx context.Context) (time.Time, error) {
	now, err := s.Store.Now(ctx)
	return now.Add(s.by), err
}

func newTestBackend(t *testing.T) (*clusterBackend, *laterStore) {
	t.Helper()
	r, err := cluster.Join(t.Context(), cluster.NewMemory(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHandler(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil }), &Options{Cluster: r, Sessions: SessionLimits{Idle: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Shutdown(); r.Close() })
	b := h.sessions.backend.(*clusterBackend)
	later := &laterStore{Store: b.store}
	b.store = later
	return b, later
}

// A session lives for Idle after each use, although the store has nothing of it
// in the beginning.
func TestUnchangedSessionsLiveForIdle(t *testing.T) {
	b, clock := newTestBackend(t)
	state := []byte(`{"rev":"x"}`)
	create := func() string {
		id, version, err := b.create(t.Context(), record{key: "k" + time.Now().String(), owner: []byte("o"), state: state})
		if err != nil || version != 0 {
			t.Fatalf("version %d, %v", version, err)
		}
		return id
	}
	load := func(id string) (record, error) { return b.load(t.Context(), id) }
	young, unused := create(), create()
	clock.by = 29 * time.Minute
	if rec, err := load(young); err != nil || rec.version != 0 || string(rec.state) != string(state) {
		t.Errorf("young: %+v %v", rec, err)
	}
	clock.by = 29*time.Minute + 59*time.Minute // used less than Idle ago
	rec, err := load(young)
	if err != nil || rec.version == 0 || string(rec.state) != string(state) {
		t.Errorf("in use: %+v %v", rec, err)
	}
	clock.by = 24 * time.Hour // the store has a mark, whose time to live it knows itself
	if _, err := load(young); err != nil {
		t.Errorf("marked: %v", err)
	}
	if _, err := load(unused); err != errNoSession {
		t.Errorf("unused: %v", err)
	}
}

// Names of streams are what they say, and nothing else is one.
func TestStreamNames(t *testing.T) {
	b, _ := newTestBackend(t)
	for _, id := range []string{`1`, `"a.b-c"`, `-7`} {
		name := b.name(&stream{shared: &sharedStream{request: []byte(id)}})
		stream, number, ok := splitEventID(eventID(name, 12))
		if !ok || stream != name || number != 12 {
			t.Errorf("%s: %s %d %v", name, stream, number, ok)
		}
		replica, kind, request, ok := parseStream(name)
		if !ok || replica != b.r.ID() || kind != kindCall || string(request) != id || isChangeStream(name) {
			t.Errorf("%s: %s %s %s %v", name, replica, kind, request, ok)
		}
	}
	long := b.name(&stream{shared: &sharedStream{request: []byte(`"` + strings.Repeat("x", 500) + `"`)}})
	if _, _, request, ok := parseStream(long); !ok || request != nil || len(long) > 100 {
		t.Errorf("long id: %q %v in %s", request, ok, long)
	}
	if name := b.name(&stream{changes: true, shared: new(sharedStream)}); !isChangeStream(name) {
		t.Errorf("%s is no stream of changes", name)
	}
	for _, bad := range []string{"", "x", ".s1", "r.", "r.s.!!", "r.s.e30", "r.s.MQ.x", "r.s." + "InVuY2xvc2Vk"} {
		if _, _, _, ok := parseStream(bad); ok {
			t.Errorf("%q is taken for a stream", bad)
		}
	}
}

// A sealed id is read back, and no other bytes are read as one.
func TestSealedIDs(t *testing.T) {
	in := sealedID{key: "key", epoch: "epoch", issued: time.UnixMilli(1700000000000), owner: []byte("owner"), state: []byte("{}")}
	raw := in.encode()
	var out sealedID
	if !out.decode(raw) || out.key != in.key || out.epoch != in.epoch || !out.issued.Equal(in.issued) || string(out.owner) != "owner" || string(out.state) != "{}" {
		t.Errorf("%+v", out)
	}
	for i := range len(raw) - 2 { // without its state it is whole
		if new(sealedID).decode(raw[:i]) {
			t.Errorf("%d bytes are read", i)
		}
	}
	if new(sealedID).decode(append([]byte{9}, raw[1:]...)) {
		t.Error("another version is read")
	}
}

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A turnFunc is one answer of a model in a test.
type turnFunc func(r *llm.Request) (llm.Message, error)

// fake is a model that answers with one function after the other and keeps what
// it was asked.
type fake struct {
	mu    sync.Mutex
	info  llm.Info
	turns []turnFunc
	asked []*llm.Request
}

func (f *fake) Info() llm.Info { return f.info }

func (f *fake) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		f.mu.Lock()
		f.asked = append(f.asked, r)
		if len(f.turns) == 0 {
			f.mu.Unlock()
			yield(llm.Event{}, errors.New("the test has no more answers"))
			return
		}
		turn := f.turns[0]
		f.turns = f.turns[1:]
		f.mu.Unlock()
		m, err := turn(r)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		for _, p := range m.Parts {
			if p.Kind == llm.PartText && !yield(llm.Event{Kind: llm.EventText, Text: p.Text}, nil) {
				return
			}
		}
		stop := llm.StopEnd
		if len(m.Calls()) > 0 {
			stop = llm.StopToolCalls
		}
		yield(llm.Event{Kind: llm.EventDone, Message: &m, Stop: stop, Usage: llm.Usage{Input: 10, Output: 1}}, nil)
	}
}

func says(text string) turnFunc {
	return func(*llm.Request) (llm.Message, error) {
		return llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text(text)}}, nil
	}
}

// calls answers with calls, written as name and arguments in turn.
func calls(words ...string) turnFunc {
	return func(*llm.Request) (llm.Message, error) {
		m := llm.Message{Role: llm.RoleAssistant}
		for i := 0; i < len(words); i += 2 {
			m.Parts = append(m.Parts, llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: fmt.Sprint("c", i/2), Name: words[i], Arguments: json.RawMessage(words[i+1])}})
		}
		return m, nil
	}
}

func fails(err error) turnFunc {
	return func(*llm.Request) (llm.Message, error) { return llm.Message{}, err }
}

// A bench is a host in a test with everything it told.
type bench struct {
	t     *testing.T
	host  *Host
	model *fake
	store *memoryStore

	mu      sync.Mutex
	events  []Event
	answers func(Ask) *Reply // nil leaves an ask open
}

func newBench(t *testing.T, change func(*Options), turns ...turnFunc) *bench {
	b := &bench{t: t, model: &fake{turns: turns}, store: &memoryStore{}}
	o := &Options{Model: b.model, Store: b.store, Event: b.event}
	if change != nil {
		change(o)
	}
	b.host = New(o)
	t.Cleanup(b.host.Close)
	b.answers = func(a Ask) *Reply {
		if a.Kind == AskApproval {
			return &Reply{Action: "once"}
		}
		return nil
	}
	return b
}

func (b *bench) event(e Event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	if e.Kind == EventAsk {
		if a := b.answers(*e.Ask); a != nil {
			go func() {
				if err := b.host.Reply(e.Ask.ID, *a); err != nil {
					b.t.Error(err)
				}
			}()
		}
	}
}

// all returns the events of a kind.
func (b *bench) all(kind EventKind) []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.events), func(e Event) bool { return e.Kind != kind })
}

// phases lists how the calls went, in order, as name:phase.
func (b *bench) phases() string {
	var all []string
	for _, e := range b.all(EventTool) {
		all = append(all, e.Call.Name+":"+string(e.Call.Phase))
	}
	return strings.Join(all, " ")
}

// last is the last text that the model was given in a result.
func (b *bench) last() string {
	b.model.mu.Lock()
	defer b.model.mu.Unlock()
	r := b.model.asked[len(b.model.asked)-1]
	return r.Messages[len(r.Messages)-1].Text()
}

// attach puts a server in memory before the host.
func (b *bench) attach(name string, s mcp.Handler, secrets ...string) {
	b.t.Helper()
	o := b.host.ClientOptions(name)
	c := client.New(s, &o)
	b.t.Cleanup(func() { c.Close() })
	if err := b.host.Attach(name, c, secrets); err != nil {
		b.t.Fatal(err)
	}
}

// memoryStore is a Store for tests.
type memoryStore struct {
	mu    sync.Mutex
	saved map[string]Saved
	owner map[string]Owner
	saves []*Update
}

func (m *memoryStore) Save(u *Update) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.saved == nil {
		m.saved, m.owner = map[string]Saved{}, map[string]Owner{}
	}
	old, ok := m.saved[u.ID]
	switch {
	case u.New:
		m.owner[u.ID] = u.Owner
	case !ok:
		return ErrNoSession
	case m.owner[u.ID].ID != u.Owner.ID:
		return &OpenElsewhereError{u.ID, m.owner[u.ID]}
	}
	m.saves = append(m.saves, u)
	now := u.Saved
	changed := func(r Row) bool {
		return slices.Contains(u.Drop, r.Seq) || slices.ContainsFunc(u.Rows, func(o Row) bool { return o.Seq == r.Seq })
	}
	now.Rows = append(slices.DeleteFunc(slices.Clone(old.Rows), changed), u.Rows...)
	slices.SortFunc(now.Rows, func(a, b Row) int { return int(a.Seq - b.Seq) })
	now.Handles = maps.Clone(old.Handles)
	if now.Handles == nil {
		now.Handles = map[string]json.RawMessage{}
	}
	maps.Copy(now.Handles, u.Handles)
	m.saved[u.ID] = now
	return nil
}

func (m *memoryStore) Claim(id string, o Owner, takeOver bool) (*Saved, error) {
	m.mu.Lock()
	if now := m.owner[id]; now.ID != o.ID && now.Alive() && !takeOver {
		m.mu.Unlock()
		return nil, &OpenElsewhereError{id, now}
	}
	m.owner[id] = o
	m.mu.Unlock()
	return m.Load(id)
}

func (m *memoryStore) Release(id string, o Owner) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owner[id].ID == o.ID {
		delete(m.owner, id)
	}
	return nil
}

func (m *memoryStore) Owner(id string) (Owner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.saved[id]; !ok {
		return Owner{}, ErrNoSession
	}
	return m.owner[id], nil
}

func (m *memoryStore) Load(id string) (*Saved, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.saved[id]
	if !ok {
		return nil, fmt.Errorf("session %s: %w", id, ErrNoSession)
	}
	return &s, nil
}

func (m *memoryStore) List() ([]Summary, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Summary
	for _, s := range m.saved {
		all = append(all, Summary{ID: s.ID, Changed: s.Changed, Folder: s.Folder, OneShot: s.OneShot})
	}
	slices.SortFunc(all, func(a, b Summary) int { return b.Changed.Compare(a.Changed) })
	return all, nil
}

func (m *memoryStore) Delete(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.saved, id)
	return nil
}

type numbers struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type sum struct {
	Result float64 `json:"result"`
}

// calculator is a server of one tool, and another that asks the person.
func calculator() *server.Server {
	s := server.New(mcp.Implementation{Name: "calc", Version: "1"}, nil)
	server.AddTool(s, "add", "Add two numbers", func(_ context.Context, _ *mcp.Call, n numbers) (sum, error) {
		return sum{n.A + n.B}, nil
	}, nil)
	return s
}

func book(t *testing.T, s config.Settings) *permit.Book {
	t.Helper()
	b, err := permit.Open("", s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

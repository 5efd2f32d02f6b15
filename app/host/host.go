// Package host is the agent application of MCP without a face: it has a model,
// many servers and a person, and keeps them apart.
//
// A [Host] is given clients of servers (Attach) and a model. A [Session] is a
// conversation: [Session.Send] takes what the person says and returns when the
// model has answered. Everything that happens on the way is told as [Event]s,
// and whatever the person has to decide is an [Ask], answered with
// [Host.Reply]. Faces show events and answer asks; they need nothing else.
//
// The way of one turn:
//
//	input      @server:uri and /server:prompt are looked up        input.go
//	request    system text, messages, tools in a stable order       turn.go, catalog.go
//	model      text, thinking, tool calls stream in                 turn.go
//	call       which server? allowed? data of whom?                 call.go, gate.go
//	server     runs it; questions come back as asks                 call.go, persona.go
//	result     cut to a budget, secrets out, fenced and labelled    result.go, fence.go
//	again      until the model has nothing more to call             turn.go
//
// What servers write (descriptions, results, questions) is never trusted: it is
// cleaned of characters that cannot be seen, labelled with its server, and
// gives no permission.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/redact"
)

// Options say how a host behaves. Nil means a host without a model, that keeps
// nothing and asks about every tool.
type Options struct {
	// Model answers. Nil: only direct calls are possible until SetModel.
	Model llm.Model

	// Book decides what may be called. Nil: everything is asked about, and
	// answers are forgotten with the process.
	Book *permit.Book

	// Event hears what happens, one event at a time. It must not block. Nil:
	// nobody does.
	Event func(Event)

	// Unattended answers asks that nobody is there to answer: approvals are
	// denied, questions of servers declined.
	Unattended bool

	// Store keeps sessions. Nil: they are forgotten with the process.
	Store Store

	// Audit is told of every tool call before it is made and after. An error
	// from the first keeps the call from being made. Nil: nobody is.
	Audit func(AuditRecord) error

	// AuditOptional makes calls although Audit fails; the person is told.
	AuditOptional bool

	// Secrets are values that must not reach the model, the audit log or a
	// face. The host adds those of its servers and what is typed into fields
	// that ask for secrets. Nil means a set of the host's own.
	Secrets *redact.Values

	// System is put before the house's own words to the model. Empty: none.
	System string

	// ToolSearch says when the model gets search_tools and call_tool instead
	// of the tools. By default, when there are more than 40 tools, or when
	// their definitions take more than 4,000 tokens and more than 3 % of the
	// model's context.
	ToolSearch config.ToolSearch

	// ResultBudget is how many bytes of one result the model is given; the
	// rest stays readable through a handle. 0 means 24 KiB.
	ResultBudget int

	// Folder is where the person works; sessions remember it, so that the last
	// one of a folder can be found. Empty: unknown.
	Folder string

	// OneShot marks new sessions as runs of a single turn without a person.
	// LastSession passes them over.
	OneShot bool

	// MaxSteps is how often the model may be asked in one turn. 0 means 50.
	MaxSteps int

	// CallIdle and CallTotal are how long a server may be silent during a
	// call, and how long a call may take whatever is heard. 0 means 60 s and
	// 10 min.
	CallIdle, CallTotal time.Duration
}

// An AuditRecord is one line of the log of what was done.
type AuditRecord struct {
	What      string          `json:"what"` // call, result, denied; read: a resource that the person attached or opened
	Session   string          `json:"session,omitzero"`
	Call      string          `json:"call"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitzero"`
	Why       string          `json:"why,omitzero"`     // which rule or answer
	Outcome   string          `json:"outcome,omitzero"` // ok, error, failed, cancelled
	Bytes     int             `json:"bytes,omitzero"`
	Duration  Millis          `json:"tookMs,omitzero"`
}

// A Host holds servers, sessions and open asks. Make one with New.
type Host struct {
	opts  Options
	owner Owner

	mu       sync.Mutex
	model    llm.Model
	servers  map[string]*attached
	sessions map[string]*Session
	asks     map[string]*openAsk
	askSeq   int
	known    *redact.Values // what must not be shown or reach the model
	sampled  map[sampler]int
	askers   map[string]*asker // by server
	held     map[string]string // tools that the person was told are held back, with their definitions then

	events sync.Mutex // orders events
	seq    uint64

	running sync.WaitGroup // questions to servers
	closed  bool           // nothing more is begun
	ctx     context.Context
	stop    context.CancelFunc
}

// An attached server is what a host knows of one.
type attached struct {
	name   string
	client *client.Client

	host         *Host
	mu           sync.Mutex
	tools        []*toolEntry  // as last listed
	title        string        // what the server calls itself
	instructions string        // its advice on how to use it
	fresh        bool          // tools still count
	asking       chan struct{} // closed when the question that runs is answered; nil if none does
	problem      error         // of the last question
	since        time.Time     // when there was last a reason to ask: it was attached, or has news
	late         bool          // it was waited for in vain
}

// New makes a host.
func New(o *Options) *Host {
	h := &Host{servers: map[string]*attached{}, sessions: map[string]*Session{}, asks: map[string]*openAsk{}}
	if o != nil {
		h.opts = *o
	}
	if h.opts.Book == nil {
		h.opts.Book, _ = permit.Open("", noSettings) // in memory: cannot fail
	}
	h.model, h.known = h.opts.Model, h.opts.Secrets
	if h.known == nil {
		h.known = redact.New()
	}
	h.owner = newOwner()
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// Close ends what the host does by itself and gives its sessions back to other
// processes. Turns end with their own contexts; stop them before.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	sessions := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	h.stop()
	h.running.Wait()
	for _, s := range sessions {
		s.release()
	}
	h.owner.end()
}

// begin runs f in the background, and reports false if the host is closed.
func (h *Host) begin(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.running.Go(f)
	}
	return !h.closed
}

// Attach adds a server under its name in the configuration, which is what all
// permissions go by; what the server calls itself does not matter. Secrets are
// values that must never reach the model.
func (h *Host) Attach(name string, c *client.Client, secrets []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.servers[name] != nil {
		return errors.New("there is already a server named " + name + " already")
	}
	if name == "" {
		return errors.New("a server needs a name")
	}
	h.servers[name] = &attached{name: name, client: c, host: h, since: time.Now()}
	h.known.Set(name, secrets)
	return nil
}

// Detach removes a server. Calls in flight go on.
func (h *Host) Detach(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.servers, name)
	h.known.Set(name, nil)
}

// AddSecret adds a value that must never reach the model, such as the token of a
// login. The server need not be attached yet.
func (h *Host) AddSecret(server, secret string) { h.known.Add(server, secret) }

// Changed says that a server has news: its tools are listed again before the
// model is asked next.
func (h *Host) Changed(name string) {
	h.mu.Lock()
	s := h.servers[name]
	h.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	s.fresh, s.late, s.since = false, false, time.Now()
	s.mu.Unlock()
	h.emit(Event{Kind: EventChanged, Server: name})
}

// Notice tells the person something about a server, such as a warning of its
// connection.
func (h *Host) Notice(server, text string) {
	h.emit(Event{Kind: EventNotice, Server: server, Text: h.safe(text)})
}

// SetModel changes the model; turns that run go on with the old one.
func (h *Host) SetModel(m llm.Model) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.model = m
}

// Model is what answers now; nil if nothing does.
func (h *Host) Model() llm.Model {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.model
}

// Book is what decides on calls.
func (h *Host) Book() *permit.Book { return h.opts.Book }

func (h *Host) server(name string) *attached {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers[name]
}

// all lists the servers by name.
func (h *Host) all() []*attached {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*attached, 0, len(h.servers))
	for _, s := range h.servers {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *attached) int { return strings.Compare(a.name, b.name) })
	return list
}

// tell numbers an event and passes it on.
func (h *Host) emit(e Event) {
	h.events.Lock()
	defer h.events.Unlock()
	h.seq++
	e.Seq, e.At = h.seq, time.Now()
	if h.opts.Event != nil {
		h.opts.Event(e)
	}
}

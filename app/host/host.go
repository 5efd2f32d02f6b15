// Package host is an agent application of MCP without a user interface: it
// connects a model, many servers and a user.
//
// A [Host] has clients of servers ([Host.Attach]) and a model. A [Session] is a
// conversation: [Session.Send] sends a message of the user and returns when the
// model has answered. Everything that happens meanwhile is an [Event], and
// everything the user has to decide is an [Ask], answered with [Host.Reply]. A
// user interface shows events and answers asks, and needs nothing else.
//
// The flow of a turn is:
//
//	input      resolve @server:uri, @file and /server:prompt        input.go, files.go
//	request    system text, messages, tools in a stable order       turn.go, catalog.go
//	model      text, thinking and tool calls stream in              turn.go
//	call       find the server, check permission and data flow      call.go, gate.go
//	server     runs the call; its questions become asks             call.go, clientoptions.go
//	task       a call that takes long may go to the background      tasks.go
//	result     cut to a budget, redacted, fenced and labelled       result.go, fence.go
//	skill      loaded when the model wants it and the user allows it   skills.go
//	repeat     until the model requests no more calls               turn.go
//
// Text of servers (descriptions, results, questions) is never trusted: hidden
// characters are removed, it is labelled with its server, and it gives no
// permission.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/app/tasklist"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/internal/redact"
)

// Options configure a [Host]. Nil means a host without a model and a store that
// asks about every tool.
type Options struct {
	// Model answers messages. Nil: only direct calls are possible until SetModel.
	Model llm.Model

	// Book decides which calls are allowed. Nil: the user is asked about each,
	// and the answers are not saved.
	Book *permit.Book

	// Event is called with each event, one at a time. It must not block. It may
	// be nil.
	Event func(Event)

	// Unattended is set if no user can answer: approvals are denied and questions
	// of servers declined.
	Unattended bool

	// Store saves sessions. Nil: they are not saved.
	Store Store

	// Views is set if the user interface shows views of tools; see ViewRequest.
	Views bool

	// Tasks keeps the calls that servers run as tasks, so that another run of
	// the program can wait for them. Nil: they are not kept.
	Tasks *tasklist.List

	// Audit is called for every tool call before and after it. If it fails before
	// a call, the call is not made. It may be nil.
	Audit func(AuditRecord) error

	// AuditOptional makes calls although Audit fails, with a notice to the user.
	AuditOptional bool

	// Secrets are values that must not reach the model, the audit log or a user
	// interface. The host adds those of its servers and the values of fields that
	// ask for secrets. Nil means an own set.
	Secrets *redact.Values

	// System precedes the host's own instructions to the model. It may be empty.
	System string

	// AppendSystem follows the host's instructions and those of servers. It may
	// be empty.
	AppendSystem string

	// Effort is how much the model thinks: one of config.Efforts; empty means
	// config.EffortAuto. SetEffort changes it.
	Effort string

	// ToolSearch says when the model gets search_tools and call_tool instead
	// of the tools. By default, when there are more than 40 tools, or when
	// their definitions take more than 4,000 tokens and more than 3 % of the
	// model's context.
	ToolSearch config.ToolSearch

	// ResultBudget is the number of bytes of a result that the model gets; it can
	// read the rest by a handle. 0 means 24 KiB.
	ResultBudget int

	// Folder is the user's working folder, saved in sessions so that the last one
	// of a folder can be found. Empty: unknown.
	Folder string

	// NoInstructions leaves out the instructions of the project in Folder; see
	// ProjectInstructions.
	NoInstructions bool

	// OneShot marks new sessions as runs of a single turn without a user, which
	// LastSession ignores.
	OneShot bool

	// MaxSteps bounds the requests to the model in one turn. 0 means 50.
	MaxSteps int

	// CallIdle bounds the time that a server may be silent during a call, and
	// CallTotal the whole time of a call. 0 means 60 s and 10 min.
	CallIdle, CallTotal time.Duration
}

// An AuditRecord is one record of the audit log.
type AuditRecord struct {
	What      string          `json:"what"` // call, result, denied; read: a resource that the user attached or opened; view: a view of a tool, and what it requests besides calls
	Session   string          `json:"session,omitzero"`
	Call      string          `json:"call"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitzero"`
	Proposed  json.RawMessage `json:"proposed,omitzero"` // what the model wanted, if the user changed the arguments
	Why       string          `json:"why,omitzero"`      // the rule or answer
	Outcome   string          `json:"outcome,omitzero"`  // ok, error, failed, cancelled
	Bytes     int             `json:"bytes,omitzero"`
	Duration  Millis          `json:"tookMs,omitzero"`
}

// A Host has servers, sessions and open asks. Create one with New.
type Host struct {
	opts  Options
	owner Owner

	mu       sync.Mutex
	model    llm.Model
	effort   string
	servers  map[string]*attached
	sessions map[string]*Session
	asks     map[string]*openAsk
	askSeq   int
	known    *redact.Values // secrets that must not be shown or reach the model
	sampled  map[sampler]int
	askers   map[string]*asker         // by server
	tasks    []*task                   // oldest first
	settings map[string]ClientSettings // by server
	edits    map[string]Edits          // by server
	viewSeq  int                       // numbers the calls of views
	held     map[string]string         // tools that the user knows are held back, with their definitions

	events sync.Mutex // orders events
	seq    uint64

	running sync.WaitGroup // requests to servers
	closed  bool           // nothing more is started
	ctx     context.Context
	stop    context.CancelFunc
}

// An attached is a server of a host.
type attached struct {
	name   string
	client *client.Client

	host         *Host
	mu           sync.Mutex
	tools        []*toolEntry // as last listed
	title        string       // the server's own name
	instructions string       // the server's instructions
	skills       []*skills.Skill
	hasSkills    bool          // it declares the skills extension
	hasResources bool          // it declares resources
	fresh        bool          // tools are up to date
	asking       chan struct{} // closed when the running request ends; nil if none runs
	problem      error         // of the last request
	since        time.Time     // when it was attached or last changed
	late         bool          // it did not respond in time
}

// New returns a host.
func New(o *Options) *Host {
	h := &Host{servers: map[string]*attached{}, sessions: map[string]*Session{}, asks: map[string]*openAsk{}}
	if o != nil {
		h.opts = *o
	}
	if h.opts.Book == nil {
		h.opts.Book, _ = permit.Open("", noSettings) // in memory: cannot fail
	}
	h.opts.Book.SetFolder(h.opts.Folder)
	h.model, h.effort, h.known = h.opts.Model, h.opts.Effort, h.opts.Secrets
	if h.known == nil {
		h.known = redact.New()
	}
	h.owner = newOwner()
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// Close stops the host's background work and releases its sessions for other
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

// begin runs f in the background. It returns false if the host is closed.
func (h *Host) begin(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.running.Go(f)
	}
	return !h.closed
}

// Attach adds a server under its name in the configuration, to which all
// permissions refer; the server's own name does not matter. Secrets are values
// that must not reach the model.
func (h *Host) Attach(name string, c *client.Client, secrets []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.servers[name] != nil {
		return errors.New("there is already a server named " + strconv.Quote(name))
	}
	if name == "" {
		return errors.New("a server needs a name")
	}
	h.servers[name] = &attached{name: name, client: c, host: h, since: time.Now()}
	h.known.Set(name, secrets)
	return nil
}

// Detach removes a server. Running calls continue.
func (h *Host) Detach(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.servers, name)
	h.known.Set(name, nil)
}

// Changed reports that a server has changed: its tools are listed again before
// the next request to the model.
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

// Notice emits a message to the user about a server, such as a warning of its
// connection.
func (h *Host) Notice(server, text string) {
	h.emit(Event{Kind: EventNotice, Server: server, Text: h.safe(text)})
}

// SetModel changes the model. Running turns continue with the old one.
func (h *Host) SetModel(m llm.Model) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.model = m
}

// Model returns the model; nil if there is none.
func (h *Host) Model() llm.Model {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.model
}

// Book returns what decides about calls.
func (h *Host) Book() *permit.Book { return h.opts.Book }

func (h *Host) server(name string) *attached {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers[name]
}

// all returns the servers, sorted by name.
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

// emit numbers an event and passes it on.
func (h *Host) emit(e Event) {
	h.events.Lock()
	defer h.events.Unlock()
	h.seq++
	e.Seq, e.At = h.seq, time.Now()
	if h.opts.Event != nil {
		h.opts.Event(e)
	}
}

package host

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
)

// An EventKind is the kind of an [Event].
type EventKind string

// The kinds of events. User interfaces show events and nothing else of the host.
const (
	EventTurn     EventKind = "turn"     // a turn began: Text is the user's message
	EventQueue    EventKind = "queue"    // the messages that wait have changed: Queue has all of them
	EventMessage  EventKind = "message"  // a message that waited became part of the running turn: Text
	EventStopped  EventKind = "stopped"  // the user stopped the running step: what arrived of it stays, and its calls are cancelled: Step
	EventInit     EventKind = "init"     // what the session works with, before its first request to the model: Init
	EventStep     EventKind = "step"     // a request to the model, or the calls of its answer, has reached another state: Step
	EventRetract  EventKind = "retract"  // the text and thinking of the running step do not count, because of Text; the request is sent again: Step
	EventPrompt   EventKind = "prompt"   // a server's prompt was used: Text is its text
	EventText     EventKind = "text"     // a piece of the model's answer
	EventThinking EventKind = "thinking" // a piece of the model's thinking
	EventTool     EventKind = "tool"     // a tool call changed its phase or made progress: Call
	EventAsk      EventKind = "ask"      // the user is asked: Ask
	EventReplied  EventKind = "answered" // an ask has ended: Ask, with its reply
	EventTask     EventKind = "task"     // a task in the background has ended, and its result was added to the conversation: Text, Call
	EventUsage    EventKind = "usage"    // tokens used by the session so far: Usage
	EventNotice   EventKind = "notice"   // a message for the user: Text
	EventLog      EventKind = "log"      // a log line of a server: Text, Level
	EventChanged  EventKind = "changed"  // a server's tools, resources or prompts changed: Server
	EventMuted    EventKind = "muted"    // questions of Server are declined from now on, because of Text; an empty Text: no longer
	EventError    EventKind = "error"    // the turn failed: Text says why and what to do
	EventDone     EventKind = "done"     // the turn ended: Stop says why
	EventResult   EventKind = "result"   // the outcome of the turn, after its done event: Result
)

// EventVersion is the version of events, which the init event has. It changes when
// a member or a kind is removed or gets another meaning; readers must ignore
// members and kinds that they do not know. docs/events.schema.json describes them.
const EventVersion = 1

// An Event is something that happened in a host.
type Event struct {
	Seq     uint64      `json:"seq"` // increases by one with each event of a host
	At      time.Time   `json:"at"`
	Kind    EventKind   `json:"kind"`
	Session string      `json:"session,omitzero"` // the conversation; empty if it belongs to none
	Server  string      `json:"server,omitzero"`
	Text    string      `json:"text,omitzero"`
	Level   string      `json:"level,omitzero"`
	Call    *ToolCall   `json:"call,omitzero"`
	Ask     *Ask        `json:"ask,omitzero"`
	Usage   *llm.Usage  `json:"usage,omitzero"`
	Stop    string      `json:"stop,omitzero"` // end, stop, length, refusal, cancelled, error; limit, max_turns, max_budget, timeout; schema: the answer does not have the form
	Init    *Init       `json:"init,omitzero"`
	Step    *Step       `json:"step,omitzero"`
	Result  *TurnResult `json:"result,omitzero"`
	Queue   []Queued    `json:"queue,omitzero"` // empty if nothing waits any more
}

// An Init says what a session works with.
type Init struct {
	Version int          `json:"version"` // EventVersion
	Tenon   string       `json:"tenon"`   // the version of the program
	Model   llm.Info     `json:"model"`
	Folder  string       `json:"folder,omitzero"`
	Servers []ServerInit `json:"servers"`
	Tools   []string     `json:"tools"`  // the model's names; those of the host are last
	Search  bool         `json:"search"` // the model searches for the tools of servers: Tools has only those of the host
	Limits  Limits       `json:"limits"`
}

// A ServerInit is a server of an [Init].
type ServerInit struct {
	Name  string `json:"name"`
	State string `json:"state"` // ready, failed or starting
	Why   string `json:"why,omitzero"`
	Tools int    `json:"tools"`
}

// Limits are the limits of a turn. 0 means none.
type Limits struct {
	MaxTurns  int     `json:"maxTurns,omitzero"`
	MaxBudget float64 `json:"maxBudget,omitzero"`
	Timeout   Millis  `json:"timeoutMs,omitzero"`
}

// A Step is one request to the model and the calls of its answer.
type Step struct {
	N       int    `json:"n"`                // counts from 1 in each turn; a request that is sent again has the same number
	State   string `json:"state,omitzero"`   // see the constants
	Attempt int    `json:"attempt,omitzero"` // with retrying: the number of the next attempt, if the answer was cut off
	Wait    Millis `json:"waitMs,omitzero"`  // with retrying: until the request is sent again
}

// The states of a step.
const (
	StepWaiting    = "waiting"    // for the first byte of the answer
	StepThinking   = "thinking"   // thinking streams in
	StepWriting    = "writing"    // text streams in
	StepCalling    = "calling"    // the calls of the answer are made
	StepCompacting = "compacting" // the conversation is shortened
	StepRetrying   = "retrying"   // the request is sent again
)

// A CallPhase is the phase of a tool call.
type CallPhase string

// The phases of a tool call.
const (
	CallProposed  CallPhase = "proposed"  // the model requested it
	CallWaiting   CallPhase = "waiting"   // the user is asked
	CallRunning   CallPhase = "running"   // sent to the server
	CallDone      CallPhase = "done"      // has a Result that is not an error
	CallFailed    CallPhase = "failed"    // Result is an error, or Problem says why there is none
	CallDenied    CallPhase = "denied"    // by a rule or the user
	CallCancelled CallPhase = "cancelled" // the turn or its step was stopped
)

// A ToolCall is a tool call and its state. Each event has a copy.
type ToolCall struct {
	ID        string          `json:"id"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Name      string          `json:"name"`              // the model's name for it
	Title     string          `json:"title,omitzero"`    // for people
	Arguments json.RawMessage `json:"arguments"`         // what runs
	Proposed  json.RawMessage `json:"proposed,omitzero"` // what the model wanted, if the user changed the arguments
	Phase     CallPhase       `json:"phase"`
	Rule      string          `json:"rule,omitzero"` // what allowed or denied it
	Warnings  []string        `json:"warnings,omitzero"`
	Sent      time.Time       `json:"sent,omitzero"` // to the server

	Progress float64 `json:"progress,omitzero"`
	Total    float64 `json:"total,omitzero"`
	Message  string  `json:"message,omitzero"` // of the progress

	Task *TaskState `json:"task,omitzero"` // set if the server runs the call as a task

	UI   string `json:"ui,omitzero"`   // the URI of the tool's view, if the user interface shows views
	View string `json:"view,omitzero"` // set if a view requested the call: the tool whose view it is

	Result   *mcp.CallToolResult `json:"result,omitzero"`
	Meta     mcp.Meta            `json:"resultMeta,omitzero"` // of the result, for its view
	Problem  string              `json:"problem,omitzero"`    // why there is no result
	Code     int                 `json:"code,omitzero"`       // of the JSON-RPC error, if there is no result
	ForModel string              `json:"forModel,omitzero"`   // the text that the model got
	Handle   string              `json:"handle,omitzero"`     // of the whole result, if the model got a part
	Duration Millis              `json:"tookMs,omitzero"`

	made   *llm.Made // set when it was sent to the server
	reason string    // why the user denied it, for the model
	broken bool      // there is no result, and the arguments are not the reason
	seen   *seenEdit // the change of a file that the user allowed
}

// Millis is a duration that marshals as a number of milliseconds.
type Millis time.Duration

// MarshalJSON writes milliseconds with three decimals.
func (m Millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(data []byte) error {
	ms, err := strconv.ParseFloat(string(data), 64)
	*m = Millis(ms * float64(time.Millisecond))
	return err
}

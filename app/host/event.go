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
	EventPrompt   EventKind = "prompt"   // a server's prompt was used: Text is its text
	EventText     EventKind = "text"     // a piece of the model's answer
	EventThinking EventKind = "thinking" // a piece of the model's thinking
	EventTool     EventKind = "tool"     // a tool call changed its phase or made progress: Call
	EventAsk      EventKind = "ask"      // the user is asked: Ask
	EventReplied  EventKind = "answered" // an ask has ended: Ask, with its reply
	EventTask     EventKind = "task"     // a task in the background has ended, and its result was added to the conversation: Text, Call
	EventUsage    EventKind = "usage"    // tokens used by the turn so far: Usage
	EventNotice   EventKind = "notice"   // a message for the user: Text
	EventLog      EventKind = "log"      // a log line of a server: Text, Level
	EventChanged  EventKind = "changed"  // a server's tools, resources or prompts changed: Server
	EventMuted    EventKind = "muted"    // questions of Server are declined from now on, because of Text; an empty Text: no longer
	EventError    EventKind = "error"    // the turn failed: Text says why and what to do
	EventDone     EventKind = "done"     // the turn ended: Stop says why
)

// An Event is something that happened in a host.
type Event struct {
	Seq     uint64     `json:"seq"` // increases by one with each event of a host
	At      time.Time  `json:"at"`
	Kind    EventKind  `json:"kind"`
	Session string     `json:"session,omitzero"` // the conversation; empty if it belongs to none
	Server  string     `json:"server,omitzero"`
	Text    string     `json:"text,omitzero"`
	Level   string     `json:"level,omitzero"`
	Call    *ToolCall  `json:"call,omitzero"`
	Ask     *Ask       `json:"ask,omitzero"`
	Usage   *llm.Usage `json:"usage,omitzero"`
	Stop    string     `json:"stop,omitzero"` // end, length, refusal, cancelled, error, limit
}

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
	CallCancelled CallPhase = "cancelled" // the turn was stopped
)

// A ToolCall is a tool call and its state. Each event has a copy.
type ToolCall struct {
	ID        string          `json:"id"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Name      string          `json:"name"`           // the model's name for it
	Title     string          `json:"title,omitzero"` // for people
	Arguments json.RawMessage `json:"arguments"`
	Phase     CallPhase       `json:"phase"`
	Rule      string          `json:"rule,omitzero"` // what allowed or denied it
	Warnings  []string        `json:"warnings,omitzero"`

	Progress float64 `json:"progress,omitzero"`
	Total    float64 `json:"total,omitzero"`
	Message  string  `json:"message,omitzero"` // of the progress

	Task *TaskState `json:"task,omitzero"` // set if the server runs the call as a task

	Result   *mcp.CallToolResult `json:"result,omitzero"`
	Problem  string              `json:"problem,omitzero"`  // why there is no result
	ForModel string              `json:"forModel,omitzero"` // the text that the model got
	Handle   string              `json:"handle,omitzero"`   // of the whole result, if the model got a part
	Duration Millis              `json:"tookMs,omitzero"`
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

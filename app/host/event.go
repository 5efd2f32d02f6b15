package host

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
)

// An EventKind says what happened.
type EventKind string

// What a host tells. Faces show it; nothing else of the host is ever shown.
const (
	EventTurn     EventKind = "turn"     // a turn began: Text is what the person said
	EventPrompt   EventKind = "prompt"   // a server's prompt was taken: Text is what it says
	EventText     EventKind = "text"     // a piece of the model's answer
	EventThinking EventKind = "thinking" // a piece of what the model thinks aloud
	EventTool     EventKind = "tool"     // a tool call entered another phase, or made progress: Call
	EventAsk      EventKind = "ask"      // the person is asked: Ask
	EventReplied  EventKind = "answered" // an ask has ended: Ask, with its reply
	EventUsage    EventKind = "usage"    // what the turn has cost so far: Usage
	EventNotice   EventKind = "notice"   // something to know: Text
	EventLog      EventKind = "log"      // a log line of a server: Text, Level
	EventChanged  EventKind = "changed"  // a server's tools, resources or prompts changed: Server
	EventMuted    EventKind = "muted"    // questions of a server are declined from now on: Server, and Text says why; an empty Text: no longer
	EventError    EventKind = "error"    // the turn failed: Text says why and what to do
	EventDone     EventKind = "done"     // the turn is over: Stop says why
)

// An Event is one thing that happened. It marshals to JSON as it is.
type Event struct {
	Seq     uint64     `json:"seq"` // grows by one with each event of a host
	At      time.Time  `json:"at"`
	Kind    EventKind  `json:"kind"`
	Session string     `json:"session,omitzero"` // whose conversation; empty where it is nobody's
	Server  string     `json:"server,omitzero"`
	Text    string     `json:"text,omitzero"`
	Level   string     `json:"level,omitzero"`
	Call    *ToolCall  `json:"call,omitzero"`
	Ask     *Ask       `json:"ask,omitzero"`
	Usage   *llm.Usage `json:"usage,omitzero"`
	Stop    string     `json:"stop,omitzero"` // end, length, refusal, cancelled, error, limit
}

// A CallPhase is how far a tool call has come.
type CallPhase string

// The phases of a tool call.
const (
	CallProposed  CallPhase = "proposed"  // the model wants it
	CallWaiting   CallPhase = "waiting"   // the person is asked
	CallRunning   CallPhase = "running"   // the server works on it
	CallDone      CallPhase = "done"      // Result is there, and no error
	CallFailed    CallPhase = "failed"    // Result is an error, or Problem says why there is none
	CallDenied    CallPhase = "denied"    // a rule or the person said no
	CallCancelled CallPhase = "cancelled" // the turn was stopped
)

// A ToolCall is a tool call as it goes along. Each event carries a copy.
type ToolCall struct {
	ID        string          `json:"id"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Name      string          `json:"name"`           // as the model knows it
	Title     string          `json:"title,omitzero"` // for people
	Arguments json.RawMessage `json:"arguments"`
	Phase     CallPhase       `json:"phase"`
	Rule      string          `json:"rule,omitzero"` // what allowed or denied it, in words
	Warnings  []string        `json:"warnings,omitzero"`

	Progress float64 `json:"progress,omitzero"`
	Total    float64 `json:"total,omitzero"`
	Message  string  `json:"message,omitzero"` // what the server says about its progress

	Result   *mcp.CallToolResult `json:"result,omitzero"`
	Problem  string              `json:"problem,omitzero"`  // why there is no result
	ForModel string              `json:"forModel,omitzero"` // what the model was given, in text
	Handle   string              `json:"handle,omitzero"`   // where the whole result is kept if the model got a part
	Duration Millis              `json:"tookMs,omitzero"`
}

// Millis is a time span that marshals as a number of milliseconds.
type Millis time.Duration

// MarshalJSON writes milliseconds, with microseconds behind the point.
func (m Millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(data []byte) error {
	ms, err := strconv.ParseFloat(string(data), 64)
	*m = Millis(ms * float64(time.Millisecond))
	return err
}

package llm

// An EventKind says what happened and which fields of an Event are set.
type EventKind string

const (
	EventText      EventKind = "text"            // Text continues the answer
	EventThinking  EventKind = "thinking"        // Text continues the thinking; Signature ends the block
	EventCallStart EventKind = "tool_call_start" // Call has an ID and a name but no arguments yet
	EventCallDelta EventKind = "tool_call_delta" // Text continues the arguments of Call
	EventCall      EventKind = "tool_call"       // Call is complete
	EventUsage     EventKind = "usage"           // Usage is the total for the request so far
	EventRetry     EventKind = "retry"           // Note says what failed and when the next attempt starts; precedes all other kinds
	EventDone      EventKind = "done"            // Stop, Usage and Message are set; the answer is complete
)

// An Event reports progress of an answer.
type Event struct {
	Kind      EventKind  `json:"kind"`
	Text      string     `json:"text,omitzero"`
	Call      *ToolCall  `json:"call,omitzero"`
	Signature string     `json:"signature,omitzero"` // see Part.Signature; on thinking and tool_call
	Usage     Usage      `json:"usage,omitzero"`
	Stop      StopReason `json:"stop,omitzero"`
	Note      string     `json:"note,omitzero"`
	Message   *Message   `json:"message,omitzero"` // on done: the answer to append to the next request
}

// A StopReason says why an answer ended.
type StopReason string

const (
	StopEnd       StopReason = "end"        // the answer is finished
	StopToolCalls StopReason = "tool_calls" // the model waits for tool results
	StopLength    StopReason = "length"     // the token limit or the context size was reached
	StopRefusal   StopReason = "refusal"    // the model or a content filter refused
	StopStop      StopReason = "stop"       // the answer reached one of Request.Stop
)

// Usage is the tokens and cost of a request. The three kinds of input do not
// overlap; [Usage.Read] returns their sum.
type Usage struct {
	Input      int     `json:"input,omitzero"`       // input tokens neither read from nor written to a cache
	Output     int     `json:"output,omitzero"`      // output tokens, including thinking
	CacheRead  int     `json:"cache_read,omitzero"`  // input tokens read from the provider's cache
	CacheWrite int     `json:"cache_write,omitzero"` // input tokens written to the provider's cache
	Cost       float64 `json:"cost,omitzero"`        // USD; 0 means unknown
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Cost + v.Cost}
}

// Read returns the number of all input tokens.
func (u Usage) Read() int { return u.Input + u.CacheRead + u.CacheWrite }

// Prices are in USD per million tokens.
type Prices struct {
	Input      float64 `json:"input,omitzero"`
	Output     float64 `json:"output,omitzero"`
	CacheRead  float64 `json:"cache_read,omitzero"`
	CacheWrite float64 `json:"cache_write,omitzero"`
}

// Of returns u.Cost if the provider reported it, and otherwise the cost computed
// from p; 0 without prices.
func (p Prices) Of(u Usage) float64 {
	if u.Cost != 0 {
		return u.Cost
	}
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / 1e6
}

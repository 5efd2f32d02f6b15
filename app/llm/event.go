package llm

// An EventKind says what happened, and which fields of an Event count.
type EventKind string

const (
	EventText      EventKind = "text"            // Text is more of the answer
	EventThinking  EventKind = "thinking"        // Text is more thinking; Signature ends the block
	EventCallStart EventKind = "tool_call_start" // Call has an id and a name, and no arguments yet
	EventCallDelta EventKind = "tool_call_delta" // Text is more of the arguments of Call, as the model writes them
	EventCall      EventKind = "tool_call"       // Call is complete
	EventUsage     EventKind = "usage"           // Usage is what the request has cost so far, not what it cost since the last event
	EventRetry     EventKind = "retry"           // Note says what failed and when it is tried again; comes before any other kind
	EventDone      EventKind = "done"            // Stop, Usage and Message: the answer is complete
)

// An Event is one thing that happens while a model answers.
type Event struct {
	Kind      EventKind  `json:"kind"`
	Text      string     `json:"text,omitzero"`
	Call      *ToolCall  `json:"call,omitzero"`
	Signature string     `json:"signature,omitzero"` // see Part.Signature; on thinking and tool_call
	Usage     Usage      `json:"usage,omitzero"`
	Stop      StopReason `json:"stop,omitzero"`
	Note      string     `json:"note,omitzero"`
	Message   *Message   `json:"message,omitzero"` // on done: the answer as the next request must repeat it
}

// A StopReason says why an answer ended.
type StopReason string

const (
	StopEnd       StopReason = "end"        // the model has said what it wanted
	StopToolCalls StopReason = "tool_calls" // it waits for results
	StopLength    StopReason = "length"     // the answer or the context is full
	StopRefusal   StopReason = "refusal"    // the model or a filter refuses
	StopStop      StopReason = "stop"       // one of Request.Stop came
)

// Usage is what a request cost. The three kinds of input do not overlap: what
// the model read is their sum.
type Usage struct {
	Input      int     `json:"input,omitzero"`       // tokens read that were neither from a cache nor put into one
	Output     int     `json:"output,omitzero"`      // tokens written, with thinking
	CacheRead  int     `json:"cache_read,omitzero"`  // tokens read from the provider's cache
	CacheWrite int     `json:"cache_write,omitzero"` // tokens read and put into the provider's cache
	Cost       float64 `json:"cost,omitzero"`        // USD; 0 means unknown
}

// Add gives the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Cost + v.Cost}
}

// Read is how many tokens the model was given, from wherever.
func (u Usage) Read() int { return u.Input + u.CacheRead + u.CacheWrite }

// Prices are in USD for a million tokens.
type Prices struct {
	Input      float64 `json:"input,omitzero"`
	Output     float64 `json:"output,omitzero"`
	CacheRead  float64 `json:"cache_read,omitzero"`
	CacheWrite float64 `json:"cache_write,omitzero"`
}

// Of is what a usage costs; 0 without prices. A cost that the provider itself
// has named stays.
func (p Prices) Of(u Usage) float64 {
	if u.Cost != 0 {
		return u.Cost
	}
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / 1e6
}

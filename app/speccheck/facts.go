package speccheck

import (
	"hash/maphash"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// facts are what a connection has declared so far, for checks of later messages.
// They are bounded and have copies, not frames.
type facts struct {
	client []byte          // the client's capabilities, as in initialize
	server []byte          // the server's capabilities
	tools  map[string]bool // names of tools; true if they have an output schema
	states map[uint64]bool // digests of every requestState that the server sent
	seed   maphash.Seed
}

const (
	maxTools  = 4096
	maxStates = 4096
)

// learn records the facts in a result.
func (f *facts) learn(o *Request, got *members) {
	switch o.method {
	case mcp.MethodInitialize, mcp.MethodDiscover:
		f.server = append([]byte(nil), got.capabilities...)
		f.client = append([]byte(nil), f.client...)
	case mcp.MethodToolsList:
		f.learnTools(got.tools)
	}
	if state, ok := rawjson.String(got.requestState); ok {
		f.learnState(state)
	}
}

func (f *facts) learnTools(tools []byte) {
	if f.tools == nil {
		f.tools = map[string]bool{}
	}
	for e := rawjson.Array(tools); e.Next() && len(f.tools) < maxTools; {
		if name, ok := rawjson.String(rawjson.Lookup(e.Value, "name")); ok {
			f.tools[visible.Shorten(name, 120)] = rawjson.Lookup(e.Value, "outputSchema") != nil
		}
	}
}

func (f *facts) learnState(state string) {
	if f.states == nil {
		f.states, f.seed = map[uint64]bool{}, maphash.MakeSeed()
	}
	if len(f.states) < maxStates {
		f.states[maphash.String(f.seed, state)] = true
	}
}

// gave reports whether a server sent this state, or too many states to know.
func (f *facts) gave(state string) bool {
	return len(f.states) >= maxStates || f.states != nil && f.states[maphash.String(f.seed, state)]
}

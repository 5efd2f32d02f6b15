package connect

import (
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Phase is the phase of a server.
type Phase string

// The phases of a server.
const (
	Starting   Phase = "starting"    // not connected yet
	Ready      Phase = "ready"       // connected
	Degraded   Phase = "degraded"    // connected, but the last call got no response
	NeedsLogin Phase = "needs login" // waits for the user to log in at State.Page
	Restarting Phase = "restarting"  // ended; will be started again
	Failed     Phase = "failed"      // ended too often or cannot be started; Restart tries again
	Disabled   Phase = "disabled"    // by the user
	Closed     Phase = "closed"      // with this program
)

// A State is the state of a server at one moment.
type State struct {
	Server string // its name in the configuration
	Phase  Phase
	Why    string    // why it is not ready, as a sentence
	Since  time.Time // when the phase began

	Kind     config.Kind
	Revision mcp.Revision // empty until it is connected
	Pid      int          // of its process; 0 if it has none
	Started  time.Time    // when it was last connected
	Starts   int          // how often it was connected
	Stderr   string       // the last lines of its process's standard error, after a failure

	Page    string        // where to log in, while it needs a login
	Next    time.Duration // until it is started again, while restarting
	Latency time.Duration // of the last call with a response
	Calls   int           // made so far
	Errors  int           // calls without a response
}

// Usable reports whether calls can be made.
func (s State) Usable() bool { return s.Phase == Ready || s.Phase == Degraded }

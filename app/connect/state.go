package connect

import (
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Phase is what a server is up to.
type Phase string

// The phases of a server.
const (
	Starting   Phase = "starting"    // it was not met yet
	Ready      Phase = "ready"       // it was met and answers
	Degraded   Phase = "degraded"    // it was met, but calls fail on the way or get no answer
	NeedsLogin Phase = "needs login" // it waits for the person to log in at State.Page
	Restarting Phase = "restarting"  // it ended and will be started again
	Failed     Phase = "failed"      // it ended too often, or cannot be started; Restart tries again
	Disabled   Phase = "disabled"    // the person has switched it off
	Closed     Phase = "closed"      // it was closed with this program
)

// A State is how a server is doing at one moment.
type State struct {
	Server string // its name in the configuration
	Phase  Phase
	Why    string    // why it is not ready, in a sentence
	Since  time.Time // when the phase began

	Kind     config.Kind
	Revision mcp.Revision // what is spoken with it; empty until it was met
	Pid      int          // of its process; 0 if it has none
	Started  time.Time    // when it was last met
	Starts   int          // how often it was met
	Stderr   string       // the last words of its process, kept when it has failed

	Page    string        // where to log in, while it needs a login
	Next    time.Duration // until it is started again, while restarting
	Latency time.Duration // of the last call that was answered
	Calls   int           // answered or failed so far
	Errors  int           // calls that failed on the way or got no answer
}

// Usable reports whether calls have a chance.
func (s State) Usable() bool { return s.Phase == Ready || s.Phase == Degraded }

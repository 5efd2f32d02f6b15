package speccheck

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Dir says which way a message went.
type Dir string

// The directions. What did not travel, such as an event, counts as coming from
// the server's side.
const (
	ToServer   Dir = "to server"
	FromServer Dir = "from server"
)

// A Kind says what a message is.
type Kind string

// The kinds. Noise is a frame that is no message, Stderr a line of a server's
// standard error, Event something that happened to the connection: its frame is
// a sentence and not JSON.
const (
	KindRequest      Kind = "request"
	KindResponse     Kind = "response"
	KindError        Kind = "error"
	KindNotification Kind = "notification"
	KindBatch        Kind = "batch"
	KindInvalid      Kind = "noise"
	KindStderr       Kind = "stderr"
	KindEvent        Kind = "event"
)

// IsJSON reports whether frames of this kind are messages.
func (k Kind) IsJSON() bool {
	return k != KindInvalid && k != KindStderr && k != KindEvent
}

// A Message is one frame as it passed, with what is known about it. Nobody may
// change what its slices and pointers lead to.
type Message struct {
	Seq    uint64 // counts all messages of a Log, from 1
	At     time.Time
	Server string
	Conn   uint64 // counts the connections of a Log, from 1: it grows on reconnect
	Dir    Dir
	Kind   Kind

	// Frame is what passed, without the line end. Size is its true length:
	// of a frame too large for the log only the beginning is kept.
	Frame []byte
	Size  int

	// Method is that of a request or notification; on an answer it is the
	// method of what it answers. ID is JSON. Tool is what a request is about:
	// the tool, prompt, URI or task, shortened. The last two stand on
	// answers too.
	Method, ID, Tool string

	// Revision is what is spoken in this message, empty if not known (yet).
	// Era is "modern", "legacy" or empty.
	Revision mcp.Revision
	Era      string

	// Joins is the request that this answers or belongs to: an answer, its
	// progress, its cancellation, news of its subscription, what is sent on
	// its HTTP stream. 0 if there is none.
	Joins uint64

	// AnsweredBy is the answer to a request, once there is one. A copy of the
	// message that was taken earlier does not learn of it.
	AnsweredBy uint64

	// Duration is how long after its request an answer came.
	Duration time.Duration

	// HTTP is the exchange that carried the message; nil on other transports
	// and until its headers are known.
	HTTP *HTTP

	// Problems are the rules of the specification that the message breaks.
	Problems []Problem

	// ShapeChecked reports that Problems includes the result of [CheckShape],
	// or that the message has no shape to check.
	ShapeChecked bool
}

// HTTP is one HTTP exchange. Secrets are taken out of URL and headers.
type HTTP struct {
	Method, URL string
	Status      int // 0 until the answer's headers came
	Request     []Header
	Response    []Header
	Error       string // why there was no answer
}

// A Header is one line of an HTTP header.
type Header struct{ Name, Value string }

// A Severity says how bad a problem is.
type Severity string

// The severities: Broken is a MUST, Doubtful a SHOULD.
const (
	Broken   Severity = "broken"
	Doubtful Severity = "doubtful"
)

// A Problem is one violation of the specification.
type Problem struct {
	Rule     string // the ID of a [Rule]
	Text     string // what is wrong here
	Pointer  string // where in the frame, as a JSON pointer; empty means all of it
	Severity Severity
}

// String tells the exchange in a line.
func (h *HTTP) String() string {
	if h.Error != "" {
		return fmt.Sprintf("%s %s failed: %s", h.Method, h.URL, h.Error)
	}
	return fmt.Sprintf("%s %s: %d %s", h.Method, h.URL, h.Status, http.StatusText(h.Status))
}

// Header returns the first value of a header of the answer, or nothing.
func (h *HTTP) Header(name string) string {
	for _, l := range h.Response {
		if strings.EqualFold(l.Name, name) {
			return l.Value
		}
	}
	return ""
}

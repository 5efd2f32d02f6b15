package speccheck

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Dir is the direction of a message.
type Dir string

// The directions. Lines of standard error and events have FromServer.
const (
	ToServer   Dir = "to server"
	FromServer Dir = "from server"
)

// A Kind is the kind of a message.
type Kind string

// The kinds. KindInvalid is a frame that is not a JSON-RPC message, KindStderr a
// line of a server's standard error, KindEvent something that happened to the
// connection: its frame is a sentence and not JSON.
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

// IsJSON reports whether frames of this kind are JSON-RPC messages.
func (k Kind) IsJSON() bool {
	return k != KindInvalid && k != KindStderr && k != KindEvent
}

// A Message is one frame of a connection and what is known about it. Its slices
// and pointers are shared and must not be modified.
type Message struct {
	Seq    uint64 // counts all messages of a Log, from 1
	At     time.Time
	Server string
	Conn   uint64 // counts the connections of a Log, from 1
	Dir    Dir
	Kind   Kind

	// Frame is the frame without its line end. Size is its full length: a
	// log keeps only the beginning of a frame that is too large.
	Frame []byte
	Size  int

	// Method is the method of a request or notification; a response has the
	// method of its request. ID is JSON. Tool is the tool, prompt, URI or
	// task that a request names, shortened. Responses have the ID and the
	// Tool of their request.
	Method, ID, Tool string

	// Revision is the protocol revision of the message; empty while it is
	// unknown. Era is EraModern, EraLegacy or empty.
	Revision mcp.Revision
	Era      string

	// Joins is the Seq of the request that the message belongs to: as its
	// response, progress or cancellation, as a notification of its
	// subscription, or as a message on its HTTP stream. 0 means none.
	Joins uint64

	// AnsweredBy is the Seq of the response to a request; 0 until there is
	// one. Copies of the message are not updated.
	AnsweredBy uint64

	// Duration is the time between a response and its request.
	Duration time.Duration

	// Outcome is how a request ended, empty while it is open, and of a message
	// that ends a request, how it does. Code is the code of a JSON-RPC error,
	// or the status if Outcome is OutcomeHTTP. Took is the time that an ended
	// request was open. Copies of the message are not updated.
	Outcome Outcome
	Code    int
	Took    time.Duration

	// Ends are the requests that a batch ends.
	Ends []Ended

	// HTTP is the exchange that carried the message; nil on other transports
	// and until its headers are known.
	HTTP *HTTP

	// Problems are the rules of the specification that the message breaks.
	Problems []Problem

	// ShapeChecked reports that Problems includes the result of [CheckShape],
	// or that the message has no shape to check.
	ShapeChecked bool
}

// An Outcome is how a request ended.
type Outcome string

// The outcomes. OutcomeFailed is a result with isError, OutcomeInput one that
// requires input, OutcomeInvalid one of a tool whose content is no list,
// OutcomeHTTP an exchange that failed without a response, and OutcomeLost a stream
// that ended without one.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeFailed    Outcome = "failed"
	OutcomeInput     Outcome = "input"
	OutcomeInvalid   Outcome = "invalid"
	OutcomeError     Outcome = "error"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeHTTP      Outcome = "http"
	OutcomeLost      Outcome = "lost"
)

// Failed reports whether the request failed: it ended with an error, with a
// result that has isError or is invalid, or without a response. One that was cancelled, or that
// requires input, did not fail.
func (o Outcome) Failed() bool {
	return o == OutcomeFailed || o == OutcomeInvalid || o == OutcomeError || o == OutcomeHTTP || o == OutcomeLost
}

// An Ended is the end of a request.
type Ended struct {
	Seq     uint64 // of the request
	Outcome Outcome
	Code    int
	Took    time.Duration
}

// HTTP is one HTTP exchange. URL and headers are redacted.
type HTTP struct {
	Method, URL string
	Status      int // 0 until the response's headers have arrived
	Request     []Header
	Response    []Header
	Error       string // why there is no response
}

// A Header is one HTTP header field.
type Header struct{ Name, Value string }

// A Severity is the severity of a problem.
type Severity string

// The severities: Broken means that a MUST is violated, Doubtful a SHOULD.
const (
	Broken   Severity = "broken"
	Doubtful Severity = "doubtful"
)

// A Problem is one violation of the specification.
type Problem struct {
	Rule     string // the ID of a [Rule]
	Text     string // what is wrong
	Pointer  string // where in the frame, as a JSON pointer; empty means all of it
	Severity Severity
}

// String describes the exchange in one line.
func (h *HTTP) String() string {
	if h.Error != "" {
		return fmt.Sprintf("%s %s failed: %s", h.Method, h.URL, h.Error)
	}
	return fmt.Sprintf("%s %s: %d %s", h.Method, h.URL, h.Status, http.StatusText(h.Status))
}

// Header returns the first value of a response header, or "".
func (h *HTTP) Header(name string) string {
	for _, l := range h.Response {
		if strings.EqualFold(l.Name, name) {
			return l.Value
		}
	}
	return ""
}

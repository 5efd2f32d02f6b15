package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
)

// An Extension describes an extension of the protocol to the packages that
// translate, carry and route messages. A package that implements an extension
// passes its description to [RegisterExtension].
//
// What a server does for an extension is not part of the description: package
// server has that.
type Extension struct {
	// ID is the identifier of the extension in capabilities, such as
	// "io.modelcontextprotocol/tasks".
	ID string

	// Names lists the places where messages of the extension contain names. A
	// gateway that changes names, so that those of several servers differ,
	// changes them there too.
	Names []NameRule

	// InputMethods lists the methods of older revisions, added by the
	// extension, whose calls may return an [InputRequired].
	InputMethods []string

	// ForLegacyClient wraps the Handler that serves one session of a client of
	// an older revision, if the Handler declares the extension. The returned
	// Handler serves what the client sends: it presents the extension in a form
	// that the client's revision has, or hides it. Nil means that the client
	// gets the extension unchanged.
	ForLegacyClient func(h Handler, s *LegacySession) Handler

	// ForLegacyServer wraps a connection to a server of an older revision. The
	// returned Handler presents what the server has in the form of the
	// extension. Nil means that calls are sent unchanged.
	ForLegacyServer func(h Handler, c *LegacyConn) Handler
}

// A LegacySession is the session of a client of an older revision.
type LegacySession struct {
	// Revision is the protocol revision of the session.
	Revision Revision
	// Context ends when the session ends.
	Context context.Context
	// Notify sends a notification that belongs to no call. It does not block;
	// while the client is not connected, the notification is lost.
	Notify func(Notification)
	// Ask sends an input request that belongs to no call and returns the
	// response. It returns an error at once while the client is not connected.
	Ask func(ctx context.Context, q InputRequest) (json.RawMessage, error)
}

// A LegacyConn is a connection to a server of an older revision.
type LegacyConn struct {
	// Revision is the protocol revision of the connection.
	Revision Revision
	// Context ends when the connection is closed.
	Context context.Context
	// OnNotification is set by the extension, if it handles notifications of
	// the server: it reports whether n needs no further handling. It must not
	// block.
	OnNotification func(n Notification) (handled bool)
	// InputCall is set by the extension, if input requests of the server say in
	// their _meta which call they belong to. It returns a function that reports
	// whether a call is that one, or nil if the metadata does not say.
	InputCall func(meta json.RawMessage) func(*Call) bool
}

// A NameRule is a place in messages that contains names.
type NameRule struct {
	// Method is the method of the request or notification.
	Method string
	// In is the part of the message.
	In MessagePart
	// ResultType is the resultType of the results that have the place, if In is
	// [InResult]; empty means complete results.
	ResultType string
	// Path leads from the part to the names: names of members with dots in
	// between, and "[]" after the name of an array for each of its elements.
	// Examples are "taskId", "skills[].uri" and "taskIds[]".
	Path string
	// Kind is the kind of name: "tool", "prompt", "uri", or another word for
	// names that only the extension has.
	Kind string
	// Header says that HTTP clients repeat the name in the Mcp-Name header. It
	// applies to one rule with [InParams] for each method.
	Header bool
}

// A MessagePart is the part of a message that a [NameRule] applies to.
type MessagePart int

// The parts of messages.
const (
	InParams MessagePart = iota // the parameters of a request or notification
	InResult                    // the result of a request
)

// registered holds the registered extensions. It is read for each message of an
// extension, so readers take no lock.
var registered struct {
	mu  sync.Mutex
	all atomic.Pointer[[]Extension]
}

// RegisterExtension makes an extension known to all connections and servers of
// the process that are created later. The package of an extension calls it while
// it is initialized, so that a program which does not import the package does
// not contain the extension. It panics if the ID is empty or registered already.
func RegisterExtension(e Extension) {
	registered.mu.Lock()
	defer registered.mu.Unlock()
	old := RegisteredExtensions()
	if e.ID == "" || slices.ContainsFunc(old, func(o Extension) bool { return o.ID == e.ID }) {
		panic("mcp: the extension " + e.ID + " has no ID or is registered already")
	}
	all := append(slices.Clone(old), e)
	registered.all.Store(&all)
}

// RegisteredExtensions returns the registered extensions. The caller must not
// modify them.
func RegisteredExtensions() []Extension {
	if all := registered.all.Load(); all != nil {
		return *all
	}
	return nil
}

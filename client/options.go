package client

import (
	"cmp"
	"context"
	"encoding/json"
	"runtime/debug"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// Options configures a client. Nil means a client without capabilities and with
// the default limits.
type Options struct {
	// Client is the name and version that the client sends. The default is
	// "tenon-client" and the version of this module.
	Client mcp.Implementation

	// Elicit asks the user to fill in a form. It must be safe for concurrent
	// use. If it is nil, the client does not declare the capability.
	//
	// An error means that the request cannot be answered at all; a user who
	// declines is [Elicitation.Decline]. An older server gets an error response
	// and continues the call, and Warn reports the error; a call to a server of
	// revision 2026-07-28 ends with it.
	Elicit func(ctx context.Context, e *Elicitation) (*mcp.ElicitResult, error)

	// ElicitURL asks the user for consent to open a page; accepting means that
	// the page is opened. It must show the whole URL and must not open it
	// without consent. If it is nil, the client does not declare the
	// capability.
	ElicitURL func(ctx context.Context, e *Elicitation) (*mcp.ElicitResult, error)

	// ElicitURLDone is called, during a call, when the server reports that the
	// user has finished with a page, with the Elicitation that ElicitURL was
	// called with. Only servers of revision 2025-11-25 report this. It must not
	// block. Nil ignores such reports.
	ElicitURLDone func(e *Elicitation)

	// Sampling lets servers use a model. Nil means that they cannot.
	//
	// Deprecated: by SEP-2577; see [Sampling].
	Sampling *Sampling

	// Roots returns the directories that the server may use. Call
	// [Client.RootsChanged] when they change. If Roots is nil, the client does
	// not declare the capability.
	//
	// Deprecated: by SEP-2577; it may be removed in the first revision on or
	// after 2027-07-28. Use tool parameters or URIs instead.
	Roots func(ctx context.Context) ([]mcp.Root, error)

	// Logging requests log messages from servers. Nil requests none.
	//
	// Deprecated: by SEP-2577; see [Logging].
	Logging *Logging

	// Extensions holds the settings of the extensions that the client supports,
	// by full name.
	Extensions map[string]json.RawMessage

	// IdleTimeout is how long a server may send nothing during a call. 0 means
	// 60 s; negative means no limit.
	IdleTimeout time.Duration

	// TotalTimeout is how long a call may take in all, including input
	// requests. 0 means 10 min, and no limit for a call that continues as a
	// task (see [PauseTimeouts]); negative means no limit.
	TotalTimeout time.Duration

	// MaxRounds is how often one call is made because the server requests
	// input. 0 means [mcp.MaxRounds].
	MaxRounds int

	// MaxPages and MaxItems limit a list. 0 means 1,000 pages and 100,000
	// items.
	MaxPages, MaxItems int

	// CacheBytes is the maximum size of the cache. 0 means 16 MiB; negative
	// disables caching.
	CacheBytes int

	// Middleware wraps the connection to the server; the first sees a call
	// first. Extensions provide it: tasks.Client of package ext/tasks waits for
	// the results of tool calls that the server runs as tasks.
	Middleware []mcp.Middleware

	// SkipOutputCheck disables the validation of structured results against the
	// output schema of their tool.
	SkipOutputCheck bool

	// Warn is called with a description of each problem that could be skipped:
	// items left out of a list, notifications that were dropped, lines or
	// events that are not messages, responses with an unknown id, requests that
	// the server must not send, input requests of a call that were answered
	// with an error. Of many invalid messages it gets the first ten in ten
	// seconds, then their number. It must be safe for concurrent use and must
	// not block. Nil discards warnings.
	Warn func(warning string)

	defaultTotal bool // TotalTimeout is the default
}

// Profile returns the client profile for these options, for connections that
// are made without [Dial] and used with [New]. It responds to input requests
// that older servers send outside of a call.
func (o *Options) Profile() *mcp.ClientProfile {
	return o.withDefaults().profile(nil)
}

// profile is Profile with a function that is called with change notifications.
func (o *Options) profile(changed func(mcp.Notification)) *mcp.ClientProfile {
	p := &mcp.ClientProfile{Client: o.Client, Capabilities: *o.capabilities(), OnWarning: o.Warn}
	caller := mcp.Caller{Capabilities: &p.Capabilities}
	p.OnInputRequest = func(ctx context.Context, q mcp.InputRequest) (json.RawMessage, error) {
		if err := caller.CanHandle(q); err != nil {
			return nil, err
		}
		return o.handleInput(ctx, nil, "", q)
	}
	p.OnNotification = func(n mcp.Notification) {
		if n.Method == mcp.NotificationMessage {
			o.Logging.message(context.Background(), n)
		} else if changed != nil {
			changed(n)
		}
	}
	return p
}

func (o *Options) capabilities() *mcp.ClientCapabilities {
	caps := &mcp.ClientCapabilities{Extensions: o.Extensions}
	if o.Elicit != nil || o.ElicitURL != nil {
		// Without modes, the capability means forms in every revision.
		caps.Elicitation = &mcp.ElicitationCapability{}
		if o.ElicitURL != nil {
			caps.Elicitation.URL = mcp.Settings{}
			if o.Elicit != nil {
				caps.Elicitation.Form = mcp.Settings{}
			}
		}
	}
	caps.Sampling = o.Sampling.capability()
	if o.Roots != nil {
		caps.Roots = &mcp.RootsCapability{ListChanged: true}
	}
	return caps
}

// withDefaults returns a copy with defaults for unset limits.
func (o *Options) withDefaults() *Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Client.Name == "" {
		out.Client.Name = "tenon-client"
	}
	if out.Client.Version == "" {
		out.Client.Version = moduleVersion()
	}
	out.IdleTimeout = cmp.Or(out.IdleTimeout, 60*time.Second)
	out.defaultTotal = out.defaultTotal || out.TotalTimeout == 0
	out.TotalTimeout = cmp.Or(out.TotalTimeout, 10*time.Minute)
	out.MaxRounds = cmp.Or(out.MaxRounds, mcp.MaxRounds)
	out.MaxPages = cmp.Or(out.MaxPages, 1000)
	out.MaxItems = cmp.Or(out.MaxItems, 100_000)
	out.CacheBytes = cmp.Or(out.CacheBytes, 16<<20)
	return &out
}

func (o *Options) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

// moduleVersion returns the version of this module in the running program.
var moduleVersion = sync.OnceValue(func() string {
	const path = "github.com/tenon-mcp/tenon"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "0"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == path && m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	return "0"
})

package client

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// Options say who the client is and what it can do. Nil means that it can
// answer nothing and that all limits are the defaults.
type Options struct {
	// Client is how the client names itself. Unset: "tenon-client" and the
	// version of this module.
	Client mcp.Implementation

	// Elicit has a person fill in a form. It may be called by several calls at
	// once. Nil: the server is told that nobody can.
	//
	// An error says that the request cannot be answered at all; a person who
	// says no is [Elicitation.Decline]. An older server gets an error response
	// and goes on with the call, and Warn reports the error; a call to a server
	// of revision 2026-07-28 ends with it.
	Elicit func(ctx context.Context, e *Elicitation) (*mcp.ElicitResult, error)

	// ElicitURL has a person decide whether to open a page; accepting means
	// that they will. It must show the whole address and must not open it by
	// itself. Nil: the server is told that nobody can.
	ElicitURL func(ctx context.Context, e *Elicitation) (*mcp.ElicitResult, error)

	// ElicitURLDone hears that the person is done with a page that ElicitURL
	// was called for last in a call, with the same Elicitation, while the call
	// is open. Only servers of revision 2025-11-25 say so. It must not block. Nil:
	// it is not of interest.
	ElicitURLDone func(e *Elicitation)

	// Sampling lets servers use a model. Nil: not possible.
	//
	// Deprecated: by SEP-2577; see [Sampling].
	Sampling *Sampling

	// Roots says which directories are open to the server. Call
	// [Client.RootsChanged] when they change. Nil: not possible.
	//
	// Deprecated: by SEP-2577; it may go in the first revision on or after
	// 2027-07-28. Use tool parameters or URIs instead.
	Roots func(ctx context.Context) ([]mcp.Root, error)

	// Logging asks servers for log lines. Nil: none are wanted.
	//
	// Deprecated: by SEP-2577; see [Logging].
	Logging *Logging

	// Extensions are the settings of the extensions that the client supports,
	// under their full names. Unset: none.
	Extensions map[string]json.RawMessage

	// IdleTimeout is how long a server may be silent during a call. 0 means
	// 60 s; negative means for ever.
	IdleTimeout time.Duration

	// TotalTimeout is how long a call may take in all, whatever is heard of it
	// and the answers of a person included. 0 means 10 min; negative means for
	// ever.
	TotalTimeout time.Duration

	// MaxRounds is how often one call is made because the server asks for
	// input. 0 means [mcp.MaxRounds].
	MaxRounds int

	// MaxPages and MaxItems bound a list. 0 means 1,000 pages and 100,000
	// items.
	MaxPages, MaxItems int

	// CacheBytes is how much memory results that may be used again can take.
	// 0 means 16 MiB; negative means that none are kept.
	CacheBytes int

	// SkipOutputCheck takes structured results as they are, without holding
	// them against the output schema of their tool.
	SkipOutputCheck bool

	// Warn is called with a sentence about what was wrong and could be
	// skipped: items left out of a list, notifications that were dropped and,
	// over every transport, lines or events that are not messages, responses
	// with an unknown id, and requests that the server may not send; input
	// requests of a call that were answered with an error. Of many
	// skipped messages the first ten in ten seconds are reported, then their
	// number. It may be called by many goroutines and must not block. Nil
	// drops warnings.
	Warn func(warning string)
}

// Persona is how a client with these options introduces itself, for those who
// connect on their own and use [New]; [Dial] does it by itself. It answers the
// questions that belong to no call, as older servers ask them.
func (o *Options) Profile() *mcp.ClientProfile {
	return o.withDefaults().profile(nil)
}

// persona is Persona with somebody who hears of changes.
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
		// With neither mode named, forms are meant, in every revision.
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

// withDefaults is a copy in which every unset limit has its default.
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
	orElse(&out.IdleTimeout, 60*time.Second)
	orElse(&out.TotalTimeout, 10*time.Minute)
	orElse(&out.MaxRounds, mcp.MaxRounds)
	orElse(&out.MaxPages, 1000)
	orElse(&out.MaxItems, 100_000)
	orElse(&out.CacheBytes, 16<<20)
	return &out
}

func orElse[T comparable](v *T, unset T) {
	var zero T
	if *v == zero {
		*v = unset
	}
}

func (o *Options) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

// moduleVersion is the version of this module in the running program.
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

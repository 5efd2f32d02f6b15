package host

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
)

// sessionKey is the context key for the conversation of a call, in which
// questions of the server appear.
type sessionKey struct{}

type inSession struct{ session, call string }

func withSession(ctx context.Context, session, call string) context.Context {
	return context.WithValue(ctx, sessionKey{}, inSession{session, call})
}

func sessionOf(ctx context.Context) inSession {
	in, _ := ctx.Value(sessionKey{}).(inSession)
	return in
}

// ClientOptions returns the options for the client of a server, which pass the
// server's questions to the user. Connect with them, then Attach.
func (h *Host) ClientOptions(server string) client.Options {
	o := client.Options{
		Client: mcp.Implementation{Name: "tenon", Title: "Tenon", Version: version.String()},
		Elicit: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			return h.form(ctx, server, e)
		},
		ElicitURL: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			return h.page(ctx, server, e)
		},
		Warn: h.warnings(server),
	}
	if h.opts.Views {
		o.Extensions = map[string]json.RawMessage{apps.ExtensionID: apps.ClientSettings()}
	}
	h.deprecated(server, &o)
	return o
}

// maxWarnings bounds the warnings of one server that are emitted.
const maxWarnings = 100

// warnings returns a function that emits warnings about a server's messages,
// except for interrupted subscriptions, which the connection reports better.
func (h *Host) warnings(server string) func(string) {
	var told atomic.Int32
	return func(w string) {
		if aboutDeprecation(w) || strings.HasPrefix(w, "subscription interrupted") {
			return
		}
		switch n := told.Add(1); {
		case n < maxWarnings:
			h.Notice(server, w)
		case n == maxWarnings:
			h.Notice(server, w+" (further warnings about this server are not shown)")
		}
	}
}

// form asks the user to fill in a form of a server.
func (h *Host) form(ctx context.Context, server string, e *client.Elicitation) (*mcp.ElicitResult, error) {
	secret := permit.SecretFields(e.Message, e.Form)
	a, err := h.askFor(ctx, Ask{
		Kind: AskForm, Session: sessionOf(ctx).session, Server: server, Message: h.safe(e.Message), Schema: e.Schema, Secret: secret,
		check: func(content json.RawMessage) error {
			if len(content) == 0 {
				content = json.RawMessage("{}")
			}
			return e.Form.CheckResponse(content)
		},
	})
	if err != nil {
		return nil, err
	}
	switch a.Action {
	case "accept":
		h.recordSecret(server, secret, a.Content)
		return e.Accept(a.Content)
	case "cancel":
		return e.Cancel()
	}
	return e.Decline()
}

// recordSecret registers the values of secret fields, so that they do not reach
// the model when the server repeats them.
func (h *Host) recordSecret(server string, fields []string, content json.RawMessage) {
	var values map[string]any
	if len(fields) == 0 || mcp.Unmarshal(content, &values) != nil {
		return
	}
	for _, name := range fields {
		if text, ok := values[name].(string); ok {
			h.known.Add(server, text)
		} else if number := rawjson.Lookup(content, name); number != nil {
			h.known.Add(server, string(number))
		}
	}
}

func (h *Host) page(ctx context.Context, server string, e *client.Elicitation) (*mcp.ElicitResult, error) {
	a, err := h.askFor(ctx, Ask{Kind: AskURL, Session: sessionOf(ctx).session, Server: server, Message: h.safe(e.Message), URL: e.URL})
	if err != nil {
		return nil, err
	}
	switch a.Action {
	case "accept":
		return e.Accept(nil)
	case "cancel":
		return e.Cancel()
	}
	return e.Decline()
}

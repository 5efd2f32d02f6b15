package host

import (
	"context"
	"fmt"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
)

// sessionKey carries which conversation a call belongs to, so that a question
// of the server appears there.
type sessionKey struct{}

type inSession struct{ session, call string }

func withSession(ctx context.Context, session, call string) context.Context {
	return context.WithValue(ctx, sessionKey{}, inSession{session, call})
}

func sessionOf(ctx context.Context) inSession {
	in, _ := ctx.Value(sessionKey{}).(inSession)
	return in
}

// ClientOptions is how the client of a server introduces itself, and how the
// server's questions reach the person. Connect with it, then Attach.
func (h *Host) ClientOptions(server string) client.Options {
	o := client.Options{
		Client: mcp.Implementation{Name: "tenon", Title: "Tenon", Version: version.String()},
		Elicit: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			return h.form(ctx, server, e)
		},
		ElicitURL: func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			return h.page(ctx, server, e)
		},
		Warn: func(w string) {
			if !aboutDeprecation(w) {
				h.tell(Event{Kind: EventNotice, Server: server, Text: h.safe(w)})
			}
		},
	}
	h.deprecated(server, &o)
	return o
}

func (h *Host) form(ctx context.Context, server string, e *client.Elicitation) (*mcp.ElicitResult, error) {
	for {
		a, err := h.ask(ctx, Ask{Kind: AskForm, Session: sessionOf(ctx).session, Server: server, Message: h.safe(e.Message), Schema: e.Schema})
		if err != nil {
			return nil, err
		}
		switch a.Action {
		case "accept":
			if err := e.Form.CheckAnswer(a.Content); err != nil {
				h.tell(Event{Kind: EventNotice, Session: sessionOf(ctx).session, Server: server, Text: fmt.Sprintf("The form is not complete: %v", err)})
				continue
			}
			return e.Accept(a.Content)
		case "cancel":
			return e.Cancel()
		}
		return e.Decline()
	}
}

func (h *Host) page(ctx context.Context, server string, e *client.Elicitation) (*mcp.ElicitResult, error) {
	a, err := h.ask(ctx, Ask{Kind: AskURL, Session: sessionOf(ctx).session, Server: server, Message: h.safe(e.Message), URL: e.URL})
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

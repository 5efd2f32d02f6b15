package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// What the protocol has deprecated, for older servers: sampling and log lines.
// To take it away, delete this file and the call in ClientOptions.

// maxSamplingTokens bounds a message that a server requests.
const maxSamplingTokens = 4096

// maxSamplings bounds how often one call may use the model.
const maxSamplings = 10

func (h *Host) deprecated(server string, o *client.Options) {
	o.Sampling = &client.Sampling{Create: func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return h.sample(ctx, server, server, p)
	}}
	o.Logging = &client.Logging{Level: mcp.LogInfo, OnMessage: func(ctx context.Context, line mcp.LogMessage) {
		var text string
		if mcp.Unmarshal(line.Data, &text) != nil {
			text = string(line.Data)
		}
		h.emit(Event{Kind: EventLog, Session: sessionOf(ctx).session, Server: server, Level: string(line.Level), Text: visible.Line(h.redact(text))})
	}}
	h.declare(server, o)
}

// aboutDeprecation reports whether a warning is about the deprecated features
// offered here: it is for developers, not for users.
func aboutDeprecation(warning string) bool {
	return strings.Contains(warning, "is deprecated by SEP-2577")
}

// sample lets a server use the model, or a view of it: who names it to the user,
// who reviews the request and the message before each is sent.
func (h *Host) sample(ctx context.Context, server, who string, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	in := sessionOf(ctx)
	model := h.Model()
	if model == nil {
		return nil, mcp.Errorf(mcp.CodeInternal, "no model is connected")
	}
	if n := h.countSampling(server, in); n > maxSamplings {
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "this call has used the model %d times, which is the limit", maxSamplings)
	}
	question := Ask{Kind: AskSampling, Session: in.session, Server: server, Sampling: p,
		Message: fmt.Sprintf("%s asks to use %s. You pay for it.", who, model.Info())}
	a, err := h.askFor(ctx, question)
	if err != nil {
		return nil, err
	}
	if a.Action != "accept" {
		return nil, client.ErrSamplingRejected
	}
	draft, err := h.draft(ctx, model, in.session, p)
	if err != nil {
		return nil, err
	}
	question.Draft, question.Message = draft, fmt.Sprintf("This would be sent to %s.", who)
	if a, err = h.askFor(ctx, question); err != nil {
		return nil, err
	}
	if a.Action != "accept" {
		return nil, client.ErrSamplingRejected
	}
	if len(a.Content) > 0 {
		var text string
		if err := mcp.Unmarshal(a.Content, &text); err != nil {
			return nil, fmt.Errorf("the edited answer must be text: %w", err)
		}
		draft.Content = mcp.NewSamplingContent(mcp.Text(text))
	}
	return draft, nil
}

// draft lets the model write. It gets the server's messages and no tools.
func (h *Host) draft(ctx context.Context, model llm.Model, session string, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	r := &llm.Request{System: h.safe(p.SystemPrompt), MaxTokens: int(min(p.MaxTokens, maxSamplingTokens)), Temperature: p.Temperature, Stop: p.StopSequences}
	for _, m := range p.Messages {
		msg := llm.Message{Role: llm.RoleUser}
		if m.Role == mcp.RoleAssistant {
			msg.Role = llm.RoleAssistant
		}
		for _, c := range m.Content.Blocks {
			switch c := c.(type) {
			case *mcp.TextContent:
				msg.Parts = append(msg.Parts, llm.Text(h.safe(c.Text)))
			case *mcp.ImageContent:
				msg.Parts = append(msg.Parts, llm.Part{Kind: llm.PartImage, Data: c.Data, MIME: c.MIMEType})
			default:
				return nil, fmt.Errorf("the model cannot be given content of type %s", c.ContentType())
			}
		}
		r.Messages = append(r.Messages, msg)
	}
	m, stop, used, err := stream(ctx, model, r, func(llm.Event) {})
	h.mu.Lock()
	s := h.sessions[session]
	h.mu.Unlock()
	if s != nil {
		s.spent(model, used)
	}
	if err != nil {
		return nil, err
	}
	out := &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: model.Info().String(), StopReason: stopReason(stop)}
	out.Content = mcp.NewSamplingContent(mcp.Text(h.redact(m.Text())))
	return out, nil
}

func stopReason(s llm.StopReason) string {
	switch s {
	case llm.StopLength:
		return "maxTokens"
	case llm.StopStop:
		return "stopSequence"
	}
	return "endTurn"
}

// A sampler is a user of the model: a call of a server, or a server outside of
// any call.
type sampler struct {
	server string
	inSession
}

// countSampling counts how often a call has used the model. All requests of a
// server outside of calls count as one call.
func (h *Host) countSampling(server string, in inSession) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sampled == nil {
		h.sampled = map[sampler]int{}
	}
	who := sampler{server, in}
	h.sampled[who]++
	return h.sampled[who]
}

// forgetSampling removes the count of a call that has ended.
func (h *Host) forgetSampling(server string, in inSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sampled, sampler{server, in})
}

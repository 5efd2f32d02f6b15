package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
)

// input parses a message of the user. In typed text,
//
//	/server:prompt name=value …   becomes the messages of a server's prompt
//	… @server:uri …               attaches the resource
//	… @path …                     attaches the file, or the list of a folder
//
// Words that name no server stay as they are, and so does data, which the user
// did not type.
func (s *Session) input(ctx context.Context, info llm.Info, typed, data string) ([]llm.Message, error) {
	typed, data = strings.TrimSpace(typed), strings.TrimSpace(data)
	if typed == "" && data == "" {
		return nil, fmt.Errorf("nothing to send")
	}
	if server, name, values, ok, err := s.host.promptLine(typed); err != nil {
		return nil, err
	} else if ok {
		said, err := s.prompt(ctx, info, server, name, values)
		if err == nil && data != "" {
			said = append(said, llm.User(data))
		}
		return said, err
	}
	m := llm.User(below(typed, data))
	for _, a := range s.host.attachments(typed) {
		parts, err := s.attach(ctx, info, a)
		if err != nil {
			return nil, fmt.Errorf("attach @%s:%s: %w", a.server.name, a.uri, err)
		}
		m.Parts = append(m.Parts, parts...)
	}
	for _, n := range s.host.files(typed) {
		parts, err := s.attachFile(info, n)
		if err != nil {
			return nil, fmt.Errorf("attach @%s: %w", n.path, err)
		}
		m.Parts = append(m.Parts, parts...)
	}
	return []llm.Message{m}, nil
}

// below joins typed text and data.
func below(typed, data string) string {
	if typed == "" || data == "" {
		return typed + data
	}
	return typed + "\n\n" + data
}

// An attachment is a resource that a message names.
type attachment struct {
	server *attached
	uri    string
}

// attachments returns every @server:uri of a message, in order. A server's name
// may have spaces; the URI ends at a space, without punctuation at its end.
func (h *Host) attachments(text string) []attachment {
	var found []attachment
	for at, r := range text {
		if r != '@' || at > 0 && !strings.ContainsRune(" \t\n(", rune(text[at-1])) {
			continue
		}
		server, rest := h.addressed(text[at+1:])
		if server == nil {
			continue
		}
		uri, _, _ := strings.Cut(strings.NewReplacer("\n", " ", "\t", " ").Replace(rest), " ")
		if uri = strings.TrimRight(uri, `.,;:!?)]}"'`); uri != "" {
			found = append(found, attachment{server, uri})
		}
	}
	return found
}

// addressed returns the server whose name and a colon begin the text, and the
// rest. Of several names the longest counts.
func (h *Host) addressed(text string) (server *attached, rest string) {
	for _, s := range h.all() {
		if after, ok := strings.CutPrefix(text, s.name+":"); ok && (server == nil || len(s.name) > len(server.name)) {
			server, rest = s, after
		}
	}
	return server, rest
}

// promptLine parses /server:prompt name=value … Values with spaces are quoted. Ok
// reports whether the text is such a line.
func (h *Host) promptLine(text string) (server *attached, name string, values map[string]string, ok bool, err error) {
	text, ok = strings.CutPrefix(text, "/")
	if !ok {
		return nil, "", nil, false, nil
	}
	server, rest := h.addressed(text)
	if server == nil || rest == "" || strings.HasPrefix(rest, " ") {
		return nil, "", nil, false, nil
	}
	words, err := args.Split(rest)
	if err != nil {
		return nil, "", nil, true, err
	}
	values = map[string]string{}
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, "", nil, true, fmt.Errorf("%q is not name=value. Quote values that have spaces: name=\"two words\"", w)
		}
		values[key] = value
	}
	return server, words[0], values, true, nil
}

// attach reads a resource that the user named. It is audited like a call, and the
// user is told what was attached.
func (s *Session) attach(ctx context.Context, info llm.Info, a attachment) ([]llm.Part, error) {
	raw, err := mcp.Marshal(map[string]string{"uri": a.uri})
	if err != nil {
		return nil, err
	}
	call := &ToolCall{ID: s.nextCall(), Server: a.server.name, Tool: mcp.MethodResourcesRead, Arguments: raw, Rule: "You named it"}
	if err := s.audit(call, "read", "", 0); err != nil {
		return nil, fmt.Errorf("write the audit log: %w", err)
	}
	parts, err := s.resource(ctx, info, a.server, a.uri)
	if err != nil {
		return nil, err
	}
	s.host.emit(Event{Kind: EventNotice, Session: s.ID, Text: fmt.Sprintf("Attached %s from %s.", s.host.safe(a.uri), a.server.name)})
	return parts, nil
}

// resource reads a resource as parts of a message.
func (s *Session) resource(ctx context.Context, info llm.Info, server *attached, uri string) ([]llm.Part, error) {
	s.source(server.name) // the text of an error is data of the server, too
	r, err := server.client.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	var parts []llm.Part
	for _, c := range r.Contents {
		if c.Blob == nil {
			text, _ := s.forModel(from(server.name, c.URI), c.Text)
			parts = append(parts, text...)
			continue
		}
		parts = append(parts, llm.Text(fmt.Sprintf("[attached from %s: %s]", server.name, s.host.safe(c.URI))), blob(info, c))
	}
	return parts, nil
}

// blob returns a binary resource in a form that the model accepts, or a
// description.
func blob(info llm.Info, c mcp.ResourceContents) llm.Part {
	p := llm.Part{Kind: llm.PartDocument, Data: c.Blob, MIME: c.MIMEType, Text: c.URI}
	accepted := info.Accepts.Documents && c.MIMEType == "application/pdf"
	switch {
	case strings.HasPrefix(c.MIMEType, "image/"):
		p.Kind, accepted = llm.PartImage, info.Accepts.Images
	case strings.HasPrefix(c.MIMEType, "audio/"):
		p.Kind, accepted = llm.PartAudio, info.Accepts.Audio
	}
	if !accepted {
		return llm.Text(llm.Describe(p))
	}
	sound, err := checkMedium(p)
	if err != nil {
		return llm.Text(describeMedium(p, err))
	}
	return sound
}

// prompt gets a server's prompt. The user chose to follow it, so its own text is
// not fenced, only cleaned and cut; resources in it are fenced.
func (s *Session) prompt(ctx context.Context, info llm.Info, server *attached, name string, values map[string]string) ([]llm.Message, error) {
	s.source(server.name) // the text of an error is data of the server, too
	r, err := server.client.GetPrompt(ctx, name, values)
	if err != nil {
		return nil, missingValues(ctx, server, name, values, err)
	}
	s.host.emit(Event{Kind: EventPrompt, Session: s.ID, Server: server.name, Text: s.host.safe(promptText(r))})
	out := []llm.Message{llm.User(fmt.Sprintf("The person chose the prompt %s of %s. Its text follows; do what it asks as far as the person would want it.", name, server.name))}
	for _, m := range r.Messages {
		role := llm.RoleUser
		if m.Role == mcp.RoleAssistant {
			role = llm.RoleAssistant
		}
		var parts []llm.Part
		switch c := m.Content.(type) {
		case *mcp.TextContent:
			short, _ := s.cut(from(server.name, name), s.host.safe(c.Text))
			parts = append(parts, llm.Text(short))
		case *mcp.EmbeddedResource:
			text, _ := s.forModel(from(server.name, c.Resource.URI), contentsText(c.Resource))
			parts = append(parts, text...)
		default:
			given := s.shape(info, server.name, name, &mcp.CallToolResult{Content: mcp.Contents{m.Content}})
			parts = append(parts, given.parts...)
		}
		if n := len(out); out[n-1].Role == role {
			out[n-1].Parts = append(out[n-1].Parts, parts...)
		} else {
			out = append(out, llm.Message{Role: role, Parts: parts})
		}
	}
	if out[len(out)-1].Role == llm.RoleAssistant {
		out = append(out, llm.User("Go on."))
	}
	return out, nil
}

// missingValues returns which arguments of a prompt are missing, if that is why
// the server refused it.
func missingValues(ctx context.Context, server *attached, name string, values map[string]string, refused error) error {
	if e, ok := errors.AsType[*mcp.Error](refused); !ok || e.Code != mcp.CodeInvalidParams {
		return refused
	}
	for p, err := range server.client.Prompts(ctx) {
		if err != nil {
			break
		}
		if p.Name != name {
			continue
		}
		var missing []string
		for _, a := range p.Arguments {
			if a.Required && values[a.Name] == "" {
				missing = append(missing, a.Name+"=…")
			}
		}
		if missing != nil {
			return fmt.Errorf("prompt %q of %s requires %s", name, server.name, strings.Join(missing, " "))
		}
	}
	return refused
}

// promptText returns the text of a prompt, for the user.
func promptText(r *mcp.GetPromptResult) string {
	var parts []string
	for _, m := range r.Messages {
		switch c := m.Content.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.EmbeddedResource:
			parts = append(parts, "["+c.Resource.URI+"]")
		default:
			parts = append(parts, "["+m.Content.ContentType()+"]")
		}
	}
	return strings.Join(parts, "\n\n")
}

package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
)

// input reads what the person typed:
//
//	/server:prompt name=value …   the messages of a server's prompt
//	… @server:uri …               the resource is attached
//	anything else                 a sentence
//
// A word that looks like one of these but names no server is left as it is.
func (s *Session) input(ctx context.Context, info llm.Info, text string) ([]llm.Message, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, fmt.Errorf("there is nothing to send")
	}
	if server, name, args, ok := s.host.promptLine(text); ok {
		return s.prompt(ctx, info, server, name, args)
	}
	m := llm.User(text)
	for _, a := range s.host.attachments(text) {
		parts, err := s.resource(ctx, info, a.server, a.uri)
		if err != nil {
			return nil, fmt.Errorf("@%s:%s could not be attached: %w", a.server.name, a.uri, err)
		}
		m.Parts = append(m.Parts, parts...)
	}
	return []llm.Message{m}, nil
}

// An attachment is a resource that a sentence names.
type attachment struct {
	server *attached
	uri    string
}

// attachments finds every @server:uri of a sentence, in order. The name may be
// any that a server has, also one with spaces; the URI ends at a space.
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
		if uri = strings.TrimRight(uri, ",;!?)"); uri != "" {
			found = append(found, attachment{server, uri})
		}
	}
	return found
}

// addressed finds the server that a text begins with the name of, before a
// colon, and what follows. Of several names the longest counts.
func (h *Host) addressed(text string) (server *attached, rest string) {
	for _, s := range h.all() {
		if after, ok := strings.CutPrefix(text, s.name+":"); ok && (server == nil || len(s.name) > len(server.name)) {
			server, rest = s, after
		}
	}
	return server, rest
}

// promptLine splits /server:prompt name=value … Values may be quoted.
func (h *Host) promptLine(text string) (server *attached, name string, args map[string]string, ok bool) {
	text, ok = strings.CutPrefix(text, "/")
	if !ok {
		return nil, "", nil, false
	}
	server, rest := h.addressed(text)
	words := Words(rest)
	if server == nil || len(words) == 0 || strings.HasPrefix(rest, " ") {
		return nil, "", nil, false
	}
	args = map[string]string{}
	for _, w := range words[1:] {
		if key, value, ok := strings.Cut(w, "="); ok {
			args[key] = value
		}
	}
	return server, words[0], args, true
}

// Words splits a line at spaces. Quotes, single or double, hold a word with
// spaces together, also in the middle of it: name="two words".
func Words(line string) []string {
	var all []string
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if open || word.Len() > 0 {
				all = append(all, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
		}
	}
	if open || word.Len() > 0 {
		all = append(all, word.String())
	}
	return all
}

// resource reads a resource as parts of a message.
func (s *Session) resource(ctx context.Context, info llm.Info, server *attached, uri string) ([]llm.Part, error) {
	r, err := server.client.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	s.source(server.name)
	var parts []llm.Part
	for _, c := range r.Contents {
		if c.Blob == nil {
			text, _ := s.given(from(server.name, c.URI), c.Text)
			parts = append(parts, text...)
			continue
		}
		parts = append(parts, llm.Text(fmt.Sprintf("[attached from %s: %s]", server.name, s.host.safe(c.URI))), blob(info, c))
	}
	return parts, nil
}

// blob is a resource of bytes in the form that the model takes, or in words.
func blob(info llm.Info, c mcp.ResourceContents) llm.Part {
	p := llm.Part{Kind: llm.PartDocument, Data: c.Blob, MIME: c.MIMEType, Text: c.URI}
	accepted := info.Accepts.Documents && c.MIMEType == "application/pdf"
	switch {
	case strings.HasPrefix(c.MIMEType, "image/"):
		p.Kind, accepted = llm.PartImage, info.Accepts.Images
	case strings.HasPrefix(c.MIMEType, "audio/"):
		p.Kind, accepted = llm.PartAudio, info.Accepts.Audio
	}
	if accepted && len(c.Blob) <= maxMedium {
		return p
	}
	return llm.Text(llm.Describe(p))
}

// prompt has a server fill in a prompt. Its messages join the conversation as
// what they are: the person chose it to be followed, so its own text is not
// fenced, only cleaned and cut. What it brings along is.
func (s *Session) prompt(ctx context.Context, info llm.Info, server *attached, name string, args map[string]string) ([]llm.Message, error) {
	r, err := server.client.GetPrompt(ctx, name, args)
	if err != nil {
		return nil, err
	}
	s.source(server.name)
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
			text, _ := s.given(from(server.name, c.Resource.URI), contentsText(c.Resource))
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

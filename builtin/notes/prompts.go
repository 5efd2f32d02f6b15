package notes

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type meetingArgs struct {
	Path  string `json:"path" doc:"the note of the meeting"`
	Focus string `json:"focus,omitzero" doc:"what matters most, such as budget decisions"`
}

// maxPrompt is the maximum number of bytes of a note in a prompt.
const maxPrompt = 128 << 10

func (v *vault) addPrompts(s *server.Server) error {
	server.AddPrompt(s, "meeting_summary", "Summarize a meeting note: decisions, tasks and open questions", v.meeting, &server.PromptOptions{Title: "Summarize a meeting"})
	return s.CompletePrompt("meeting_summary", "path", v.completePath)
}

func (v *vault) meeting(ctx context.Context, c *mcp.Call, in meetingArgs) ([]mcp.PromptMessage, error) {
	name, err := v.find(ctx, c, in.Path)
	if err != nil {
		return nil, promptError(ctx, err)
	}
	st, err := v.load(name)
	if err == nil {
		err = isText(st.bytes)
	}
	if err != nil {
		return nil, promptError(ctx, err)
	}
	text := strings.ToValidUTF8(string(st.bytes), "\ufffd")
	rest := ""
	if len(text) > maxPrompt {
		text = cut(text, maxPrompt)
		rest = fmt.Sprintf(" The note is longer; continue with read_note from offset=%d.", len(text))
	}
	task := "Summarize the meeting in this note for people who were not there. Use this order, and leave out what the note does not say:\n" +
		"1. What it was about and who took part, in two sentences.\n" +
		"2. Decisions, each with its reason.\n" +
		"3. Tasks: what, who, until when. Mark those without a person or a date.\n" +
		"4. Open questions.\n" +
		"Keep to what the note says, and quote names, numbers and dates exactly. Linked notes can be read with read_note if they are needed to understand it."
	if in.Focus != "" {
		task += "\nWhat matters most: " + in.Focus
	}
	return []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: task + rest}},
		{Role: mcp.RoleUser, Content: &mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: uriOf(name), MIMEType: "text/markdown", Text: text}}},
	}, nil
}

// promptError returns an error that the caller of a prompt may see.
func promptError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return mcp.InvalidParams("%v", err)
}

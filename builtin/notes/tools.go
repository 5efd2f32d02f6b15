package notes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// writeTools are the tools that change notes.
var writeTools = map[string]bool{"create_note": true, "update_note": true, "delete_note": true, "move_note": true}

func (v *vault) addReadTools(s *server.Server) {
	no := false
	a := server.ReadOnly()
	a.OpenWorldHint = &no
	read := func(title string) *server.ToolOptions { return &server.ToolOptions{Title: title, Annotations: a} }
	server.AddTool(s, "search_notes", "Search notes by words, best match first, with an excerpt of each. Title, tags and headings count more than text. -word, -\"a phrase\" and -#tag exclude notes; a word that no note has is corrected.", v.search, read("Search notes"))
	server.AddTool(s, "get_recent_notes", "List the notes changed last", v.recent, read("Recent notes"))
	server.AddTool(s, "read_note", "Read a note, one section or some lines of it, or its outline. A long note is returned in parts.", v.read, read("Read a note"))
	server.AddTool(s, "read_notes", "Read the beginnings of several notes in one call", v.readMany, read("Read several notes"))
	server.AddTool(s, "list_folder", "List the folders, notes and attachments in a folder", v.listFolder, read("List a folder"))
	server.AddTool(s, "read_attachment", "Get an image, audio or other file that is not a note", v.readAttachment, read("Read an attachment"))
	server.AddTool(s, "list_tags", "List all tags and the number of notes with each", v.tags, read("List tags"))
	server.AddTool(s, "backlinks", "List the notes that link to a note, with the linking lines", v.backlinks, &server.ToolOptions{Title: "Links to a note", Annotations: a, Meta: apps.ToolMeta(graphURI)})
}

func (v *vault) addWriteTools(s *server.Server) {
	write := func(title string, destructive, idempotent bool) *server.ToolOptions {
		no := false
		return &server.ToolOptions{Title: title, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: &no, OpenWorldHint: &no, DestructiveHint: &destructive, IdempotentHint: &idempotent}}
	}
	server.AddTool(s, "create_note", "Create a note. It never overwrites an existing one.", v.create, write("New note", false, false))
	server.AddTool(s, "update_note", "Change a note: add text, replace a section or a text, set frontmatter, add or remove tags. Replacing needs the version from read_note.", v.update, write("Change a note", true, false))
	server.AddTool(s, "move_note", "Move or rename a note or an attachment and update the links to it in all notes. Nothing is overwritten.", v.move, write("Move a note", true, false))
	server.AddTool(s, "delete_note", "Move a note to the trash of the vault. The user is asked first.", v.delete, write("Delete a note", true, false))
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

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

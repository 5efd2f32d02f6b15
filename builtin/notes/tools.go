package notes

import (
	"slices"

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
	server.AddTool(s, "backlinks", "List the notes that link to a note, with the linking lines", v.backlinks, read("Links to a note"))
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

package builtin

import (
	"encoding/json"
	"net/url"

	"github.com/tenon-mcp/tenon/builtin/fs"
	"github.com/tenon-mcp/tenon/builtin/notes"
)

// A Preview finds out what a call of a tool would change in a file: path is the file
// as the call names it, and apply returns its new text. Ok is false for calls that
// change no file, or something else.
type Preview func(tool string, args json.RawMessage) (path string, apply func(before string, exists bool) (string, error), ok bool)

// Previews returns the folders that a builtin server changes files in, the one for
// relative paths first, and what its calls would change there. It returns nil for a
// server that changes no files.
func Previews(name string, query url.Values) (folders []string, preview Preview) {
	switch name {
	case "fs":
		c, err := fs.FromQuery(query)
		if err != nil {
			return nil, nil
		}
		if folders = c.Roots; len(folders) == 0 {
			folders = []string{"."}
		}
		return folders, fs.Preview
	case "notes":
		c, err := notes.FromQuery(query)
		if err != nil {
			return nil, nil
		}
		return []string{c.Vault}, notes.Preview
	}
	return nil, nil
}

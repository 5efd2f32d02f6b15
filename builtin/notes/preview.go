package notes

import (
	"encoding/json"
	"errors"

	"github.com/tenon-mcp/tenon/mcp"
)

// Preview returns the note that a call of create_note or update_note would change,
// as a path in the vault, and a function that returns its new text. Exists says
// whether there is such a note. Ok is false for other calls.
func Preview(tool string, args json.RawMessage) (path string, apply func(before string, exists bool) (string, error), ok bool) {
	switch tool {
	case "create_note":
		var in createArgs
		if mcp.Unmarshal(args, &in) != nil {
			return "", nil, false
		}
		name, err := cleanPath(in.Path)
		return name, func(_ string, exists bool) (string, error) {
			if exists {
				return "", errors.New("the note exists already")
			}
			if len(in.Frontmatter) == 0 {
				return in.Text, nil
			}
			return patchFront(in.Text, in.Frontmatter)
		}, err == nil
	case "update_note":
		var in updateArgs
		if mcp.Unmarshal(args, &in) != nil {
			return "", nil, false
		}
		name, err := cleanPath(in.Path)
		return name, func(before string, exists bool) (string, error) {
			if !exists {
				return "", errors.New("there is no note with this path")
			}
			if err := in.check(); err != nil {
				return "", err
			}
			return in.apply(before)
		}, err == nil
	}
	return "", nil, false
}

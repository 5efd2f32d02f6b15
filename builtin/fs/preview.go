package fs

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenon-mcp/tenon/mcp"
)

// Preview returns the file that a call of write_file or edit_file would change, as
// the caller wrote its path, and a function that returns the new text. Exists says
// whether there is such a file. Ok is false for other calls.
func Preview(tool string, args json.RawMessage) (path string, apply func(before string, exists bool) (string, error), ok bool) {
	switch tool {
	case "write_file":
		var in writeArgs
		if mcp.Unmarshal(args, &in) != nil || in.Path == "" {
			return "", nil, false
		}
		return in.Path, func(string, bool) (string, error) { return in.Content, nil }, true
	case "edit_file":
		var in editArgs
		if mcp.Unmarshal(args, &in) != nil || in.Path == "" || in.DryRun {
			return "", nil, false
		}
		return in.Path, func(before string, exists bool) (string, error) {
			if !exists {
				return "", errors.New("the file does not exist")
			}
			after, err := newDocument(before).applyAll(context.Background(), in.Edits, 10<<20)
			if err != nil {
				return "", err
			}
			return after.raw, nil
		}, true
	}
	return "", nil, false
}

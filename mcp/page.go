package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// PageParams is the parameters of a call that lists items.
type PageParams struct {
	// Cursor is the NextCursor of the previous page; nil requests the first
	// page. The empty string is a valid cursor.
	Cursor *string `json:"cursor,omitzero"`
}

// DecodeEach decodes the elements of a JSON array one by one. It leaves out
// invalid elements and returns an error for each of them. The list must have
// been validated, as [Result.Body] has.
func DecodeEach[T any](list json.RawMessage) (good []T, bad []error) {
	i := 0
	for e := rawjson.Array(list); e.Next(); i++ {
		var v T
		if rawjson.IsNull(e.Value) {
			bad = append(bad, fmt.Errorf("[%d]: expected a value, found null", i))
		} else if err := Unmarshal(e.Value, &v); err != nil {
			bad = append(bad, fmt.Errorf("[%d]: %w", i, err))
		} else {
			good = append(good, v)
		}
	}
	return good, bad
}

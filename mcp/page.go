package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// PageParams asks for one page of a list.
type PageParams struct {
	// Cursor is where the page before ended, word for word; nil asks for the
	// first page. The empty string is a cursor like any other.
	Cursor *string `json:"cursor,omitzero"`
}

// DecodeEach decodes the elements of an array one by one, so that one that is
// wrong does not cost the others: it is left out, and bad says which it was and
// why. The list must have been checked, as [Result.Body] has.
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

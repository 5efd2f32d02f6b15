package gateway

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// readPages reads all pages of a list and calls add with each. c has the method of
// the list. A list without end is an error: one that has too many pages, that
// repeats a cursor, or, if limit is not 0, whose pages are longer than limit bytes.
func readPages(ctx context.Context, c mcp.Call, limit int, serve func(context.Context, *mcp.Call) (mcp.Result, error), add func(mcp.Result) error) error {
	c.Params = nil
	var seen map[string]bool // cursors
	size := 0
	for range maxPages {
		res, err := serve(ctx, &c)
		if err == nil {
			err = add(res)
		}
		if err != nil {
			return err
		}
		cursor := rawjson.Lookup(res.Body, "nextCursor")
		if cursor == nil || rawjson.IsNull(cursor) {
			return nil
		}
		if size += len(res.Body); limit > 0 && size > limit {
			return errTooLong
		}
		if seen[string(cursor)] {
			return errRepeats
		}
		if seen == nil {
			seen = map[string]bool{}
		}
		seen[string(cursor)] = true
		c.Params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	return errTooManyPages
}

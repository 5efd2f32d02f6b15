package gateway

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// Lists without end are not read without end, whoever reads them.
func TestEndlessPages(t *testing.T) {
	long := `{"name":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, c := range []struct {
		name string
		page func(n int) string
		want error
		most int // pages
	}{
		{"the same cursor", func(int) string { return `{"tools":[],"nextCursor":"a"}` }, errRepeats, 2},
		{"new cursors", func(n int) string { return `{"tools":[],"nextCursor":"` + strconv.Itoa(n) + `"}` }, errTooManyPages, maxPages},
		{"long pages", func(n int) string { return `{"tools":[` + long + `],"nextCursor":"` + strconv.Itoa(n) + `"}` }, errTooLong, maxSearched>>20 + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			pages := 0
			h := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
				pages++
				return mcp.Result{Body: []byte(c.page(pages))}, nil
			})
			_, _, err := (&searcher{next: h}).readAll(t.Context(), &mcp.Call{})
			if !errors.Is(err, c.want) || pages > c.most {
				t.Errorf("search: %v after %d pages; want %v", err, pages, c.want)
			}
			pages = 0
			(&headerCheck{next: h}).readList(t.Context(), &mcp.Call{})
			if pages > c.most {
				t.Errorf("headers: %d pages", pages)
			}
		})
	}
}

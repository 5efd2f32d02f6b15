package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// C17: discover does not fetch all pages of a list to count it.
func TestDiscoverCountsUpToABound(t *testing.T) {
	var pages atomic.Int64
	url := listening(t, mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		switch c.Method {
		case mcp.MethodDiscover:
			return mcp.Result{Body: json.RawMessage(`{"capabilities":{"resources":{}}}`)}, nil
		case mcp.MethodResourcesList: // it never ends
			n := pages.Add(1)
			var items []string
			for i := range 100 {
				items = append(items, fmt.Sprintf(`{"uri":"x://%d/%d","name":"x"}`, n, i))
			}
			return mcp.Result{Body: json.RawMessage(fmt.Sprintf(`{"resources":[%s],"nextCursor":"%d"}`, strings.Join(items, ","), n))}, nil
		case mcp.MethodResourceTemplatesList:
			return mcp.Result{Body: json.RawMessage(`{"resourceTemplates":[]}`)}, nil
		}
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no %s", c.Method)
	}))
	code, out, errs := output(t, binary(t, "discover", url))
	if code != 0 || !strings.Contains(out, "1,000+ resources") || pages.Load() > 11 {
		t.Errorf("exit code %d, %d pages\n%s%s", code, pages.Load(), out, errs)
	}
	code, out, errs = output(t, binary(t, "discover", url, "--format", "json"))
	var got struct {
		Counts  map[string]int
		AtLeast []string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Counts["resources"] != 1000 || strings.Join(got.AtLeast, ",") != "resources" {
		t.Errorf("exit code %d, %v, %+v\n%s", code, err, got, errs)
	}
}

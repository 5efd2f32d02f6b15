package legacy

import (
	"context"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// What a revision does not have is said to be missing from it; what it has, and
// the client has not declared, is said to be undeclared.
func TestBeyondTheRevision(t *testing.T) {
	form, _ := mcp.ElicitRequest(&mcp.ElicitParams{Message: "Who?"})
	page, _ := mcp.ElicitRequest(&mcp.ElicitParams{Mode: mcp.ModeURL, Message: "In", URL: "https://example.com/in"})
	sampled := mcp.InputRequest{Method: mcp.MethodCreateMessage, Params: []byte(`{"messages":[],"maxTokens":1,"tools":[]}`)}
	for _, c := range []struct {
		rev  mcp.Revision
		q    mcp.InputRequest
		want string
	}{
		{mcp.Rev20241105, form, "fill in a form, and the client speaks revision 2024-11-05, which has no elicitation: it takes a client of 2025-06-18 or later"},
		{mcp.Rev20250326, form, "the client speaks revision 2025-03-26, which has no elicitation: it takes a client of 2025-06-18 or later"},
		{mcp.Rev20250326, page, "open a web page, and the client speaks revision 2025-03-26, which has no elicitation.url: it takes a client of 2025-11-25 or later"},
		{mcp.Rev20250618, page, "which has no elicitation.url: it takes a client of 2025-11-25 or later"},
		{mcp.Rev20250618, sampled, "with tools, and the client speaks revision 2025-06-18, which has no sampling.tools: it takes a client of 2025-11-25 or later"},
		{mcp.Rev20250618, form, "the client has not declared the capability elicitation"},
		{mcp.Rev20251125, page, "the client has not declared the capability elicitation.url"},
		{mcp.Rev20251125, sampled, "the client has not declared the capability sampling.tools"},
	} {
		cl := newClient(t, nil, offering(everything, func(_ context.Context, call *mcp.Call) (mcp.Result, error) {
			_, err := call.Ask("k", c.q)
			return mcp.Result{}, err
		}))
		cl.initialize(c.rev, `{}`)
		cl.wantError(mcp.MethodToolsCall, `{"name":"x"}`, mcp.CodeInvalidRequest, c.want)
		cl.session.Close()
	}
}

package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
)

// notes is a server with two tools.
var notes = mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Method == mcp.MethodToolsList {
		return mcp.Result{Body: json.RawMessage(`{"tools":[{"name":"read"},{"name":"delete"}]}`)}, nil
	}
	return mcp.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
})

// callAs makes a call for a user.
func callAs(h mcp.Handler, id, method, params string) (mcp.Result, error) {
	return h.Serve(context.Background(), &mcp.Call{Method: method, Params: json.RawMessage(params),
		Caller: mcp.Caller{Principal: &mcp.Principal{ID: id, Issuer: "https://login.example"}}})
}

func ExamplePolicy() {
	h := mcp.Chain(notes, gateway.Policy([]gateway.Rule{
		{Match: gateway.Match{Principal: "user:ada"}},
		{Match: gateway.Match{Principal: "user:bob", Tool: "read"}},
	}, nil, nil))
	for _, id := range []string{"ada", "bob"} {
		res, _ := callAs(h, id, mcp.MethodToolsList, "")
		fmt.Println(id, string(res.Body))
	}
	_, err := callAs(h, "bob", mcp.MethodToolsCall, `{"name":"delete"}`)
	fmt.Println(err)
	// Output:
	// ada {"tools":[{"name":"read"},{"name":"delete"}]}
	// bob {"tools":[{"name":"read"}]}
	// unknown tool "delete" (-32602)
}

func ExampleLimits() {
	h := mcp.Chain(notes, gateway.Limits([]gateway.Limit{
		{Name: "tools", Match: gateway.Match{Tool: "*"}, Rate: 2, Period: time.Minute, Concurrency: 4},
	}, nil, nil))
	for range 3 {
		_, err := callAs(h, "ada", mcp.MethodToolsCall, `{"name":"read"}`)
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// too many calls: try again in 30 s (429)
}

func ExampleAudit() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "audit.jsonl")
	log, err := audit.Open(file, nil)
	if err != nil {
		panic(err)
	}
	w := audit.NewWriter(log, nil)
	h := mcp.Chain(notes, gateway.Audit(w, gateway.OneServer("notes"), nil))
	callAs(h, "ada", mcp.MethodToolsCall, `{"name":"read"}`)
	w.Close()
	log.Close()
	report, err := audit.Verify(file, nil)
	fmt.Println(report.Lines, err)
	// Output:
	// 1 <nil>
}

func ExampleOwners() {
	h := mcp.Chain(notes, gateway.Owners(nil))
	_, err := callAs(h, "bob", "tasks/get", `{"taskId":"of-ada"}`)
	fmt.Println(err)
	// Output:
	// unknown task "of-ada" (-32602)
}

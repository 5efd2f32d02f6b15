package speccheck_test

import (
	"fmt"

	"github.com/tenon-mcp/tenon/app/speccheck"
)

func ExampleExplain() {
	ms := speccheck.Check([]speccheck.Message{{Dir: speccheck.ToServer, Frame: []byte(
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}`)}})
	for _, f := range speccheck.Explain(ms[0]) {
		fmt.Println(f.Pointer, "–", f.Text)
	}
	// Output:
	// /jsonrpc – The version of JSON-RPC, always 2.0.
	// /id – Pairs an answer with its request; a notification has none.
	// /method – Has the server run one of its tools.
	// /params – What goes with the method.
	// /params/name – The tool to run.
	// /params/arguments – The tool's arguments.
}

package inspect_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/tenon-mcp/tenon/app/inspect"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A Wire is connected where frames pass; here they are given by hand.
func ExampleLog() {
	log := inspect.NewLog(nil)
	wire := log.Wire("notes")
	wire.Frame(jsonrpc.Out, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}`))
	wire.Frame(jsonrpc.In, []byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":[]}}`))

	ms, _ := log.Since(0, 0)
	for _, m := range ms {
		fmt.Println(m.Seq, m.Dir, m.Kind, m.Method, m.Revision, "joins", m.Joins)
		for _, p := range m.Problems {
			fmt.Println("  ", p.Rule, p.Pointer, p.Text)
		}
	}
	// Output:
	// 1 to server request initialize 2025-11-25 joins 0
	// 2 from server response initialize 2025-11-25 joins 1
	//    shape.required /result the member "serverInfo" is missing
	//    shape.type /result/capabilities this must be an object
}

func ExampleExplain() {
	ms := inspect.Check([]inspect.Message{{Dir: inspect.ToServer, Frame: []byte(
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}`)}})
	for _, f := range inspect.Explain(ms[0]) {
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

func ExampleRead() {
	rec, err := inspect.Read(strings.NewReader(`Written by hand.

-- to server --
{
  "jsonrpc": "2.0", "id": 1, "method": "ping"
}
-- from server 3ms --
{"jsonrpc":"2.0","id":1,"result":{}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	inspect.Write(os.Stdout, rec, nil)
	// Output:
	// An MCP conversation, recorded by tenon.
	//
	// -- 1 to server 0ms --
	// {"jsonrpc":"2.0","id":1,"method":"ping"}
	// -- 2 from server 3ms --
	// {"jsonrpc":"2.0","id":1,"result":{}}
}

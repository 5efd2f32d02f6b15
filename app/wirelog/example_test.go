package wirelog_test

import (
	"fmt"

	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A Wire is connected where frames pass; here they are given by hand.
func ExampleLog() {
	log := wirelog.NewLog(nil)
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

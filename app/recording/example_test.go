package recording_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/tenon-mcp/tenon/app/recording"
)

func ExampleRead() {
	rec, err := recording.Read(strings.NewReader(`Written by hand.

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
	recording.Write(os.Stdout, rec, nil)
	// Output:
	// An MCP conversation, recorded by tenon.
	//
	// -- 1 to server 0ms --
	// {"jsonrpc":"2.0","id":1,"method":"ping"}
	// -- 2 from server 3ms --
	// {"jsonrpc":"2.0","id":1,"result":{}}
}

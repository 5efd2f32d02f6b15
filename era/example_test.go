package era_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Handler is served over a stream, and met again as a Handler at its far end.
// Transports do this; it is rarely written by hand.
func Example() {
	echo := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Body: c.Params}, nil
	})
	s, err := era.NewServer(echo, nil)
	if err != nil {
		log.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	served := make(chan error)
	go func() { served <- s.ServeStream(context.Background(), far) }()

	peer, err := era.Dial(context.Background(), near, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	res, err := peer.Serve(context.Background(), &mcp.Call{Method: "acme/echo", Params: []byte(`{"says":"hello"}`)})
	fmt.Println(peer.Revision(), string(res.Body), err)
	peer.Close()
	<-served
	// Output: 2026-07-28 {"says":"hello"} <nil>
}

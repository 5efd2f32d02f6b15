// Command tenonstdio is the measured server on stdin and stdout alone: who does
// not serve over HTTP does not link net/http.
package main

import (
	"context"
	"log"

	"github.com/tenon-mcp/tenon/bench/internal/offer"
	"github.com/tenon-mcp/tenon/bench/internal/side"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

func main() {
	f := side.Parse()
	if err := stdio.Serve(context.Background(), offer.Server(&f), nil); err != nil {
		log.Fatal(err)
	}
}

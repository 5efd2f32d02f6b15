package connect

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// Raw starts the server of an entry and returns the stream of its messages,
// without a handshake. Close ends the server. Raw fails for HTTP servers.
func Raw(entry config.Server, o *Options) (stream jsonrpc.Stream, close func() error, err error) {
	if err := entry.MayStart(); err != nil {
		return nil, nil, err
	}
	switch entry.Kind {
	case config.Stdio:
		child, err := commandOf(entry).Start()
		if err != nil {
			return nil, nil, err
		}
		return child.Stream(), child.Close, nil
	case config.Builtin:
		if o == nil || o.Builtin == nil {
			return nil, nil, errors.New("this program has no builtin servers")
		}
		builtin, err := o.Builtin(entry.Builtin, anchored(entry))
		if err != nil {
			return nil, nil, err
		}
		served, err := era.NewServer(builtin, nil)
		if err != nil {
			return nil, nil, errors.Join(err, builtin.Close())
		}
		near, far := jsonrpc.Pipe()
		done := make(chan error, 1)
		go func() { done <- served.ServeStream(context.Background(), far) }() // ends when near is closed
		return near, func() error {
			near.Close()
			<-done
			return builtin.Close()
		}, nil
	}
	return nil, nil, fmt.Errorf("server %s uses HTTP, which has no message stream: this command works with programs and builtin servers", entry.Name)
}

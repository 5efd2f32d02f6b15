package connect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A memoryLink is a builtin server behind a pipe in memory, so that its messages
// can be logged like those of any other server.
type memoryLink struct {
	*era.Conn
	end func() error
}

func (memoryLink) pid() int          { return 0 }
func (memoryLink) lastWords() string { return "" }

// Close ends the connection and the server.
func (l memoryLink) Close() error { return errors.Join(l.Conn.Close(), l.end()) }

func (s *Server) memory(ctx context.Context, known mcp.Revision, watch Watcher) (link, error) {
	if s.opts.Builtin == nil {
		return nil, fmt.Errorf("server %s: this program has no builtin servers", s.entry.Name)
	}
	builtin, err := s.opts.Builtin(s.entry.Builtin, anchored(s.entry))
	if err != nil {
		return nil, err
	}
	if s.opts.Direct {
		return newDirectLink(builtin), nil
	}
	served, err := era.NewServer(builtin, nil)
	if err != nil {
		return nil, errors.Join(err, builtin.Close())
	}
	near, far := jsonrpc.Pipe()
	done := make(chan error, 1)
	go func() { done <- served.ServeStream(context.Background(), far) }() // ends when near is closed
	end := func() error {
		<-done
		return builtin.Close()
	}
	peer, err := era.Dial(ctx, near, s.profile, s.dialOptions(known, watch))
	if err != nil {
		near.Close()
		return nil, errors.Join(err, end())
	}
	return memoryLink{peer, end}, nil
}

// anchored returns the options of a builtin server with relative paths resolved
// against the entry's folder.
func anchored(entry config.Server) url.Values {
	if entry.Dir == "" {
		return entry.Query
	}
	q := url.Values{}
	for name, values := range entry.Query {
		values = slices.Clone(values)
		for i, v := range values {
			values[i] = anchor(entry.Dir, name, v)
		}
		q[name] = values
	}
	return q
}

// anchor resolves the value of an option against a folder, if it is a relative
// path. A dsn may also be the address of a database.
func anchor(dir, name, value string) string {
	scheme := ""
	switch name {
	case "root", "vault", "file", "files":
	case "dsn":
		for _, prefix := range []string{"sqlite://", "sqlite:"} {
			if rest, ok := strings.CutPrefix(value, prefix); ok {
				scheme, value = prefix, rest
				break
			}
		}
		if strings.Contains(value, ":") {
			return scheme + value
		}
	default:
		return value
	}
	if value == "" || filepath.IsAbs(value) {
		return scheme + value
	}
	return scheme + filepath.Join(dir, value)
}

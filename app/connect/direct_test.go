package connect

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/mcp"
)

type builtinFunc func(ctx context.Context, c *mcp.Call) (mcp.Result, error)

func (f builtinFunc) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) { return f(ctx, c) }
func (builtinFunc) Close() error                                                 { return nil }

type directKey struct{}

// A builtin server that is called directly knows the principal and the context of a
// call. Closing the connection ends its calls; behind a pipe neither arrives.
func TestDirectCallsOfBuiltins(t *testing.T) {
	began := make(chan struct{})
	one := builtinFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodPing {
			close(began)
			<-ctx.Done()
			return mcp.Result{}, ctx.Err()
		}
		if c.Caller.Principal.Key() != "i\x00ada" || ctx.Value(directKey{}) != "value" {
			t.Errorf("%+v, %v", c.Caller.Principal, ctx.Value(directKey{}))
		}
		return mcp.Result{}, nil
	})
	s, err := Open(t.Context(), config.Server{Name: "x", Kind: config.Builtin, Builtin: "x"}, &Options{Direct: true, Builtin: func(string, url.Values) (Builtin, error) { return one, nil }})
	if err != nil {
		t.Fatal(err)
	}
	who := mcp.Caller{Principal: &mcp.Principal{ID: "ada", Issuer: "i"}}
	if _, err := s.Serve(context.WithValue(t.Context(), directKey{}, "value"), &mcp.Call{Method: mcp.MethodToolsList, Caller: who}); err != nil {
		t.Error(err)
	}
	ended := make(chan error)
	go func() {
		_, err := s.Serve(context.Background(), &mcp.Call{Method: mcp.MethodPing, Caller: who})
		ended <- err
	}()
	<-began
	s.Close()
	if err := <-ended; !errors.Is(err, errLinkClosed) {
		t.Errorf("a call while the server was closed: %v", err)
	}
	if _, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodPing}); err == nil {
		t.Error("a call after Close")
	}
}

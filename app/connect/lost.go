package connect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/transport/stdio"
)

// A LostError is the error of a call whose connection ended before the response
// came. The server may have carried it out.
type LostError struct {
	Server string // name in the configuration
	Cause  error
}

// Error names the server as the configuration does, and how its process ended.
func (e *LostError) Error() string {
	if exit, ok := errors.AsType[*stdio.ExitError](e.Cause); ok {
		return e.Server + " " + strings.TrimPrefix(exit.Error(), fmt.Sprintf("server %q ", exit.Program))
	}
	return fmt.Sprintf("lost the connection to %s: %v", e.Server, e.Cause)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Cause }

// MayHaveRun says that the server may have carried out the call; package host asks.
func (e *LostError) MayHaveRun() bool { return true }

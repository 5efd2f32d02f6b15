package connect

import (
	"errors"
	"testing"
)

// What callers are told does not depend on whether the phase has followed the failure
// yet.
func TestErrorsOfAServerThatIsNotAvailable(t *testing.T) {
	refused := errors.New("connect to the server: cannot reach http://127.0.0.1:1/mcp")
	for _, c := range []struct {
		phase Phase
		cause error
		want  string
	}{
		{Failed, refused, `connect to "shop": cannot reach http://127.0.0.1:1/mcp`},
		{Starting, refused, `connect to "shop": cannot reach http://127.0.0.1:1/mcp`},
		{Starting, nil, "server shop is starting"},
		{Restarting, refused, "server shop is restarting: cannot reach http://127.0.0.1:1/mcp"},
		{Disabled, nil, "server shop is disabled"},
		{Ready, nil, "server shop is being stopped"},
	} {
		err := &UnavailableError{State: State{Server: "shop", Phase: c.phase}, Cause: c.cause}
		if got := err.Error(); got != c.want {
			t.Errorf("%s: %q, not %q", c.phase, got, c.want)
		}
	}
}

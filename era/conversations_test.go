package era_test

import (
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
)

var checking sync.Once

// checked has every frame of conversations held against the published schemas.
func checked(t *testing.T) {
	checking.Do(func() {
		spec := schemas(t)
		if spec == nil {
			return
		}
		mcptest.Check = func(f mcptest.Frame) error {
			if f.Revision == "" {
				return nil // a message that belongs to none
			}
			dir := spectest.FromClient
			if f.FromServer {
				dir = spectest.FromServer
			}
			return spec.Validate(f.Revision, dir, f.Raw, f.Method)
		}
	})
}

// The conversations in testdata show what each revision puts on the wire.
func TestConversations(t *testing.T) {
	checked(t)
	mcptest.Run(t, "testdata/*.txtar", func(t *testing.T) mcp.Handler { return newFixture(t) })
}

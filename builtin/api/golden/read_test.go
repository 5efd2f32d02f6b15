package golden

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api"
)

// Run reads a file as the server does, and refuses what is no regular file.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	name := t.TempDir()
	_, err := Run(t.Context(), api.Config{File: name}, Options{})
	if err == nil || !strings.Contains(err.Error(), "cannot read "+name+": it is not a regular file") {
		t.Errorf("got %v", err)
	}
}

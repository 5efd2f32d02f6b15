package httpsse_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/transport/httpsse"
)

// The operator is told which Host was refused, and how to allow it.
func TestLogger(t *testing.T) {
	var said bytes.Buffer
	s := run(t, &httpsse.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
	resp := s.do(t, "GET", "/sse", "", http.Header{"Host": {"evil.example"}})
	resp.Body.Close()
	s.Close() // the handler has returned
	if text := said.String(); !strings.Contains(text, `Host \"evil.example\" is not allowed: add it to Options.Hosts`) || !strings.Contains(text, "level=WARN") {
		t.Errorf("the operator is told %q", text)
	}
}

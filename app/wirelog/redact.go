package wirelog

import (
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// redactHeader returns the value of a header without its secret. The beginning of a session
// id stays, so that two sessions can be told apart.
func redactHeader(known *redact.Values, name, value string) string {
	if strings.EqualFold(name, speccheck.HeaderSession) {
		return visible.Shorten(value, 6)
	}
	return known.Header(name, value)
}

// clean returns a message without its secrets.
func clean(m *speccheck.Message, known *redact.Values) speccheck.Message {
	out := *m
	out.Frame, out.Tool = known.JSON(m.Frame), known.Text(m.Tool)
	out.HTTP = cleanHTTP(m.HTTP, known)
	out.Problems = slices.Clone(m.Problems)
	for i := range out.Problems {
		out.Problems[i].Text = known.Text(out.Problems[i].Text)
	}
	return out
}

// cleanHTTP returns an exchange without known values; its telling headers were taken
// out when it was written down.
func cleanHTTP(h *speccheck.HTTP, known *redact.Values) *speccheck.HTTP {
	if h == nil {
		return nil
	}
	out := *h
	out.URL, out.Error = known.URL(h.URL), known.Text(h.Error)
	out.Request, out.Response = cleanLines(h.Request, known), cleanLines(h.Response, known)
	return &out
}

func cleanLines(lines []speccheck.Header, known *redact.Values) []speccheck.Header {
	out := make([]speccheck.Header, len(lines))
	for i, l := range lines {
		out[i] = speccheck.Header{Name: l.Name, Value: known.Known(l.Value)}
	}
	return out
}

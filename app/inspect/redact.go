package inspect

import (
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/redact"
)

// redactHeader returns the value of a header without its secret. The beginning of a session
// id stays, so that two sessions can be told apart.
func redactHeader(known *redact.Values, name, value string) string {
	if strings.EqualFold(name, headerSession) {
		return shorten(value, 6)
	}
	return known.Header(name, value)
}

// clean returns a message without its secrets.
func clean(m *Message, known *redact.Values) Message {
	out := *m
	out.Frame, out.Tool = known.JSON(m.Frame), known.Text(m.Tool)
	out.HTTP = m.HTTP.clean(known)
	out.Problems = slices.Clone(m.Problems)
	for i := range out.Problems {
		out.Problems[i].Text = known.Text(out.Problems[i].Text)
	}
	return out
}

// clean returns an exchange without known values; its telling headers were taken
// out when it was written down.
func (h *HTTP) clean(known *redact.Values) *HTTP {
	if h == nil {
		return nil
	}
	out := *h
	out.URL, out.Error = known.URL(h.URL), known.Text(h.Error)
	out.Request, out.Response = cleanLines(h.Request, known), cleanLines(h.Response, known)
	return &out
}

func cleanLines(lines []Header, known *redact.Values) []Header {
	out := make([]Header, len(lines))
	for i, l := range lines {
		out[i] = Header{l.Name, known.Known(l.Value)}
	}
	return out
}

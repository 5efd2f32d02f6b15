package web

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/mcp"
)

// A logLine is a log message or a line of standard error.
type logLine struct {
	Seq    uint64 `json:"seq"` // of its message
	At     int64  `json:"at"`  // microseconds since 1970
	Source string `json:"source"`
	Level  string `json:"level,omitzero"`
	Logger string `json:"logger,omitzero"`
	Text   string `json:"text"`
}

const mostLines = 1000

// logs returns the latest log messages and lines of standard error of a server,
// oldest first.
func (s *Server) logs(r *http.Request) (any, error) {
	name := r.PathValue("name")
	said, _ := s.work.Log.Filter(wirelog.Query{Server: name, Method: mcp.NotificationMessage}, 0, mostLines)
	written, _ := s.work.Log.Filter(wirelog.Query{Server: name, Kinds: []speccheck.Kind{speccheck.KindStderr}}, 0, mostLines)
	lines := []logLine{}
	for _, m := range said {
		lines = append(lines, logOf(m))
	}
	for _, m := range written {
		lines = append(lines, logLine{Seq: m.Seq, At: m.At.UnixMicro(), Source: "stderr", Text: string(m.Frame)})
	}
	slices.SortFunc(lines, func(a, b logLine) int { return cmp.Compare(a.Seq, b.Seq) })
	return map[string]any{"lines": lines[max(0, len(lines)-mostLines):]}, nil
}

func logOf(m speccheck.Message) logLine {
	line := logLine{Seq: m.Seq, At: m.At.UnixMicro(), Source: "log"}
	var frame struct {
		Params mcp.LogMessage `json:"params"`
	}
	if mcp.Unmarshal(m.Frame, &frame) != nil {
		line.Text = string(m.Frame)
		return line
	}
	line.Level, line.Logger = string(frame.Params.Level), frame.Params.Logger
	if mcp.Unmarshal(frame.Params.Data, &line.Text) != nil {
		line.Text = string(frame.Params.Data)
	}
	return line
}

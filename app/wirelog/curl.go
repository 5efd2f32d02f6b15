package wirelog

import (
	"strings"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Curl returns a curl command, quoted for a POSIX shell, that sends the message
// again to a streamable HTTP endpoint. An empty url means the URL of the message's
// exchange. The command reads secrets from the variables MCP_TOKEN and, if there
// is a session, MCP_SESSION_ID. Curl returns "" for messages of the server.
func Curl(m speccheck.Message, url string) string {
	if m.Dir != speccheck.ToServer || !m.Kind.IsJSON() {
		return ""
	}
	if url == "" && m.HTTP != nil {
		url = m.HTTP.URL
	}
	lines := []string{
		"curl -sS -N -X POST " + Quote(url),
		header("Content-Type", "application/json"),
		header("Accept", "application/json, text/event-stream"),
	}
	if m.Revision != "" && m.Method != mcp.MethodInitialize {
		lines = append(lines, header("MCP-Protocol-Version", string(m.Revision)))
	}
	if m.Era == speccheck.EraModern {
		lines = append(lines, header(speccheck.HeaderMethod, m.Method))
		if name := mirrored(&m); name != "" {
			lines = append(lines, header(speccheck.HeaderName, protocol.EncodeHeader(name)))
		}
	}
	if m.HTTP != nil {
		lines = append(lines, repeatedHeaders(m.HTTP)...)
	}
	return strings.Join(append(lines, "--data-binary "+Quote(string(m.Frame))), " \\\n  ")
}

func header(name, value string) string { return "-H " + Quote(name+": "+value) }

// mirrored is what the header Mcp-Name repeats.
func mirrored(m *speccheck.Message) string {
	r := speccheck.ParseFrame(m.Frame)
	member := "name"
	if m.Method == mcp.MethodResourcesRead {
		member = "uri"
	} else if m.Method != mcp.MethodToolsCall && m.Method != mcp.MethodPromptsGet {
		return ""
	}
	name, _ := rawjson.String(rawjson.Lookup(r.Message.Params, member))
	return name
}

// repeatedHeaders are headers that this exchange had and that must be there again.
func repeatedHeaders(h *speccheck.HTTP) (lines []string) {
	for _, l := range h.Request {
		switch low := strings.ToLower(l.Name); {
		case low == "authorization":
			scheme, _, ok := strings.Cut(l.Value, " ")
			if !ok {
				scheme = "Bearer"
			}
			lines = append(lines, "-H "+Quote("Authorization: "+scheme+" ")+`"$MCP_TOKEN"`)
		case low == "mcp-session-id":
			lines = append(lines, "-H "+Quote("Mcp-Session-Id: ")+`"$MCP_SESSION_ID"`)
		case strings.HasPrefix(low, "mcp-param-"):
			lines = append(lines, header(l.Name, l.Value))
		}
	}
	return lines
}

// Raw returns a tenon command, quoted for a POSIX shell, that sends the request
// again, without the _meta members that every client adds itself. It returns ""
// for messages that are not requests of a client.
func Raw(m speccheck.Message) string {
	if m.Dir != speccheck.ToServer || m.Kind != speccheck.KindRequest {
		return ""
	}
	r := speccheck.ParseFrame(m.Frame)
	words := []string{"tenon", "raw", Quote(m.Server), Quote(m.Method)}
	if params := withoutEnvelope(r.Message.Params); len(rawjson.Inside(params)) > 0 {
		words = append(words, Quote(string(params)))
	}
	return strings.Join(words, " ")
}

// withoutEnvelope takes from params what a client puts there itself.
func withoutEnvelope(params []byte) []byte {
	var meta []byte
	rest := rawjson.Cut(params, func(name, value []byte) bool {
		if string(name) == "_meta" {
			meta = value
			return true
		}
		return false
	})
	left := rawjson.Cut(meta, func(name, _ []byte) bool {
		return string(name) == mcp.MetaProgressToken || strings.HasPrefix(string(name), "io.modelcontextprotocol/")
	})
	if len(rawjson.Inside(left)) == 0 {
		return rest
	}
	out := append([]byte(`{"_meta":`), left...)
	if inside := rawjson.Inside(rest); len(inside) > 0 {
		out = append(append(out, ','), inside...)
	}
	return append(out, '}')
}

// Quote quotes a text as one word of a POSIX shell. NUL bytes, which no argument
// can have, are removed.
func Quote(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	plain := s != "" && s[0] != '-' && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+,", r))
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

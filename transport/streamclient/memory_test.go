package streamclient_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// A large response costs the client little more than its size: all that is
// allocated on its way, kept or not, is counted (L33).
func TestLargeResponseTakesLittleMemory(t *testing.T) {
	const size = 60 << 20
	text := bytes.Repeat([]byte("x"), size)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		json.Unmarshal(raw, &m)
		before, after := `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"complete","content":[{"type":"text","text":"`, `"}]}}`
		switch kind := r.URL.Path; {
		case m.Method != "tools/call":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}`, m.ID)
			return
		case kind == "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			before, after = "data: "+before, after+"\n\n"
		case kind == "/length":
			w.Header().Set("Content-Length", strconv.Itoa(len(before)+size+len(after)))
			fallthrough
		default:
			w.Header().Set("Content-Type", "application/json")
		}
		io.WriteString(w, before)
		w.Write(text)
		io.WriteString(w, after)
	}))
	defer web.Close()
	for path, most := range map[string]uint64{"/length": size * 5 / 2, "/chunked": size * 7 / 2, "/events": size * 7 / 2} {
		c, err := client.Dial(t.Context(), &streamclient.Endpoint{URL: web.URL + path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := c.CallTool(t.Context(), "big", nil, nil)
		runtime.ReadMemStats(&after)
		if err != nil || len(res.Content.Text()) < size {
			t.Fatalf("%s: %v", path, err)
		}
		t.Logf("%s: %d MiB", path, (after.TotalAlloc-before.TotalAlloc)>>20)
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("%s: %d MiB were allocated for a response of %d MiB", path, took>>20, size>>20)
		}
		c.Close()
	}
}

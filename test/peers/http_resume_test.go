package peers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"
)

// A scissors stands between a client and a server and cuts the stream of the
// first call of slow, after its first progress.
type scissors struct {
	*httptest.Server
	cut     atomic.Int64 // streams that were cut
	resumed atomic.Int64 // requests for the rest of one
}

func newScissors(t *testing.T, target string) *scissors {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	s := &scissors{}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host})
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.Request.Context().Value(slowCall{}) != nil && s.cut.CompareAndSwap(0, 1) {
				resp.Body = &cutBody{ReadCloser: resp.Body}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") != "" {
			s.resumed.Add(1)
		}
		proxy.ServeHTTP(w, markSlow(r))
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// slowCall is the key of requests that call slow.
type slowCall struct{}

func markSlow(r *http.Request) *http.Request {
	if r.Method != http.MethodPost {
		return r
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
	if !bytes.Contains(body, []byte(`"name":"slow"`)) {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), slowCall{}, true))
}

// failing is the end of a body that was read before.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// A cutBody breaks off after the first event that brings a message.
type cutBody struct {
	io.ReadCloser
	seen bytes.Buffer
}

var errCut = errors.New("cut")

func (b *cutBody) Read(p []byte) (int, error) {
	if _, rest, found := bytes.Cut(b.seen.Bytes(), []byte(`"progress"`)); found && bytes.Contains(rest, []byte("\n\n")) {
		return 0, errCut
	}
	n, err := b.ReadCloser.Read(p[:1]) // not a byte more than the event
	b.seen.Write(p[:n])
	return n, err
}

// TestResume cuts a stream in the middle of a call, which then goes on where it
// was.
func TestResume(t *testing.T) {
	tenonClient, tenonServer := peer{name: "tenonclient"}, peer{name: "tenonserver"}
	for _, pair := range []struct {
		client, server peer
		revision       mcp.Revision
		cannot         string // what is said where it does not go on, which is the peer's doing
	}{
		{in(r2025c, tenonClient), tenonServer, r2025c, ""},
		{in(r2025a, tenonClient), tenonServer, r2025a, ""},
		{in(r2025c, tenonClient), peer{name: "gosdkserver"}, r2025c, ""},
		{in(r2025c, tenonClient), peer{name: "mcpgoserver"}, r2025c, "context canceled"},
		{in(r2025c, tenonClient), peer{name: "ts1-server.mjs"}, r2025c, ""},
		{in(r2025c, tenonClient), peer{name: "ts2-server.mjs"}, r2025c, ""},
		{in(r2025c, peer{name: "gosdkclient"}), tenonServer, r2025c, ""},
		{in(r2025b, peer{name: "gosdkclient"}), tenonServer, r2025b, ""},
		{in(r2025c, peer{name: "mcpgoclient"}), tenonServer, r2025c, "unexpected nil response"},
		{peer{name: "ts1-client.mjs"}, tenonServer, r2025c, ""},
		{in(r2025c, peer{name: "ts2-client.mjs"}), tenonServer, r2025c, ""},
	} {
		t.Run(pair.client.String()+" to "+pair.server.String(), func(t *testing.T) {
			parallel(t)
			file := filepath.Join(t.TempDir(), "frames")
			record := func(p peer) peer {
				if strings.HasPrefix(p.name, "tenon") && (p.name == "tenonserver" || pair.server.name != "tenonserver") {
					return with(p, "-frames", file)
				}
				return p
			}
			server := start(t, with(record(pair.server), "-http", "127.0.0.1:0").command(t)...)
			between := newScissors(t, server.url)
			got, stderr := runClient(t, record(pair.client).to(t, between.URL+"/mcp"), nil)
			slow, want := got["slow"], map[string]any{"progress": []any{1.0, 2.0, 3.0}, "text": "done"}
			switch {
			case pair.cannot != "" && (slow.OK || !strings.Contains(slow.Error, pair.cannot)):
				t.Errorf("slow: got %v %q, want an error with %q", slow.Value, slow.Error, pair.cannot)
			case pair.cannot == "" && !reflect.DeepEqual(slow.Value, want) && !progressed(slow.Value):
				t.Errorf("slow: got %v %q, want %v", slow.Value, slow.Error, want)
			}
			if got["cancel"].Value != "alive" {
				t.Errorf("afterwards: got %v %q", got["cancel"].Value, got["cancel"].Error)
			}
			if between.cut.Load() != 1 || between.resumed.Load() == 0 && pair.cannot == "" {
				t.Errorf("%d streams were cut and %d taken up again", between.cut.Load(), between.resumed.Load())
			}
			if t.Failed() {
				t.Logf("stderr of the client:\n%s", stderr)
			}
			from := spectest.FromClient
			if pair.server.name == "tenonserver" {
				from = spectest.FromServer
			}
			checkFile(t, file, from, pair.revision)
		})
	}
}

package cluster_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/cluster"
)

// What a forwarded request costs, beside one through a plain proxy of net/http,
// which is one hop.
func BenchmarkForward(b *testing.B) {
	serve := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		io.Copy(io.Discard, q.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, strings.Repeat("x", 300))
	})
	store := cluster.NewMemory()
	from, to := join(b, store, nil), join(b, store, nil)
	to.Handle(serve)
	direct := httptest.NewServer(serve)
	defer direct.Close()
	target, err := url.Parse(direct.URL)
	if err != nil {
		b.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	for _, way := range []struct {
		name string
		h    http.Handler
	}{{"direct", serve}, {"proxy", proxy}, {"forward", handlerFor(from, to.ID, nil)}} {
		b.Run(way.name, func(b *testing.B) {
			site := httptest.NewServer(way.h)
			defer site.Close()
			c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			defer c.CloseIdleConnections()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					resp, err := c.Post(site.URL, "application/json", strings.NewReader(strings.Repeat("y", 800)))
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		})
	}
}

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// canned answers every request with the same body, without a network.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"1"}}, Body: io.NopCloser(bytes.NewReader(c)), ContentLength: int64(len(c)), Request: r}, nil
}

const benchFile = `tenon: api/1
name: bench
api: {base: "https://api.example.com", headers: {Accept: application/json}}
auth: {kind: bearer, token: "${env:TOKEN}"}
tools:
  list_issues:
    description: List issues
    params: {owner: {type: string, required: true}, repo: {type: string, required: true}, state: {type: string, enum: [open, closed], default: open}}
    request: GET /repos/{owner}/{repo}/issues{?state}
    cache: {etag: false}
    output:
      jq: '[.[] | {number, title, state, by: .user.login}]'
      schema: {type: array, items: {type: object, properties: {number: {type: integer}, title: {type: string}, state: {type: string}, by: {type: string}}, required: [number, title, state, by]}}
`

type listIssues struct {
	Owner string `json:"owner"`
	Repo  string `json:"repo"`
	State string `json:"state,omitzero" schema:"enum=open|closed,default=open"`
}

type issue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	State  string `json:"state"`
	By     string `json:"by"`
}

// byHand is a tool as one writes it in Go for the same request.
func byHand(transport http.RoundTripper) *server.Server {
	s := server.New(mcp.Implementation{Name: "hand", Version: "1"}, nil)
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	server.AddTool(s, "list_issues", "List issues", func(ctx context.Context, _ *mcp.Call, in listIssues) ([]issue, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.com/repos/"+escape(in.Owner)+"/"+escape(in.Repo)+"/issues?state="+in.State, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer token")
		req.Header.Set("Accept", "application/json")
		res, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		if res.StatusCode != 200 {
			return nil, fmt.Errorf("status %d", res.StatusCode)
		}
		body, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
		if err != nil {
			return nil, err
		}
		var all []struct {
			Number int    `json:"number"`
			Title  string `json:"title"`
			State  string `json:"state"`
			User   struct {
				Login string `json:"login"`
			} `json:"user"`
		}
		if err := jsonv2.Unmarshal(body, &all); err != nil {
			return nil, err
		}
		out := make([]issue, len(all))
		for i, one := range all {
			out[i] = issue{one.Number, one.Title, one.State, one.User.Login}
		}
		return out, nil
	}, nil)
	return s
}

// BenchmarkWrappedCall compares a call of a tool from a file with one of a tool
// written by hand, in turn, without a network. The metric ratio is the median of the
// first in units of the second; the benchmark fails if it is more than 3.
func BenchmarkWrappedCall(b *testing.B) {
	var rows []string
	for i := range 30 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"node_id":"I_%d","number":%d,"title":"Issue number %d about tea","state":"open","locked":false,"comments":3,"user":{"login":"ada","id":1,"type":"User","site_admin":false},"labels":[{"name":"bug","color":"f00"}],"body":"%s","created_at":"2026-01-02T03:04:05Z"}`, i, i, i, i, strings.Repeat("text of the issue ", 20)))
	}
	body := canned("[" + strings.Join(rows, ",") + "]")
	wrapped, err := New(Config{Data: []byte(benchFile), Name: "bench", Transport: body, Resolver: resolverOf("token-of-the-bench")})
	if err != nil {
		b.Fatal(err)
	}
	defer wrapped.Close()
	servers := []mcp.Handler{wrapped, byHand(body)}
	call := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"list_issues","arguments":{"owner":"ada","repo":"tea"}}`)}
	var spent [2][]time.Duration
	for b.Loop() {
		for i, s := range servers {
			began := time.Now()
			res, err := s.Serve(b.Context(), call)
			spent[i] = append(spent[i], time.Since(began))
			if err != nil || bytes.Contains(res.Body, []byte(`"isError":true`)) {
				b.Fatalf("%v %s", err, res.Body)
			}
		}
	}
	wrappedTime, handTime := median(spent[0]), median(spent[1])
	ratio := wrappedTime / handTime
	if b.N >= 1000 && ratio > 3 {
		b.Errorf("the ratio is %.2f", ratio)
	}
	b.ReportMetric(ratio, "ratio")
	b.ReportMetric(wrappedTime, "wrapped-ns/op")
	b.ReportMetric(handTime, "hand-ns/op")
}

// median returns the median in nanoseconds, which other programs on the machine
// change little.
func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Nanoseconds())
}

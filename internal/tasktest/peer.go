package tasktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
)

// An Error is an error that a server returned.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return fmt.Sprint(e.Code, " ", e.Message) }

// A Peer makes requests to servers. A response counts only if it was received
// whole.
type Peer struct {
	http *http.Client
	mu   sync.Mutex
	id   int
}

// NewPeer returns a Peer for a test.
func NewPeer(t *testing.T) *Peer {
	p := &Peer{http: &http.Client{Transport: &http.Transport{}, Timeout: HangGuard}}
	t.Cleanup(p.http.CloseIdleConnections)
	return p
}

// call makes a request as a principal and decodes the result into out.
func (p *Peer) call(url, principal, method, routed string, params map[string]any, out any) error {
	p.mu.Lock()
	p.id++
	id := p.id
	p.mu.Unlock()
	revision := mcp.Revisions()[0]
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion": revision,
		"io.modelcontextprotocol/clientInfo":      map[string]string{"name": principal, "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{
			"elicitation": map[string]any{}, "extensions": map[string]any{tasks.ExtensionID: map[string]any{}},
		},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": string(revision), "Mcp-Method": method, "Mcp-Name": routed,
	} {
		req.Header.Set(name, value)
	}
	res, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var m struct {
		Result json.RawMessage `json:"result"`
		Error  *Error          `json:"error"`
	}
	if err := mcp.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("%w: %s", err, raw)
	}
	if m.Error != nil {
		return m.Error
	}
	return mcp.Unmarshal(m.Result, out)
}

// Create calls a tool, which becomes a task.
func (p *Peer) Create(url, principal, tool string, millis int, key string) (t tasks.Task, err error) {
	err = p.call(url, principal, mcp.MethodToolsCall, tool, map[string]any{"name": tool, "arguments": input{millis, key}}, &t)
	return t, err
}

// Get returns the state of a task.
func (p *Peer) Get(url, principal, id string) (t tasks.Task, err error) {
	err = p.call(url, principal, tasks.MethodGet, id, map[string]any{"taskId": id}, &t)
	return t, err
}

// Cancel cancels a task.
func (p *Peer) Cancel(url, principal, id string) error {
	return p.call(url, principal, tasks.MethodCancel, id, map[string]any{"taskId": id}, &struct{}{})
}

// Answer responds to an input request of a task.
func (p *Peer) Answer(url, principal, id, key, name string) error {
	return p.call(url, principal, tasks.MethodUpdate, id, map[string]any{"taskId": id, "inputResponses": map[string]any{
		key: map[string]any{"action": "accept", "content": map[string]string{"name": name}},
	}}, &struct{}{})
}

// Until polls until a task has a state.
func (p *Peer) Until(t *testing.T, url, principal, id string, want func(*tasks.Task) bool) *tasks.Task {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		got, err := p.Get(url, principal, id)
		if err != nil {
			t.Fatal(err)
		}
		if want(&got) {
			return &got
		}
		if time.Since(began) > HangGuard {
			t.Fatalf("it stays %+v", got)
		}
	}
}

// Final is the condition that a task has ended, for [Peer.Until].
func Final(t *tasks.Task) bool { return t.Status.Final() }

package api

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api/credential"
)

func resolverOf(secret string) credential.Resolver {
	return credential.Resolver{Getenv: func(string) (string, bool) { return secret, true }}
}

const faultFile = `tenon: api/1
name: test
title: Test
api: {base: BASE, timeout: 300ms, response_limit: 64KiB, retry: {max: 2, max_wait: 1s}}
auth: {kind: bearer, token: "${env:TOKEN}"}
tools:
  read: {description: d, params: {id: {type: string, required: true}}, request: "GET /read/{id}", output: {jq: "{id: .id, name: .user.name}"}}
  list: {description: d, params: {id: string}, request: "GET /list{?id}", paginate: {kind: cursor, cursor: .next, param: c, items: .items, max_items: 50}, output: {jq: "[.[].n]"}}
  post: {description: d, params: {id: string}, confirm: {message: "Post?"}, request: {method: POST, path: /post, body: {id: "{{ .id }}"}}, output: {jq: "{id: .id}"}}
  keyed: {description: d, params: {id: string}, lookup: "GET /read/{id}", confirm: {message: "Post {{ $lookup.id }}?"}, idempotency: {header: Idempotency-Key}, request: {method: POST, path: /post, body: {id: "{{ .id }}"}}}
  many: {description: d, params: {ids: {type: array}}, batch: {over: ids, as: id}, request: {method: POST, path: /post, body: {id: "{{ .id }}"}}}
`

// A faulty API answers rightly or with one of many faults, and counts effects.
type faulty struct {
	mu      sync.Mutex
	random  *rand.Rand
	effects map[string]map[string]int // by id and key
	hang    chan struct{}
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	fault := f.random.IntN(16)
	if r.Method == http.MethodPost {
		if f.effects[string(body)] == nil {
			f.effects[string(body)] = map[string]int{}
		}
		f.effects[string(body)][r.Header.Get("Idempotency-Key")]++
	}
	f.mu.Unlock()
	switch fault {
	case 0:
		select {
		case <-f.hang:
		case <-r.Context().Done():
		}
	case 1:
		w.Header().Set("Retry-After", "0")
		reply(w, 429, `{"message":"slow down"}`)
	case 2:
		reply(w, 500, `{"message":"boom"}`)
	case 3:
		w.Header().Set("Retry-After", "0")
		reply(w, 503, ``)
	case 4:
		w.Header().Set("Content-Length", "500")
		io.WriteString(w, `{"id":`)
	case 5:
		reply(w, 200, `{"id":`)
	case 6:
		reply(w, 200, `["wrong","type",{"user":5,"items":"x"}]`)
	case 7:
		reply(w, 200, `{"items":{"a":1},"user":"text","next":{}}`)
	case 8:
		reply(w, 200, `{"id":"`+strings.Repeat("x", 100<<10)+`"}`)
	case 9:
		if h, ok := w.(http.Hijacker); ok {
			if c, _, err := h.Hijack(); err == nil {
				c.Close()
			}
		}
	case 10:
		http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusFound)
	case 11:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(502)
		io.WriteString(w, "<html>Bad gateway "+r.Header.Get("Authorization"))
	case 12:
		w.WriteHeader(204)
	default:
		reply(w, 200, `{"id":"1","user":{"name":"Ada"},"items":[{"n":1}],"next":null}`)
	}
}

// 200 calls for each of some tools against an API with faults: each ends with a
// result or a clear error, no secret leaves, and nothing happens twice.
func TestFaults(t *testing.T) {
	f := &faulty{random: rand.New(rand.NewPCG(1, 2)), effects: map[string]map[string]int{}, hang: make(chan struct{})}
	w := newWorld(t, faultFile, f.ServeHTTP)
	t.Cleanup(func() { close(f.hang) })
	ok, failed := 0, map[string]int{}
	n := 200
	if testing.Short() {
		n = 40
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, 8)
	for i := range n {
		for _, tool := range []string{"read", "list", "post", "keyed", "many"} {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				args := fmt.Sprintf(`{"id":"%s-%d"}`, tool, i)
				if tool == "many" {
					args = fmt.Sprintf(`{"ids":["many-%d-a","many-%d-b"]}`, i, i)
				}
				r := w.call(tool, args)
				text := said(r)
				mu.Lock()
				defer mu.Unlock()
				if strings.Contains(text, "marker-") || strings.HasPrefix(text, "ERROR PROTOCOL") || len(text) < 4 || len(text) > 4000 {
					t.Errorf("%s: %.300s", tool, text)
				}
				if tool == "post" && strings.Contains(text, "expected form") && !strings.Contains(text, "The request was done: do not repeat it") {
					t.Errorf("%s does not say that the request was done: %s", tool, text)
				}
				if r.IsError {
					failed[text]++
				} else {
					ok++
				}
			})
		}
	}
	wg.Wait()
	f.mu.Lock() // a request that timed out may still arrive
	defer f.mu.Unlock()
	for id, keys := range f.effects {
		keyed := strings.Contains(id, `"keyed-`)
		if len(keys) != 1 {
			t.Errorf("%s was sent with %d keys", id, len(keys))
		}
		for key, times := range keys {
			if !keyed && times > 1 || keyed && key == "" {
				t.Errorf("%s was sent %d times with the key %q", id, times, key)
			}
		}
	}
	if ok == 0 || len(failed) < 8 {
		t.Errorf("%d calls succeeded; kinds of errors: %v", ok, failed)
	}
}

package api

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

const pageFile = `
tools:
  link: {description: d, request: GET /link, paginate: {kind: link, size: {param: per_page, max: 10}, max_items: 50, default_items: 5}, output: {text: '{{ .[] | "- \(.)" }}'}}
  cursor: {description: d, readonly: true, request: {method: POST, path: /cursor, form: {a: "1"}}, paginate: {kind: cursor, cursor: .meta.next, param: cursor, in: form, items: .list, max_items: 50}}
  page: {description: d, request: GET /page, paginate: {kind: page, param: p, size: {param: n, max: 10}, max_items: 100, max_pages: 2}}
  offset: {description: d, request: GET /offset, paginate: {kind: offset, param: o, size: {param: n, max: 10}, max_items: 100}}
  odata: {description: d, params: {q: string}, request: "GET /odata{?q}", paginate: {kind: odata, max_items: 50}}
  loop: {description: d, request: GET /loop, paginate: {kind: cursor, cursor: .next, param: c, items: .list, max_items: 50}}
`

// numbers answers with the numbers from 1 to 25 in pages of each kind.
func numbers(w http.ResponseWriter, r *http.Request) {
	list := func(from, n int) string {
		var out []string
		for i := from; i < from+n && i < 25; i++ {
			out = append(out, strconv.Itoa(i+1))
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	q := func(name string, def int) int {
		n, err := strconv.Atoi(r.FormValue(name))
		if err != nil {
			return def
		}
		return n
	}
	switch r.URL.Path {
	case "/link", "/other":
		page, n := q("page", 1), q("per_page", 10)
		if page*n < 25 {
			w.Header().Set("Link", fmt.Sprintf(`</x>; rel="prev", </other?page=%d&per_page=%d>; rel="next"`, page+1, n))
		}
		reply(w, 200, list((page-1)*n, n))
	case "/cursor":
		at := q("cursor", 0)
		next := ""
		if at+7 < 25 {
			next = strconv.Itoa(at + 7)
		}
		reply(w, 200, fmt.Sprintf(`{"list":%s,"meta":{"next":%q}}`, list(at, 7), next))
	case "/page":
		reply(w, 200, list((q("p", 1)-1)*q("n", 10), q("n", 10)))
	case "/offset":
		reply(w, 200, list(q("o", 0), q("n", 10)))
	case "/odata":
		at := q("skip", 0)
		next := ""
		if at+10 < 25 {
			next = fmt.Sprintf(`,"@odata.nextLink":"http://%s/odata?skip=%d"`, r.Host, at+10)
		}
		reply(w, 200, fmt.Sprintf(`{"value":%s%s}`, list(at, 10), next))
	case "/loop":
		reply(w, 200, `{"list":[1],"next":"same"}`)
	}
}

func cursorOf(t *testing.T, r *mcp.CallToolResult) (items, cursor string) {
	t.Helper()
	var out struct {
		Items []int  `json:"items"`
		Next  string `json:"next_cursor"`
	}
	if err := mcp.Unmarshal(r.StructuredContent, &out); err != nil {
		t.Fatalf("%v: %s", err, said(r))
	}
	return fmt.Sprint(out.Items), out.Next
}

// Every kind of paging returns each item once, in order, whatever the limit is.
func TestPagingReturnsEachItemOnce(t *testing.T) {
	w := newWorld(t, pageFile, numbers)
	var want []int
	for i := range 25 {
		want = append(want, i+1)
	}
	for _, tool := range []string{"link", "cursor", "page", "offset", "odata"} {
		for _, limit := range []int{1, 3, 7, 10, 24, 25, 26, 50} {
			var got []string
			args := fmt.Sprintf(`{"limit":%d}`, limit)
			for range 40 {
				items, cursor := cursorOf(t, w.call(tool, args))
				got = append(got, strings.Fields(strings.Trim(items, "[]"))...)
				if cursor == "" {
					break
				}
				args = fmt.Sprintf(`{"limit":%d,"cursor":%q}`, limit, cursor)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s with limit %d: %v", tool, limit, got)
			}
		}
	}
	expect(t, "text", w.says("link", `{"limit":2}`), "…- 1\n- 2\n\nThere is more: call again with cursor=")
	expect(t, "loop", w.says("loop", `{}`), "…returned the same page again")
}

// A cursor is bound to the tool and its arguments, and cannot be forged to send
// another request.
func TestCursorsAreSigned(t *testing.T) {
	w := newWorld(t, pageFile, numbers)
	_, cursor := cursorOf(t, w.call("odata", `{"limit":3,"q":"a"}`))
	w.requests()
	for _, bad := range []string{cursor + "A", cursor[:len(cursor)-2], "x", "e30", strings.ToUpper(cursor)} {
		expect(t, bad, w.says("odata", fmt.Sprintf(`{"q":"a","cursor":%q}`, bad)), "…ERROR the cursor does not belong")
	}
	expect(t, "other arguments", w.says("odata", fmt.Sprintf(`{"q":"b","cursor":%q}`, cursor)), "…ERROR the cursor")
	expect(t, "other tool", w.says("page", fmt.Sprintf(`{"cursor":%q}`, cursor)), "…ERROR the cursor")
	if seen := w.requests(); len(seen) > 0 {
		t.Errorf("sent %q", seen)
	}
	expect(t, "the same", w.says("odata", fmt.Sprintf(`{"q":"a","limit":2,"cursor":%q}`, cursor)), "…[4,5]")
}

// A cursor is valid in other processes with the same secrets. It is no quick test for a
// password: its key is not a fast hash of the secrets.
func TestCursorsDoNotHelpToGuessPasswords(t *testing.T) {
	t.Parallel()
	var secrets []string // of the last server
	server := func(password string) *world {
		secrets = nil
		return newWorld(t, `tenon: api/1
name: test
title: Test
api: {base: BASE}
auth: {kind: basic, user: me, password: "${env:TOKEN}"}
tools: {list: {description: d, request: GET /page, paginate: {kind: page, param: p, size: {param: n, max: 10}, max_items: 100}}}
`, numbers, func(c *Config) {
			c.Resolver.Getenv = func(string) (string, bool) { return password, true }
			c.Resolver.Found = func(secret string) { secrets = append(secrets, secret) }
		})
	}
	_, cursor := cursorOf(t, server("marker-one").call("list", `{"limit":3}`))
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(secrets) == 0 {
		t.Fatal(secrets, err)
	}
	quick := []byte(digest(append(secrets, "test")...))
	guess := &service{cursorKey: func() []byte { return quick }}
	if bytes.Equal(guess.cursorMAC("list", map[string]any{}, data[macSize:]), data[:macSize]) {
		t.Error("the key is a fast hash of the secrets")
	}
	again := fmt.Sprintf(`{"limit":2,"cursor":%q}`, cursor)
	expect(t, "the same secrets", server("marker-one").says("list", again), "…[4,5]")
	expect(t, "other secrets", server("marker-two").says("list", again), "…ERROR the cursor does not belong")
}

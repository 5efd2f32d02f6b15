package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// Parameters of pages in a JSON body are numbers, and do not change the arguments
// that the cursor belongs to.
func TestPagingInBodies(t *testing.T) {
	w := newWorld(t, `
tools:
  page: {description: d, readonly: true, params: {filter: object}, request: {method: POST, path: /page, body: "{{ .filter }}"}, paginate: {kind: page, param: page, in: body, items: .list, more: .more, size: {param: size, max: 2}}}
  offset: {description: d, readonly: true, request: {method: POST, path: /offset, body: {}}, paginate: {kind: offset, param: skip, in: body, items: .list, size: {param: take, max: 2}}}
  cursor: {description: d, readonly: true, request: {method: POST, path: /cursor, body: {a: 1}}, paginate: {kind: cursor, cursor: .next, param: after, in: body, items: .list}}
  text: {description: d, readonly: true, params: {filter: {}}, request: {method: POST, path: /page, body: "{{ .filter }}"}, paginate: {kind: page, param: page, in: body, items: .list, size: {param: size}}}
`, func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, `{"list":[1,2],"more":true,"next":42}`)
	})
	_, cursor := cursorOf(t, w.call("page", `{"filter":{"a":"b"},"limit":2}`))
	cursorOf(t, w.call("page", fmt.Sprintf(`{"filter":{"a":"b"},"limit":2,"cursor":%q}`, cursor)))
	expect(t, "page", strings.Join(w.requests(), "\n"), `POST /page {"a":"b","page":1,"size":2}`+"\n"+`POST /page {"a":"b","page":2,"size":2}`)
	cursorOf(t, w.call("offset", `{"limit":4}`))
	expect(t, "offset", strings.Join(w.requests(), "\n"), `POST /offset {"skip":0,"take":2}`+"\n"+`POST /offset {"skip":2,"take":2}`)
	_, cursor = cursorOf(t, w.call("cursor", `{"limit":2}`))
	cursorOf(t, w.call("cursor", fmt.Sprintf(`{"limit":2,"cursor":%q}`, cursor)))
	expect(t, "cursor", strings.Join(w.requests(), "\n"), `POST /cursor {"a":1}`+"\n"+`POST /cursor {"a":1,"after":42}`)
	expect(t, "no object", w.says("text", `{"filter":"a"}`), "…ERROR the body of the request is not an object, so that size cannot be added")
}

func TestCheckRefusesPagingThatCannotWork(t *testing.T) {
	for tool, want := range map[string]string{
		`request: POST /x, paginate: {kind: link}`:                 `paginate: each page sends the request again, so that the tool must only read: say readonly: true if a POST only reads here`,
		`request: GET /x, readonly: false, paginate: {kind: link}`: `paginate: each page sends the request again`,
		`readonly: true, request: {method: POST, path: /x, body: [1]}, paginate: {kind: page, param: p, in: body, size: {param: s}}`: `paginate.in: the body of the request is not an object`,
		`request: GET /x, paginate: {kind: page, param: p, size: {param: s}, items: "[.[] | select(.a)]"}`:                           `paginate.items: kind page counts the items of a page`,
		`request: GET /x, paginate: {kind: offset, param: p, more: .more, items: "[.[] | select(.a)]"}`:                              `paginate.items: kind offset counts the items of a page`,
		`request: GET /x, paginate: {kind: page, param: p, in: form, size: {param: s}}`:                                              `request: has no form, where paginate puts its parameters`,
	} {
		checkTool(t, tool, want)
	}
	checkAll(t, "tenon: api/1\nname: test\napi: {base: \"https://api.example.com\"}\ntools:\n"+
		"  a: {description: d, request: GET /x, paginate: {kind: page, param: p, more: .more, items: '[.[] | select(.a)]'}}\n"+
		"  b: {description: d, request: GET /x, paginate: {kind: offset, param: p, size: {param: s}, items: '.data.list // []'}}\n")
}

// Pages that a filter empties do not end paging if more says that there are others.
func TestFilteredPagesDoNotEndPaging(t *testing.T) {
	w := newWorld(t, `
tools:
  odd: {description: d, request: GET /x, paginate: {kind: page, param: p, more: '.page < 4', items: '[.list[] | select(. % 2 == 1)]'}}
`, func(w http.ResponseWriter, r *http.Request) {
		p := r.FormValue("p")
		reply(w, 200, `{"page":`+p+`,"list":[`+p+`]}`)
	})
	items, _ := cursorOf(t, w.call("odd", `{}`))
	expect(t, "items", items, "[1 3]")
}

// A page that fails does not lose the pages before it: the result has their items
// and a cursor to the page that failed.
func TestAFailedPageKeepsTheOthers(t *testing.T) {
	broken := true
	w := newWorld(t, `
tools:
  list: {description: d, request: GET /page, retry: {max: 0}, paginate: {kind: page, param: p, size: {param: n, max: 10}, max_items: 100}}
  look: {description: d, request: POST /x, retry: {max: 0}, lookup: {request: GET /page, paginate: {kind: page, param: p, size: {param: n, max: 10}, max_items: 100}}}
`, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("p") == "3" && broken {
			w.Header().Set("Retry-After", "3600")
			reply(w, 429, `{"message":"slow down"}`)
			return
		}
		numbers(w, r)
	})
	r := w.call("list", `{"limit":100}`)
	items, cursor := cursorOf(t, r)
	if n := len(strings.Fields(items)); n != 20 || cursor == "" || r.IsError {
		t.Errorf("%d items, cursor %q: %s", n, cursor, said(r))
	}
	expect(t, "text", said(r), "…Not all items could be read: Test answered 429 Too Many Requests: slow down. The rate limit is exceeded; try again in 1h0m0s")
	expect(t, "lookup", w.says("look", `{}`), "…ERROR Test answered 429")
	expect(t, "first page", w.says("list", fmt.Sprintf(`{"limit":100,"cursor":%q}`, cursor)), "…ERROR Test answered 429")
	broken = false
	items, _ = cursorOf(t, w.call("list", fmt.Sprintf(`{"limit":100,"cursor":%q}`, cursor)))
	expect(t, "rest", items, "[21 22 23 24 25]")
}

// An API that repeats the credential of the query in its links does not put it into
// cursors, and gets it once.
func TestCursorsHaveNoCredential(t *testing.T) {
	w := newWorld(t, `tenon: api/1
name: test
title: Test
api: {base: BASE}
auth: {kind: query, name: api_key, value: "${env:KEY}"}
tools: {list: {description: d, request: GET /x, paginate: {kind: link}}}
`, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", fmt.Sprintf(`</x?page=2&api_key=%s>; rel="next"`, r.FormValue("api_key")))
		reply(w, 200, `[1,2]`)
	})
	_, cursor := cursorOf(t, w.call("list", `{"limit":2}`))
	w.requests()
	expect(t, "next", said(w.call("list", fmt.Sprintf(`{"limit":2,"cursor":%q}`, cursor))), "…[1,2]")
	expect(t, "request", strings.Join(w.requests(), ""), "GET /x?page=2&api_key=marker-KEY")
	var at place
	raw := w.open(t, cursor)
	if err := mcp.Unmarshal(raw, &at); err != nil || strings.Contains(string(raw), "marker") {
		t.Errorf("%s, %v", raw, err)
	}
}

// An integer may be written with a fraction of zero.
func TestLimitWithAFraction(t *testing.T) {
	w := newWorld(t, `
tools:
  list: {description: d, request: GET /page, paginate: {kind: page, param: p, size: {param: n, max: 10}, max_items: 100}}
`, numbers)
	for _, limit := range []string{"5", "5.0", "5e0"} {
		items, _ := cursorOf(t, w.call("list", `{"limit":`+limit+`}`))
		expect(t, limit, items, "[1 2 3 4 5]")
	}
}

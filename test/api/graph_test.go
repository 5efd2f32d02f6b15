package api

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A graph stands in for the part of Microsoft Graph that OneNote is: notebooks,
// sections and pages of one account. What it returns is checked against
// Microsoft's own types in TestGraphAnswersHaveMicrosoftsTypes.
type graph struct {
	http.Handler
	mu        sync.Mutex
	notebooks []object
	sections  []object // with parentNotebook
	pages     []object // with parentSection
	html      map[string]string
	writes    int // pages that were created and changed
	answers   map[string][]object
	now       time.Time
}

type object = map[string]any

const graphToken = "graph-token"

func newGraph() *graph {
	g := &graph{html: map[string]string{}, answers: map[string][]object{}, now: time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)}
	for i, name := range []string{"Home", "Work"} {
		g.notebooks = append(g.notebooks, object{"id": fmt.Sprintf("1-nb%d", i+1), "displayName": name, "isDefault": i == 0, "createdDateTime": g.at(-90), "lastModifiedDateTime": g.at(-i), "isShared": false, "userRole": "Owner",
			"sectionsUrl": "https://graph.example/sections", "links": object{"oneNoteWebUrl": object{"href": "https://onenote.example/" + name}}})
	}
	for i, name := range []string{"Recipes", "Garden", "Meetings"} {
		nb := g.notebooks[i/2]
		g.sections = append(g.sections, object{"id": fmt.Sprintf("1-sec%d", i+1), "displayName": name, "isDefault": false, "createdDateTime": g.at(-80), "lastModifiedDateTime": g.at(-i),
			"parentNotebook": object{"id": nb["id"], "displayName": nb["displayName"]}})
	}
	for i := range 45 {
		g.add(g.sections[i%3], fmt.Sprintf("Page %02d", i+1), fmt.Sprintf("<html><head><title>Page %02d</title></head><body><p>Text of page %d.</p></body></html>", i+1, i+1), -i)
	}
	g.add(g.sections[2], "Catalogue meeting", `<html lang="en-US"><head><title>Catalogue meeting</title></head><body data-absolute-enabled="true"><div style="position:absolute"><h1>Decisions</h1><p>Print <b>200</b> copies.</p><p data-tag="to-do:completed">Ask the printer</p><p data-tag="to-do">Order paper</p><ul><li>Sencha</li><li>Assam</li></ul><table><tr><td>Tea</td><td>Price</td></tr><tr><td>Sencha</td><td>12</td></tr></table><object data-attachment="plan.pdf" type="application/pdf" data="https://graph.example/x"></object></div></body></html>`, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1.0/me/onenote/notebooks", g.list("Notebook", func(*http.Request) []object { return g.notebooks }, "sections"))
	mux.HandleFunc("GET /v1.0/me/onenote/notebooks/{id}/sections", g.list("OnenoteSection", g.in("notebook", func() []object { return g.sections })))
	mux.HandleFunc("GET /v1.0/me/onenote/sections/{id}/pages", g.list("OnenotePage", g.in("section", func() []object { return g.pages })))
	mux.HandleFunc("GET /v1.0/me/onenote/pages", g.list("OnenotePage", func(*http.Request) []object { return g.pages }, "parentSection"))
	mux.HandleFunc("GET /v1.0/me/onenote/pages/{id}/content", g.guarded(g.content))
	mux.HandleFunc("POST /v1.0/me/onenote/sections/{id}/pages", g.guarded(g.create))
	mux.HandleFunc("PATCH /v1.0/me/onenote/pages/{id}/content", g.guarded(g.change))
	mux.HandleFunc("/", g.guarded(func(w http.ResponseWriter, _ *http.Request) { fail(w, 404, "ResourceNotFound", "no such path") }))
	g.Handler = mux
	return g
}

// at returns a time some hours from now.
func (g *graph) at(hours int) string {
	return g.now.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)
}

func (g *graph) add(section object, title, html string, hours int) object {
	id := fmt.Sprintf("1-page%d", len(g.pages)+1)
	p := object{"id": id, "title": title, "createdDateTime": g.at(hours - 5), "lastModifiedDateTime": g.at(hours), "level": 0, "order": 0, "createdByAppId": "WLID-1", "contentUrl": "https://graph.example/" + id,
		"links":         object{"oneNoteWebUrl": object{"href": "https://onenote.example/" + id}},
		"parentSection": object{"id": section["id"], "displayName": section["displayName"]}}
	g.pages, g.html[id] = append(g.pages, p), html
	return p
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(object{"error": object{"code": code, "message": message, "innerError": object{"request-id": "1", "date": "2026-11-16T09:00:00"}}})
}

func (g *graph) guarded(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+graphToken {
			fail(w, 401, "InvalidAuthenticationToken", "Access token is empty or invalid.")
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		f(w, r)
	}
}

// in returns the children of the notebook or section of a request.
func (g *graph) in(kind string, all func() []object) func(*http.Request) []object {
	parent := map[string]string{"notebook": "parentNotebook", "section": "parentSection"}[kind]
	return func(r *http.Request) []object {
		var found []object
		known := slices.ContainsFunc(append(slices.Clone(g.notebooks), g.sections...), func(o object) bool { return o["id"] == r.PathValue("id") })
		for _, o := range all() {
			if p, _ := o[parent].(object); p["id"] == r.PathValue("id") {
				found = append(found, o)
			}
		}
		if !known {
			return nil
		}
		return append([]object{}, found...)
	}
}

var titleFilter = regexp.MustCompile(`^contains\(tolower\(title\),'((?:[^']|'')*)'\)$`)

// list serves a collection with the OData options that the pack uses. It refuses
// others, as Graph does.
func (g *graph) list(kind string, all func(*http.Request) []object, expandable ...string) http.HandlerFunc {
	return g.guarded(func(w http.ResponseWriter, r *http.Request) {
		items := all(r)
		if items == nil {
			fail(w, 404, "20102", "The specified resource ID does not exist.")
			return
		}
		q := r.URL.Query()
		top, skip := 20, 0
		items = slices.Clone(items)
		for name := range q {
			v := q.Get(name)
			ok := true
			var err error
			switch name {
			case "$select", "$expand":
			case "$top":
				top, err = strconv.Atoi(v)
				ok = err == nil && top >= 1 && top <= 100
			case "$skip":
				skip, err = strconv.Atoi(v)
				ok = err == nil && skip >= 0
			case "$orderby":
				ok = order(items, v)
			case "$filter":
				m := titleFilter.FindStringSubmatch(v)
				if ok = m != nil && kind == "OnenotePage"; ok {
					text := strings.ReplaceAll(m[1], "''", "'")
					items = slices.DeleteFunc(items, func(o object) bool { return !strings.Contains(strings.ToLower(fmt.Sprint(o["title"])), text) })
				}
			default:
				ok = false
			}
			if !ok {
				fail(w, 400, "20113", "The query option "+name+" is invalid: "+v)
				return
			}
		}
		page := items[min(skip, len(items)):min(skip+top, len(items))]
		out := []object{}
		for _, o := range page {
			shown, ok := g.project(o, q.Get("$select"), q.Get("$expand"), expandable)
			if !ok {
				fail(w, 400, "20112", "Invalid $select or $expand.")
				return
			}
			out = append(out, shown)
		}
		body := object{"@odata.context": "https://graph.microsoft.com/v1.0/$metadata#" + kind, "value": out}
		if skip+top < len(items) {
			q.Set("$skip", strconv.Itoa(skip+top))
			body["@odata.nextLink"] = "http://" + r.Host + r.URL.Path + "?" + q.Encode()
		}
		g.answers[kind] = append(g.answers[kind], out...)
		w.Header().Set("Content-Type", "application/json;odata.metadata=minimal")
		json.NewEncoder(w).Encode(body)
	})
}

func order(items []object, by string) bool {
	name, direction, _ := strings.Cut(by, " ")
	if name != "displayName" && name != "lastModifiedDateTime" && name != "title" {
		return false
	}
	slices.SortStableFunc(items, func(a, b object) int {
		n := strings.Compare(fmt.Sprint(a[name]), fmt.Sprint(b[name]))
		if direction == "desc" {
			return -n
		}
		return n
	})
	return true
}

var expansion = regexp.MustCompile(`^(\w+)(?:\(\$select=([\w,]+)\))?$`)

// project applies $select and $expand to one object.
func (g *graph) project(o object, fields, expand string, expandable []string) (object, bool) {
	out := maps.Clone(o)
	delete(out, "parentSection")
	delete(out, "parentNotebook")
	if fields != "" {
		out = object{}
		for f := range strings.SplitSeq(fields, ",") {
			if _, known := o[f]; !known {
				return nil, false
			}
			out[f] = o[f]
		}
	}
	if expand == "" {
		return out, true
	}
	m := expansion.FindStringSubmatch(expand)
	if m == nil || !slices.Contains(expandable, m[1]) {
		return nil, false
	}
	switch m[1] {
	case "parentSection":
		out["parentSection"] = o["parentSection"]
	case "sections":
		all := []object{}
		for _, s := range g.sections {
			if p, _ := s["parentNotebook"].(object); p["id"] == o["id"] {
				all = append(all, object{"id": s["id"], "displayName": s["displayName"]})
			}
		}
		out["sections"] = all
	}
	return out, true
}

func (g *graph) content(w http.ResponseWriter, r *http.Request) {
	html, ok := g.html[r.PathValue("id")]
	if !ok {
		fail(w, 404, "20102", "The specified resource ID does not exist.")
		return
	}
	w.Header().Set("Content-Type", "text/html")
	io.WriteString(w, html)
}

var pageTitle = regexp.MustCompile(`<title>([^<]*)</title>`)

func (g *graph) create(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(g.sections, func(o object) bool { return o["id"] == r.PathValue("id") })
	body, err := io.ReadAll(r.Body)
	m := pageTitle.FindSubmatch(body)
	switch {
	case i < 0:
		fail(w, 404, "20102", "The specified resource ID does not exist.")
	case err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || m == nil:
		fail(w, 400, "20100", "The request must be an HTML page with a title.")
	default:
		p := g.add(g.sections[i], string(m[1]), string(body), 2)
		g.writes++
		out := maps.Clone(p)
		delete(out, "parentSection")
		g.answers["OnenotePage"] = append(g.answers["OnenotePage"], out)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", "http://"+r.Host+"/v1.0/me/onenote/pages/"+url.PathEscape(p["id"].(string)))
		w.WriteHeader(201)
		json.NewEncoder(w).Encode(out)
	}
}

func (g *graph) change(w http.ResponseWriter, r *http.Request) {
	var commands []struct{ Target, Action, Content string }
	id := r.PathValue("id")
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &commands)
	}
	switch html, ok := g.html[id]; {
	case !ok:
		fail(w, 404, "20102", "The specified resource ID does not exist.")
	case err != nil || len(commands) != 1 || commands[0].Target != "body" || commands[0].Action != "append":
		fail(w, 400, "20100", "The commands are invalid.")
	default:
		g.html[id] = strings.Replace(html, "</body>", commands[0].Content+"</body>", 1)
		g.writes++
		w.WriteHeader(204)
	}
}

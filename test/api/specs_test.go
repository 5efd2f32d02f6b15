package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	builtin "github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/builtin/api/draft"
	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/needtest"
)

func githubDescription(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(module(t, "@octokit/openapi/generated/api.github.com.json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// GitHub's whole description becomes a file that the engine accepts, quickly.
func TestDraftOfGitHub(t *testing.T) {
	data := githubDescription(t)
	began := time.Now()
	r, err := draft.Draft(data, draft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	t.Logf("%d of %d operations in %v, %d bytes", len(r.Tools), r.Operations, took, len(r.File))
	if len(r.Tools) != draft.MaxTools || len(r.Tools)+len(r.LeftOut) != r.Operations || r.Operations < 1100 {
		t.Errorf("%d tools, %d left out, %d operations", len(r.Tools), len(r.LeftOut), r.Operations)
	}
	for _, name := range []string{"issues_list_for_repo", "issues_create", "pulls_list", "repos_get", "repos_list_releases"} {
		if !strings.Contains(" "+strings.Join(r.Tools, " ")+" ", " "+name+" ") {
			t.Errorf("%s is not among %v", name, r.Tools)
		}
	}
	s, err := builtin.New(builtin.Config{Data: r.File, Name: "draft.yaml"})
	if err != nil {
		t.Fatalf("%v\n%s", err, r.File)
	}
	s.Close()
}

// Any operation of GitHub's description can be drafted, not only the chosen ones.
func TestDraftOfAnyOperation(t *testing.T) {
	data := githubDescription(t)
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, item := range doc.Paths {
		for _, op := range item {
			if op.OperationID != "" {
				ids = append(ids, op.OperationID)
			}
		}
	}
	slices.Sort(ids)
	d, err := draft.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	tools := 0
	for some := range slices.Chunk(ids, draft.MaxTools) {
		r, err := d.Draft(draft.Options{Operations: some})
		if err != nil {
			t.Fatal(err)
		}
		tools += len(r.Tools)
		s, err := builtin.New(builtin.Config{Data: r.File, Name: "draft.yaml"})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		s.Close()
	}
	t.Logf("%d of %d operations can be tools", tools, len(ids))
	if tools < len(ids)*95/100 {
		t.Errorf("only %d of %d operations can be tools", tools, len(ids))
	}
}

// Prism answers by GitHub's own description: what the pack sends is valid there,
// and what the description says of 429 is understood.
func TestGitHubPackFitsTheDescription(t *testing.T) {
	t.Parallel()
	at := prism(t, slice(t, githubDescription(t), "/user", "/search/repositories", "/search/issues", "/search/code", "/repos/{owner}/{repo}", "/repos/{owner}/{repo}/issues", "/repos/{owner}/{repo}/issues/{issue_number}",
		"/repos/{owner}/{repo}/issues/{issue_number}/comments", "/repos/{owner}/{repo}/pulls", "/repos/{owner}/{repo}/pulls/{pull_number}", "/repos/{owner}/{repo}/pulls/{pull_number}/files", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews",
		"/repos/{owner}/{repo}/pulls/{pull_number}/merge", "/repos/{owner}/{repo}/contents/{path}", "/repos/{owner}/{repo}/commits", "/repos/{owner}/{repo}/actions/runs", "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs", "/repos/{owner}/{repo}/releases"))
	c := pack(t, "github", at, `items: "[.[] | select(.pull_request == null)]"`, "items: .") // the example is a pull request
	repo := func(more object) object {
		o := object{"owner": "octocat", "repo": "hello-world"}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	for tool, args := range map[string]object{
		"get_me": nil, "get_repository": repo(nil), "list_issues": repo(object{"state": "all", "labels": "bug,ui", "limit": 1}), "get_issue": repo(object{"number": 1}),
		"search_repositories": {"query": "tea", "limit": 1}, "search_issues": {"query": "tea", "sort": "created", "limit": 1}, "search_code": {"query": "tea", "limit": 1},
		"create_issue": repo(object{"title": "T", "body": "B", "labels": []string{"bug"}}), "update_issue": repo(object{"number": 1, "state": "closed", "state_reason": "completed"}),
		"list_comments": repo(object{"number": 1, "limit": 1}), "add_comment": repo(object{"number": 1, "body": "B"}),
		"list_pulls": repo(object{"limit": 1}), "get_pull": repo(object{"number": 1}), "list_pull_files": repo(object{"number": 1, "limit": 1}), "list_reviews": repo(object{"number": 1, "limit": 1}),
		"create_pull": repo(object{"title": "T", "head": "f", "base": "main"}), "submit_review": repo(object{"number": 1, "event": "APPROVE"}), "merge_pull": repo(object{"number": 1, "method": "squash"}),
		"get_file": repo(object{"path": "README.md"}), "write_file": repo(object{"path": "a.txt", "content": "x", "message": "m"}), "list_commits": repo(object{"limit": 1}),
		"list_runs": repo(object{"status": "failure", "limit": 1}), "get_run": repo(object{"run_id": 1, "limit": 1}), "list_releases": repo(object{"limit": 1}), "create_release": repo(object{"tag": "v1"}),
	} {
		want(t, c, tool, args)
	}
	for code, text := range map[string]string{"404": "Not found", "422": "GitHub refuses the request", "403": "may not do this"} {
		bad := pack(t, "github", at, "User-Agent: tenon", "User-Agent: tenon, Prefer: code="+code)
		refused(t, bad, "create_issue", repo(object{"title": "T"}), text)
	}
}

// A draft of any description works with a server of that description, which says
// what 429 means.
func TestDraftWithPrism(t *testing.T) {
	t.Parallel()
	description := []byte(`{"openapi":"3.1.0","info":{"title":"Things","version":"1"},"servers":[{"url":"http://127.0.0.1"}],"paths":{"/things":{"get":{"operationId":"listThings","summary":"List things",
"parameters":[{"name":"page","in":"query","schema":{"type":"integer","minimum":1}},{"name":"per_page","in":"query","schema":{"type":"integer","maximum":50}},{"name":"colour","in":"query","required":true,"schema":{"type":"string","enum":["red","blue"]}}],
"responses":{"200":{"description":"ok","content":{"application/json":{"example":[{"id":1,"name":"cup"}],"schema":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"},"node_id":{"type":"string"}}}}}}},
"429":{"description":"slow down","headers":{"Retry-After":{"schema":{"type":"integer"},"example":0}},"content":{"application/json":{"example":{"message":"slow down"},"schema":{"type":"object"}}}}}}}}}`)
	at := prism(t, description)
	r, err := draft.Draft(description, draft.Options{Base: at})
	if err != nil {
		t.Fatal(err)
	}
	c := opened(t, builtin.Config{Data: r.File, Name: "draft.yaml"})
	want(t, c, "list_things", object{"colour": "red", "limit": 1}, "cup")
	refused(t, c, "list_things", object{"colour": "green"}, "colour")
	limited := strings.Replace(string(r.File), "api:\n", "api:\n  headers: {Prefer: code=429}\n", 1)
	c = opened(t, builtin.Config{Data: []byte(limited), Name: "draft.yaml"})
	refused(t, c, "list_things", object{"colour": "red"}, "429")
}

// prism serves a description with Prism, which checks requests and answers with
// examples.
func prism(t *testing.T, description []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "description.json")
	addr := freeport.ForTest(t)
	_, port, _ := net.SplitHostPort(addr)
	description = bytes.ReplaceAll(description, []byte("https://api.github.com"), []byte("http://"+addr)) // the links of examples
	if err := os.WriteFile(file, description, 0o600); err != nil {
		t.Fatal(err)
	}
	return process(t, addr, module(t, "@stoplight/prism-cli/dist/index.js"), "mock", "-p", port, "-h", "127.0.0.1", file)
}

// slice returns a description with some paths and what they refer to: Prism needs
// most of a minute for all of GitHub's.
func slice(t *testing.T, data []byte, paths ...string) []byte {
	t.Helper()
	var doc object
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	all, _ := doc["paths"].(object)
	kept, components := object{}, object{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case object:
			ref, _ := v["$ref"].(string)
			if parts := strings.Split(ref, "/"); len(parts) == 4 {
				group, _ := components[parts[2]].(object)
				if group == nil {
					group = object{}
					components[parts[2]] = group
				}
				if group[parts[3]] == nil {
					group[parts[3]] = doc["components"].(object)[parts[2]].(object)[parts[3]]
					walk(group[parts[3]])
				}
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	for _, p := range paths {
		if all[p] == nil {
			t.Fatalf("GitHub has no path %s", p)
		}
		kept[p] = all[p]
		walk(all[p])
	}
	out, err := json.Marshal(object{"openapi": doc["openapi"], "info": doc["info"], "servers": []any{object{"url": "/"}}, "paths": kept, "components": components})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What the stand-in for Graph returns is what Microsoft's types say.
func TestGraphAnswersHaveMicrosoftsTypes(t *testing.T) {
	t.Parallel()
	tsc := module(t, "typescript/lib/tsc.js")
	types := module(t, "@microsoft/microsoft-graph-types/microsoft-graph.d.ts")
	at, g := graphServer(t)
	c := pack(t, "onenote", at+"/v1.0")
	want(t, c, "list_notebooks", nil)
	want(t, c, "list_sections", object{"notebook_id": "1-nb1"})
	want(t, c, "list_pages", object{"section_id": "1-sec3"})
	want(t, c, "recent_pages", nil)
	want(t, c, "create_page", object{"section_id": "1-sec1", "title": "T", "text": "x"})
	dir := t.TempDir()
	check := func(more string) ([]byte, error) {
		var b strings.Builder
		fmt.Fprintf(&b, "import * as M from %q;\n", strings.TrimSuffix(types, ".d.ts"))
		for _, kind := range []string{"Notebook", "OnenoteSection", "OnenotePage"} {
			if len(g.answers[kind]) == 0 {
				t.Errorf("no answer with a %s", kind)
			}
			for i, a := range g.answers[kind] {
				data, err := json.Marshal(a)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "export const %s%d: M.%s = %s;\n", strings.ToLower(kind), i, kind, data)
			}
		}
		file := filepath.Join(dir, "answers.ts")
		if err := os.WriteFile(file, []byte(b.String()+more), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.CommandContext(t.Context(), needtest.Program(t, "node"), tsc, "--noEmit", "--strict", "--skipLibCheck", "--typeRoots", dir, file).CombinedOutput()
	}
	if out, err := check(""); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := check("export const wrong: M.OnenotePage = {title: 1, nothing: 2};\n"); err == nil {
		t.Errorf("a wrong answer is accepted\n%s", out)
	}
}

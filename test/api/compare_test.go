package api

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	builtin "github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/builtin/api/draft"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// The table of docs/wrap-an-api.md: what other programs make of GitHub's
// description. make api-compare runs it.
func TestCompare(t *testing.T) {
	if os.Getenv("TENON_API_COMPARE") == "" {
		t.Skip("make api-compare runs it")
	}
	description := module(t, "@octokit/openapi/generated/api.github.com.json")
	compared := func(path string) string {
		full, err := filepath.Abs(filepath.Join("compare/node_modules", path))
		if err != nil {
			t.Fatal(err)
		}
		return full
	}
	var rows []string
	row := func(name string, tools, bytes int, took time.Duration, note string) {
		rows = append(rows, fmt.Sprintf("| %s | %d | %d | %.1f | %s |", name, tools, bytes, took.Seconds(), note))
	}

	began := time.Now()
	r, err := draft.Draft(githubDescription(t), draft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	c := opened(t, builtin.Config{Data: r.File, Name: "draft.yaml"})
	n, size := listed(t, c)
	row("tenon api draft", n, size, took, fmt.Sprintf("%d operations are listed with reasons", len(r.LeftOut)))

	began = time.Now()
	server := []string{compared("@ivotoby/openapi-mcp-server/bin/mcp-server.js"), "--api-base-url", "https://api.github.com", "--openapi-spec", description, "--name", "github"}
	n, size = listed(t, started(t, server))
	row("@ivotoby/openapi-mcp-server", n, size, time.Since(began), "each start reads the description")

	// The project must be below node_modules with its dependencies.
	project, err := filepath.Abs("compare/generated")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(project) })
	began = time.Now()
	out, err := exec.Command(node(t), compared("openapi-mcp-generator/bin/openapi-mcp-generator.js"), "--input", description, "--output", project, "--force").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took = time.Since(began)
	began = time.Now()
	out, err = exec.Command(node(t), module(t, "typescript/lib/tsc.js"), "-p", project, "--outDir", filepath.Join(project, "build")).CombinedOutput()
	note := fmt.Sprintf("its build (tsc) took %.0f s", time.Since(began).Seconds())
	if err != nil {
		first, _, _ := strings.Cut(string(out), "\n")
		note += " and failed: " + first
	}
	path := filepath.Join(project, "build/index.js")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n, size = listed(t, started(t, []string{path}))
	row("openapi-mcp-generator", n, size, took, note)
	fmt.Println("| program | tools | bytes of the list | seconds | |\n|---|---|---|---|---|\n" + strings.Join(rows, "\n"))
}

// started connects to a server that Node runs.
func started(t *testing.T, args []string) *client.Client {
	t.Helper()
	o := &client.Options{Client: mcp.Implementation{Name: "compare", Version: "1"}}
	conn, err := stdio.Dial(t.Context(), &stdio.Command{Path: node(t), Args: args}, o.Profile())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return client.New(conn, o)
}

// listed returns the number of tools and the size of their definitions.
func listed(t *testing.T, c *client.Client) (n, size int) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		n, size = n+1, size+len(data)
	}
	return n, size
}

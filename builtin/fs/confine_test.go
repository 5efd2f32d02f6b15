package fs

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/internal/racetest"
	"github.com/tenon-mcp/tenon/mcp"
)

// readers are the tools that take one path and read, with the arguments that
// they need beside it.
var readers = map[string]string{
	"read_file": "", "read_text_file": "", "read_media_file": "", "get_file_info": "", "list_directory": "",
	"list_directory_with_sizes": "", "directory_tree": "", "search_files": `,"pattern":"**"`, "grep_files": `,"pattern":"."`,
}

// writers are those that change something there.
var writers = map[string]string{
	"write_file": `,"content":"x","confirm":true`, "edit_file": `,"edits":[{"oldText":"root","newText":"x"}]`,
	"create_directory": "", "delete_file": `,"confirm":true,"recursive":true`,
}

// everyWay calls every tool with a path and returns what each says.
func (b *bench) everyWay(path string, tools ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, list := range tools {
		for tool, more := range list {
			out[tool] = b.says(tool, `{"path":`+quoted(b.fill(path))+more+`}`)
		}
	}
	res, err := b.server.Serve(b.t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(
		`{"name":"read_multiple_files","arguments":{"paths":[` + quoted(b.fill(path)) + `]}}`)})
	if err == nil {
		r, _ := mcp.DecodeCallToolResult(res.Body)
		out["read_multiple_files"] = strings.Replace(said(r), b.fill(path)+": Error - ", "ERROR ", 1)
	}
	return out
}

// F02: paths that lead out, and paths that only look so.
func TestF02PathsThatLeadOut(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"a.txt": "inside", "sub/b.txt": "deeper"})
	plant(t, b.near, map[string]string{"secret.txt": "root:secret", "rooted/x": "root:secret"})
	for _, path := range []string{
		"../../etc/passwd", "../secret.txt", "ROOT/../secret.txt", "ROOT/../../../../../../etc/passwd", "sub/./../..//secret.txt",
		"/etc/passwd", "NEAR", "NEAR/rooted/x", "~/secret", "~", "..", "ROOT/..", "sub/../../secret.txt", "//etc/passwd",
	} {
		for tool, got := range b.everyWay(path, readers, writers) {
			if !strings.HasPrefix(got, "ERROR Access denied - path outside allowed directories: ") {
				t.Errorf("%s %s: %q", tool, path, got)
			}
		}
	}
	for tool, got := range b.everyWay("", readers, writers) {
		expect(t, tool+" with no path", strings.Replace(got, ": Error - ", "ERROR ", 1), `…ERROR the path is empty`)
	}
	b.run([]row{
		{"list_directory", `{"path":"."}`, "[FILE] a.txt\n[DIR] sub"},
		{"read_text_file", `{"path":"./sub//../a.txt"}`, "inside"},
		{"read_text_file", `{"path":"ROOT/sub/../a.txt"}`, "inside"},
		{"read_text_file", `{"path":"a.txt\u0000"}`, "…ERROR the path \"a.txt\\x00\" contains a zero byte"},
		{"write_file", `{"path":"..","content":"x"}`, "…Access denied"},
		{"delete_file", `{"path":".","recursive":true,"confirm":true}`, "…it cannot be replaced, moved or deleted"},
		{"move_file", `{"source":".","destination":"sub/x"}`, "…it cannot be replaced, moved or deleted"},
		{"move_file", `{"source":"a.txt","destination":"../a.txt"}`, "…Access denied - path outside"},
		{"move_file", `{"source":"../secret.txt","destination":"b.txt"}`, "…Access denied - path outside"},
	})
	expect(t, "the secret", b.have("../secret.txt"), "root:secret")
}

// F04: URIs are decoded once, and then are paths like any other.
func TestF04URIs(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"a.txt": "inside", "%2e%2e": "literal", "sp ace#?.txt": "odd"})
	plant(t, b.near, map[string]string{"secret.txt": "secret"})
	for uri, want := range map[string]string{
		"file://ROOT/a.txt":                    "inside",
		"file://localhostROOT/a.txt":           "inside",
		"FILE://ROOT/a.txt":                    "inside",
		"file://ROOT/%61.txt":                  "inside",
		"file://ROOT/%252e%252e":               "literal",
		"file://ROOT/sp%20ace%23%3F.txt":       "odd",
		"file://ROOT/%2e%2e/secret.txt":        "…Access denied - path outside",
		"file://ROOT/%2e%2e/%2e%2e/etc/passwd": "…Access denied - path outside",
		"file://ROOT/..%2fsecret.txt":          "…Access denied - path outside",
		"file://ROOT/../secret.txt":            "…Access denied - path outside",
		"file://ROOT/%252e%252e/secret.txt":    "…",
		"file://hostROOT/a.txt":                "…names a file on host",
		"file://ROOT/x%00":                     "…zero byte",
		"file://ROOT/a.txt?x=1":                "…not a plain file URI",
		"file://ROOT/%zz":                      "…not a file URI",
		"file:a.txt":                           "…not a plain file URI",
	} {
		uri = b.fill(uri)
		read := b.says("read_text_file", `{"path":`+quoted(uri)+`}`)
		resource := b.readResource(uri)
		if want == "…" {
			if strings.Contains(read+resource, "secret\"") || !strings.HasPrefix(read, "ERROR") {
				t.Errorf("%s: %q", uri, read)
			}
			continue
		}
		expect(t, "tool "+uri, read, want)
		if !strings.HasPrefix(uri, "file://") || strings.Contains(uri, "%zz") { // does not fit the template
			want = "…no resource has the URI"
		}
		expect(t, "resource "+uri, resource, want)
	}
}

// readResource reads a resource: its text, its bytes after BLOB, or why not.
func (b *bench) readResource(uri string) string {
	res, err := b.server.Serve(b.t.Context(), &mcp.Call{Method: mcp.MethodResourcesRead, Params: json.RawMessage(`{"uri":` + quoted(uri) + `}`)})
	if err != nil {
		return err.Error()
	}
	var r mcp.ReadResourceResult
	if err := mcp.Unmarshal(res.Body, &r); err != nil {
		b.t.Fatal(err)
	}
	if r.Contents[0].Blob != nil {
		return "BLOB " + string(r.Contents[0].Blob)
	}
	return r.Contents[0].Text
}

// F06 and CVE-2025-53109: links that lead out, for reading and for writing.
func TestF06Links(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{
		"a.txt": "inside", "sub/b.txt": "deeper",
		"in": "->sub", "inAbs": "->ROOT", "toFile": "->a.txt", "twice": "->in/../toFile", "upAndBack": "->../root/sub/b.txt",
		"out": "->../", "outAbs": "->/etc", "outFile": "->../secret.txt", "dangling": "->nowhere", "danglingOut": "->../nowhere",
		"loop": "->loop2", "loop2": "->loop", "sub/out": "->../../", "proc": "->/proc/self",
	})
	os.Remove(b.path("inAbs"))
	plant(t, b.dir, map[string]string{"inAbs": "->" + b.dir + "/sub"})
	plant(t, b.near, map[string]string{"secret.txt": "secret"})
	for _, path := range []string{"out/secret.txt", "outFile", "outAbs/passwd", "sub/out/secret.txt", "in/out/secret.txt", "out", "outAbs", "proc/environ", "out/new.txt", "outAbs/new/er.txt", "danglingOut"} {
		for tool, got := range b.everyWay(path, readers, map[string]string{"write_file": writers["write_file"], "edit_file": writers["edit_file"], "create_directory": ""}) {
			if !strings.HasPrefix(got, "ERROR ") || !strings.Contains(got, "Access denied - a symlink in the path leads outside") {
				t.Errorf("%s %s: %q", tool, path, got)
			}
		}
	}
	b.run([]row{
		{"read_text_file", `{"path":"in/b.txt"}`, "deeper"},
		{"read_text_file", `{"path":"inAbs/b.txt"}`, "deeper"},
		{"read_text_file", `{"path":"toFile"}`, "inside"},
		{"read_text_file", `{"path":"twice"}`, "inside"},
		{"read_text_file", `{"path":"upAndBack"}`, "deeper"},
		{"read_text_file", `{"path":"loop"}`, "…probably a loop"},
		{"read_text_file", `{"path":"dangling"}`, "…the symlink target does not exist"},
		{"write_file", `{"path":"dangling","content":"x"}`, "…the symlink target does not exist"},
		{"write_file", `{"path":"dangling/x","content":"x"}`, "…the symlink target does not exist"},
		{"write_file", `{"path":"in/new.txt","content":"x"}`, "Successfully wrote to in/new.txt"},
		{"write_file", `{"path":"toFile","content":"through","confirm":true}`, "Successfully wrote to toFile"},
		{"list_directory", `{"path":"."}`, "[FILE] a.txt\n[LINK] dangling\n[LINK] danglingOut\n[DIR] in\n[DIR] inAbs\n[LINK] loop\n[LINK] loop2\n[LINK] out\n[LINK] outAbs\n[LINK] outFile\n[LINK] proc\n[DIR] sub\n[FILE] toFile\n[FILE] twice\n[FILE] upAndBack"},
		{"move_file", `{"source":"outFile","destination":"outMoved"}`, "Successfully moved outFile to outMoved"},
		{"delete_file", `{"path":"outMoved","confirm":true}`, "Successfully deleted outMoved"},
		{"delete_file", `{"path":"in","confirm":true,"recursive":true}`, "Successfully deleted in"},
	})
	expect(t, "a file under a linked directory", b.have("sub/new.txt"), "x")
	expect(t, "a file behind a link", b.have("a.txt"), "through")
	if info, err := os.Lstat(b.path("toFile")); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Error("the link was replaced by a file")
	}
	for _, made := range []string{"nowhere", "../nowhere", "../new.txt"} {
		expect(t, made, b.have(made), "does not exist")
	}
	expect(t, "the secret", b.have("../secret.txt"), "secret")
	if got := b.says("list_directory_with_sizes", `{"path":"."}`); strings.Contains(got, "6 B") && strings.Contains(got, "outFile") {
		t.Errorf("the size of a file outside is told:\n%s", got)
	}
	if got := b.says("grep_files", `{"path":".","pattern":"secret"}`); !strings.HasPrefix(got, "No matches") {
		t.Errorf("grep got out: %s", got)
	}
	if got := b.says("search_files", `{"path":".","pattern":"**/secret.txt"}`); !strings.HasPrefix(got, "No matches") {
		t.Errorf("search got out: %s", got)
	}
}

// F08: a file with a second name outside.
func TestF08HardLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a FileInfo does not count links on Windows")
	}
	for _, deny := range []bool{false, true} {
		b := newBench(t, Config{DenyHardLinks: deny}, nil)
		plant(t, b.near, map[string]string{"outside.txt": "text"})
		if err := os.Link(b.path("../outside.txt"), b.path("link.txt")); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"read_text_file": "text", "edit_file": "…+other", "write_file": "Successfully wrote to link.txt"}
		if deny {
			for tool := range want {
				want[tool] = "…ERROR Access denied - link.txt has 2 hard links"
			}
		}
		expect(t, "read", b.says("read_text_file", `{"path":"link.txt"}`), want["read_text_file"])
		expect(t, "edit", b.says("edit_file", `{"path":"link.txt","edits":[{"oldText":"text","newText":"other"}]}`), want["edit_file"])
		if deny {
			expect(t, "write", b.says("write_file", `{"path":"link.txt","content":"new","confirm":true}`), want["write_file"])
		}
		expect(t, "the other name", b.have("../outside.txt"), "text")
	}
}

// F10: names that some system takes for others. None of them is a way around
// what is refused, and on systems where they are names they are names.
func TestF10Names(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{
		"caf\u00e9.txt": "composed", "nai\u0308ve.txt": "decomposed", "both\u00e9": "1", "bothe\u0301": "2", ".git/config": "[core]", ".mcp.json": "{}",
	})
	if runtime.GOOS == "linux" {
		b.run([]row{
			{"read_text_file", `{"path":"cafe\u0301.txt"}`, "composed"},
			{"read_text_file", `{"path":"na\u00efve.txt"}`, "decomposed"},
			{"read_text_file", `{"path":"both\u00e9"}`, "1"},
			{"read_text_file", `{"path":"bothe\u0301"}`, "2"},
			{"write_file", `{"path":"cafe\u0301.txt","content":"same","confirm":true}`, "…Successfully"},
			{"write_file", `{"path":"CON","content":"a name"}`, "Successfully wrote to CON"},
			{"read_text_file", `{"path":"CON"}`, "a name"},
		})
		expect(t, "the composed name", b.have("caf\u00e9.txt"), "same")
	}
	for _, path := range []string{`C:\x`, `C:/x`, `c:`, `\\server\share\x`, `\\?\C:\x`, `\\.\pipe\x`, `//?/C:/x`} {
		if runtime.GOOS == "windows" {
			break
		}
		for tool, got := range b.everyWay(path, readers, writers) {
			if !strings.HasPrefix(got, "ERROR Access denied - Windows-style path") {
				t.Errorf("%s %s: %q", tool, path, got)
			}
		}
	}
	for _, path := range []string{
		".git/config", ".GIT/config", ".git./config", ".git /config", ".git::$INDEX_ALLOCATION/config", "GIT~1/config", "git~1/hooks/x", ".g\u200cit/config", ".gi\u0301t/config",
		".mcp.json", ".MCP.JSON", ".mcp.json.", ".mcp.json::$DATA", "deep/er/.git/hooks/pre-commit",
	} {
		got := b.says("write_file", `{"path":`+quoted(path)+`,"content":"x","confirm":true}`)
		if !strings.HasPrefix(got, "ERROR") {
			t.Errorf("%q was written: %s", path, got)
		}
	}
	for _, name := range []string{`a\b`, "line\nbreak", "tab\t", "esc\x1b[0m", strings.Repeat("x", 256), ".tenon-0123456789abcdef01234567.part"} {
		if got := b.says("write_file", `{"path":`+quoted(name)+`,"content":"x"}`); !strings.HasPrefix(got, "ERROR the name") && !strings.HasPrefix(got, "ERROR names such as") && !strings.Contains(got, "too long") {
			t.Errorf("%q: %s", name, got)
		}
	}
	expect(t, ".git/config", b.have(".git/config"), "[core]")
	expect(t, ".mcp.json", b.have(".mcp.json"), "{}")
}

// F12: nothing is ever unpacked, and what is large is not held.
func TestF12LargeFiles(t *testing.T) {
	b := newBench(t, Config{MaxFile: 10_000, MaxResult: 1000}, map[string]string{"bomb.gz": "\x1f\x8b\x08\x00packed"})
	huge, err := os.Create(b.path("huge.log"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(10 << 30); err != nil { // 10 GB of nothing
		needtest.Missing(t, "sparse files: "+err.Error())
	}
	huge.WriteString("first line\nsecond line\n")
	huge.Close()
	plant(t, b.dir, map[string]string{"long.txt": strings.Repeat("0123456789abcdef\n", 1000)})
	b.run([]row{
		{"read_media_file", `{"path":"huge.log"}`, "…at most 10000 can be read at once"},
		{"read_text_file", `{"path":"huge.log","head":2}`, "…it contains zero bytes"},
		{"edit_file", `{"path":"huge.log","edits":[{"oldText":"first","newText":"x"}]}`, "…at most 10000 can be edited; the server setting maxfile=BYTES"},
		{"read_text_file", `{"path":"long.txt","tail":1}`, "0123456789abcdef"},
	})
	expect(t, "resource", b.readResource(b.fill("file://ROOT/huge.log")), "…at most 10000")
	r := b.call("read_media_file", `{"path":"bomb.gz"}`)
	if e, ok := r.Content[0].(*mcp.EmbeddedResource); !ok || string(e.Resource.Blob) != "\x1f\x8b\x08\x00packed" || e.Resource.MIMEType != "application/gzip" {
		t.Errorf("a packed file came as %+v", r.Content[0])
	}
	if got := b.says("read_text_file", `{"path":"long.txt"}`); len(got) > 1200 {
		t.Errorf("%d bytes came, and 1000 are allowed", len(got))
	}
}

// F16: what other programs run needs to be allowed in so many words.
func TestF16SensitiveNames(t *testing.T) {
	tree := map[string]string{".git/config": "[core]", "fishy/fish/config.fish": "evil", "hooks/pre-commit": "evil", "plain.txt": "x"}
	b := newBench(t, Config{}, tree)
	for _, path := range []string{".git/hooks/pre-commit", ".mcp.json", ".bashrc", "sub/.zshrc", ".vscode/tasks.json", ".cursor/mcp.json", ".ssh/authorized_keys", ".config/fish/config.fish", "Library/LaunchAgents/x.plist",
		"tenon.json", ".config/tenon/approved.json", "Library/Application Support/tenon/tenon.json", ".xprofile", ".cargo/config.toml"} {
		for tool, more := range writers {
			got := b.says(tool, `{"path":`+quoted(path)+more+`}`)
			if !strings.HasPrefix(got, "ERROR") || tool != "edit_file" && tool != "delete_file" && !strings.Contains(got, "the server needs the setting AllowSensitive") {
				t.Errorf("%s %s: %s", tool, path, got)
			}
		}
		expect(t, path, b.have(path), "does not exist")
	}
	b.run([]row{
		{"move_file", `{"source":"hooks","destination":".git/hooks"}`, "…Access denied - ROOT/.git/hooks is .git or in it"},
		{"move_file", `{"source":"plain.txt","destination":".mcp.json"}`, "…AllowSensitive \".mcp.json\""},
		{"move_file", `{"source":".git","destination":"git"}`, "…Access denied"},
		{"move_file", `{"source":"fishy","destination":".config"}`, "…Access denied - ROOT/.config/fish is .config/fish or in it"},
		{"edit_file", `{"path":".git/config","edits":[{"oldText":"core","newText":"x"}]}`, "…Access denied"},
		{"edit_file", `{"path":".git/config","edits":[{"oldText":"core","newText":"x"}],"dryRun":true}`, "…+[x]"},
		{"delete_file", `{"path":".git","recursive":true,"confirm":true}`, "…Access denied"},
		{"read_text_file", `{"path":".git/config"}`, "[core]"},
		{"create_directory", `{"path":".config"}`, "Successfully created directory .config"},
		{"write_file", `{"path":".config/other/x","content":"fine"}`, "Successfully wrote to .config/other/x"},
		{"write_file", `{"path":".gitignore","content":"fine"}`, "Successfully wrote to .gitignore"},
	})
	plant(t, b.dir, map[string]string{"project/.git/config": "x", "project/a": "x"})
	expect(t, "delete above", b.says("delete_file", `{"path":"project","recursive":true,"confirm":true}`), "…Access denied")
	expect(t, "what is in it", b.have("project/a"), "x")

	config := filepath.Join(b.dir, ".config")
	if got := newBench(t, Config{Roots: []string{config}}, nil).says("write_file", `{"path":"fish/config.fish","content":"x"}`); !strings.Contains(got, "is .config/fish or in it") {
		t.Errorf("a root that is a part of a sensitive name: %s", got)
	}

	b = newBench(t, Config{AllowSensitive: []string{".git"}}, tree)
	b.run([]row{
		{"write_file", `{"path":".git/hooks/pre-commit","content":"#!/bin/sh"}`, "…Successfully"},
		{"write_file", `{"path":".bashrc","content":"x"}`, "…Access denied"},
	})
	b = newBench(t, Config{AllowSensitive: []string{"*"}}, tree)
	b.run([]row{{"write_file", `{"path":".bashrc","content":"x"}`, "…Successfully"}})
}

// Pipes, sockets and devices are refused, and nothing waits for them.
func TestSpecialFiles(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"a.txt": "text"})
	if err := mkfifo(b.path("pipe")); err != nil {
		needtest.Missing(t, "pipes: "+err.Error())
	}
	socket, err := net.Listen("unix", filepath.Join(b.dir, "s"))
	if err == nil {
		defer socket.Close()
	}
	for path, what := range map[string]string{"pipe": "a named pipe", "s": "a socket"} {
		if path == "s" && socket == nil {
			continue
		}
		for tool, got := range b.everyWay(path, readers, writers) {
			if tool == "get_file_info" {
				expect(t, tool, got, "…isFile: false")
			} else if !strings.HasPrefix(got, "ERROR ") || !strings.Contains(got, what) {
				t.Errorf("%s %s: %q", tool, path, got)
			}
		}
		expect(t, "resource", b.readResource(b.fill("file://ROOT/"+path)), "…"+what)
	}
	b.run([]row{
		{"grep_files", `{"path":".","pattern":"text"}`, "ROOT/a.txt\n1: text"},
		{"list_directory", `{"path":"."}`, "…[PIPE] pipe"},
	})
	b = newBench(t, Config{Roots: []string{"/"}}, nil)
	for _, path := range []string{"/proc/self/environ", "/proc/self/root/etc/hostname", "/dev/zero", "/dev/fd/0", "/sys/kernel", "proc/version"} {
		for tool, got := range b.everyWay(path, readers) {
			if !strings.HasPrefix(got, "ERROR ") {
				t.Errorf("%s %s: %q", tool, path, got)
			}
		}
	}
	if got := b.says("list_directory", `{"path":"/"}`); strings.Contains(got, "proc") {
		t.Errorf("the kernel's directories are listed: %s", got)
	}
	if _, err := New(Config{Roots: []string{"/proc"}}); err == nil {
		t.Error("/proc was taken as a root")
	}
}

// While somebody swaps a directory for a link that leads out, no call reads or
// writes outside.
func TestRaces(t *testing.T) {
	b := newBench(t, Config{Ask: AskNever}, map[string]string{"dir/f.txt": "inside"})
	plant(t, b.near, map[string]string{"outside/f.txt": "SECRET"})
	end := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		dir, other, link := b.path("dir"), b.path("dir.real"), b.path("dir.link")
		os.Symlink("../outside", link)
		for {
			select {
			case <-end:
				return
			default:
			}
			os.Rename(dir, other)
			os.Rename(link, dir)
			os.Rename(dir, link)
			os.Rename(other, dir)
		}
	})
	calls := []row{
		{"read_text_file", `{"path":"dir/f.txt"}`, ""}, {"write_file", `{"path":"dir/f.txt","content":"inside"}`, ""},
		{"write_file", `{"path":"dir/new.txt","content":"inside"}`, ""}, {"grep_files", `{"path":".","pattern":"SECRET"}`, ""},
		{"edit_file", `{"path":"dir/f.txt","edits":[{"oldText":"SECRET","newText":"LEAKED"}]}`, ""},
		{"list_directory_with_sizes", `{"path":"dir"}`, ""}, {"delete_file", `{"path":"dir/new.txt"}`, ""},
		{"move_file", `{"source":"dir/f.txt","destination":"moved.txt"}`, ""}, {"move_file", `{"source":"moved.txt","destination":"dir/f.txt"}`, ""},
		{"create_directory", `{"path":"dir/a/b"}`, ""}, {"delete_file", `{"path":"dir/a","recursive":true}`, ""},
	}
	worked := 0
	for i := range racetest.Size(3000, 1000) {
		c := calls[i%len(calls)]
		r := b.call(c.tool, c.args)
		if !r.IsError {
			worked++
		}
		text := fmt.Sprint(r.Content.Text(), string(r.StructuredContent))
		if c.tool != "grep_files" && strings.Contains(strings.ReplaceAll(text, `"oldText":"SECRET"`, ""), "SECRET") && !strings.Contains(text, "Could not find") || strings.Contains(text, "1: SECRET") {
			t.Fatalf("%s got out: %s", c.tool, text)
		}
	}
	close(end)
	swapping.Wait()
	if worked < 100 {
		t.Errorf("only %d calls worked: nothing was tested", worked)
	}
	got, err := os.ReadDir(filepath.Join(b.near, "outside"))
	if err != nil || len(got) != 1 || b.have("../outside/f.txt") != "SECRET" {
		t.Errorf("outside there is now %v: %s", got, b.have("../outside/f.txt"))
	}
}

package fs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestReadTextFile(t *testing.T) {
	b := newBench(t, Config{MaxResult: 300}, map[string]string{
		"ten.txt": numbered(10), "open.txt": "a\nb\nc", "empty.txt": "", "newlines.txt": "\n\n\n", "long.txt": numbered(1000),
		"wide.txt": strings.Repeat("é", 500) + "\nend\n", "mixed.txt": "short\n" + strings.Repeat("w", 1000) + "\nlast",
		"utf16.txt": "\xff\xfea\x00", "zero.bin": "a\x00b", "latin1.txt": "caf\xe9", "deep.bin": strings.Repeat("a", 10_000) + "\x00",
	})
	b.run([]row{
		{"read_text_file", `{"path":"ten.txt","offset":3,"limit":2}`, "line 3\nline 4"},
		{"read_text_file", `{"path":"ten.txt","offset":9}`, "line 9\nline 10\n"},
		{"read_text_file", `{"path":"ten.txt","limit":1}`, "line 1"},
		{"read_text_file", `{"path":"ten.txt","offset":10,"limit":5}`, "line 10"},
		{"read_text_file", `{"path":"ten.txt","offset":11}`, "…offset is 11, but the file has only 10 lines"},
		{"read_text_file", `{"path":"open.txt","offset":4}`, "…offset is 4, but the file has only 3 lines"},
		{"read_text_file", `{"path":"open.txt","offset":3}`, "c"},
		{"read_text_file", `{"path":"empty.txt","offset":1}`, ""},
		{"read_text_file", `{"path":"empty.txt","offset":2}`, "…has only 0 lines"},
		{"read_text_file", `{"path":"newlines.txt","tail":2}`, "\n"},
		{"read_text_file", `{"path":"newlines.txt"}`, "\n\n\n"},
		{"read_text_file", `{"path":"ten.txt","tail":1}`, "line 10"},
		{"read_text_file", `{"path":"ten.txt","tail":100}`, strings.TrimSuffix(numbered(10), "\n")},
		{"read_text_file", `{"path":"long.txt","tail":1}`, "line 1000"},
		{"read_text_file", `{"path":"ten.txt","byteOffset":64}`, "line 10\n"[1:]},
		{"read_text_file", `{"path":"ten.txt","byteOffset":1000}`, "…has only 71 bytes"},
		{"read_text_file", `{"path":"ten.txt","offset":1,"byteOffset":5}`, "…use one of them"},
		{"read_text_file", `{"path":"ten.txt","head":1,"offset":5}`, "…use one or the other"},
		{"read_text_file", `{"path":"ten.txt","offset":0}`, "…offset"},
		{"read_text_file", `{"path":"ten.txt","tail":-1}`, "…tail"},
		{"read_text_file", `{"path":"utf16.txt"}`, "…UTF-16"},
		{"read_text_file", `{"path":"zero.bin"}`, "…it is binary (it contains zero bytes). Use read_media_file for its bytes"},
		{"read_text_file", `{"path":"latin1.txt"}`, "…not valid UTF-8"},
		{"read_text_file", `{"path":"mixed.txt"}`, "short\n\n[Cut after line 1. The file has 1011 bytes. Continue with offset=2.]"},
	})
}

// Whoever follows the advice of each result has read the whole file.
func TestReadingOn(t *testing.T) {
	texts := map[string]string{
		"lines": numbered(3000), "wide": strings.Repeat("ü", 4000), "mixed": "a\n" + strings.Repeat("€", 900) + "\nb\n" + numbered(100),
		"crlf": strings.ReplaceAll(numbered(200), "\n", "\r\n"), "open": strings.Repeat("x", 70_000) + "\nlast without end",
	}
	b := newBench(t, Config{MaxResult: 500}, texts)
	for name, want := range texts {
		got, args := "", ""
		for range 1000 {
			r := b.call("read_text_file", `{"path":`+quoted(name)+args+`}`)
			if r.IsError {
				t.Fatalf("%s%s: %s", name, args, r.Content.Text())
			}
			text := r.Content[0].(*mcp.TextContent).Text
			if len(text) > 500 {
				t.Fatalf("%s: %d bytes in one result", name, len(text))
			}
			got += text
			var next textRead
			if err := mcp.Unmarshal(r.StructuredContent, &next); err != nil {
				t.Fatal(err)
			}
			if !next.Truncated {
				break
			}
			if len(r.Content) != 2 {
				t.Fatalf("%s: a result that is cut does not say so", name)
			}
			args = fmt.Sprintf(`,"byteOffset":%d`, next.NextByteOffset)
			if next.NextOffset > 0 {
				args = fmt.Sprintf(`,"offset":%d`, next.NextOffset)
			}
		}
		if got != want {
			t.Errorf("%s: %d bytes came together, and there are %d", name, len(got), len(want))
		}
	}
}

func TestReadMedia(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"a.png": "png", "b.WAV": "wav", "c.pdf": "pdf", "empty.jpg": ""})
	for name, want := range map[string]string{
		"a.png": `{"type":"image","data":"cG5n","mimeType":"image/png"}`, "b.WAV": `{"type":"audio","data":"d2F2","mimeType":"audio/wav"}`,
		"c.pdf":     `{"type":"resource","resource":{"uri":"file://ROOT/c.pdf","mimeType":"application/pdf","blob":"cGRm"}}`,
		"empty.jpg": `{"type":"image","data":"","mimeType":"image/jpeg"}`,
	} {
		r := b.call("read_media_file", `{"path":`+quoted(name)+`}`)
		raw, err := mcp.Marshal(r.Content)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, name, string(raw), "["+b.fill(want)+"]")
	}
}

func TestReadMultipleFiles(t *testing.T) {
	b := newBench(t, Config{MaxResult: 300}, map[string]string{"a": "text a", "long": numbered(100), "z": "text z"})
	expect(t, "several", b.says("read_multiple_files", `{"paths":["a","nope","z"]}`),
		"a:\ntext a\n\n---\nnope: Error - nope does not exist; use list_directory or search_files to find files\n---\nz:\ntext z\n")
	got := b.says("read_multiple_files", `{"paths":["a","long","long","z"]}`)
	for _, want := range []string{"a:\ntext a\n", "Continue with offset=", "long: Error - left out because this result is full"} {
		expect(t, "too much", got, "…"+want)
	}
	if len(got) > 900 {
		t.Errorf("%d bytes", len(got))
	}
	expect(t, "none", b.says("read_multiple_files", `{"paths":[]}`), "…paths")
}

func TestGetFileInfo(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"a.txt": "12345"})
	if err := os.Chmod(b.path("a.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	got := b.says("get_file_info", `{"path":"a.txt"}`)
	for _, want := range []string{"size: 5\n", "\nmodified: 20", "\nisDirectory: false\nisFile: true\npermissions: 640"} {
		expect(t, "info", got, "…"+want)
	}
	expect(t, "structured", string(b.call("get_file_info", `{"path":"a.txt"}`).StructuredContent), b.fill(`…"path":"ROOT/a.txt","uri":"file://ROOT/a.txt","size":5,`))
}

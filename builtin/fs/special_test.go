package fs

import (
	"github.com/tenon-mcp/tenon/internal/needtest"
	"net"
	"strings"
	"testing"
)

// S5: pipes and sockets are not shown as files, and not counted as such.
func TestSpecialFilesAreMarked(t *testing.T) {
	b := newBench(t, Config{}, map[string]string{"a.txt": "text", "to pipe": "->pipe"})
	if err := mkfifo(b.path("pipe")); err != nil {
		needtest.Missing(t, err.Error())
	}
	l, err := net.Listen("unix", b.path("socket"))
	if err != nil {
		needtest.Missing(t, err.Error())
	}
	defer l.Close()
	b.run([]row{
		{"list_directory", `{"path":"."}`, "[FILE] a.txt\n[PIPE] pipe\n[SOCKET] socket\n[PIPE] to pipe"},
		{"list_directory_with_sizes", `{"path":"."}`, "…[PIPE] pipe"},
		{"list_directory_with_sizes", `{"path":"."}`, "…Total: 1 files, 0 directories\nCombined size: 4 B"},
		{"directory_tree", `{"path":"."}`, "…\"name\": \"pipe\",\n    \"type\": \"pipe\""},
		{"directory_tree", `{"path":"."}`, "…\"type\": \"socket\""},
	})
}

// S5: where the home directory of the server is, is not told.
func TestHomeIsNotTold(t *testing.T) {
	b := newBench(t, Config{}, nil)
	t.Setenv("HOME", "/home/SECRET")
	for _, tool := range []string{"read_text_file", "list_directory", "get_file_info", "delete_file"} {
		for _, path := range []string{"~", "~/x", "~/../y"} {
			got := b.says(tool, `{"path":`+quoted(path)+`}`)
			if strings.Contains(got, "SECRET") || !strings.Contains(got, "outside allowed directories: "+path) {
				t.Errorf("%s %s: %s", tool, path, got)
			}
		}
	}
}

package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/needtest"
)

func write(t *testing.T, file string, n int) {
	t.Helper()
	l, err := Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range n {
		if err := l.Append(map[string]any{"what": "call", "n": i, "text": "<a & b>\n"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGrowsAndVerifies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, file, 3)
	write(t, file, 2) // another process, later
	r, err := Verify(file, nil)
	if r.Lines != 5 || err != nil || r.Hash == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file can be read by others: %v %v", info.Mode(), err)
	}
}

func TestTamperingIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(lines []string) []string
		want   string
	}{
		"changed":        {func(l []string) []string { l[1] = strings.Replace(l[1], `"n":1`, `"n":7`, 1); return l }, "line 2: it was changed"},
		"time changed":   {func(l []string) []string { l[1] = strings.Replace(l[1], `"at":"2`, `"at":"3`, 1); return l }, "line 2: it was changed"},
		"taken out":      {func(l []string) []string { return append(l[:1], l[2:]...) }, "line 2: it is numbered 3"},
		"put in":         {func(l []string) []string { return append([]string{l[0], l[0]}, l[1:]...) }, "line 2: it is numbered 1"},
		"swapped":        {func(l []string) []string { l[0], l[1] = l[1], l[0]; return l }, "line 1: it is numbered 2"},
		"torn":           {func(l []string) []string { return append(l, l[3][:20]) }, "no end"},
		"last line gone": {func(l []string) []string { return l[:3] }, "the last 1 were cut off"},
		"half gone":      {func(l []string) []string { return l[:2] }, "the last 2 were cut off"},
		"all gone":       {func(l []string) []string { return nil }, "the last 4 were cut off"},
		"last rewritten": {func(l []string) []string { l[3] = rewrite(t, l[3]); return l }, "line 4 of"},
		"two put in":     {func(l []string) []string { return append(l, follow(t, l[3], 2)...) }, "the last 2 were added by something else"},
		"no JSON":        {func(l []string) []string { l[2] = "hello\n"; return l }, "line 3: it is no line"},
		"hash rewritten": {func(l []string) []string { l[1] = rewrite(t, l[1]); return l }, "line 3: the line before it"},
		"more members":   {func(l []string) []string { l[1] = strings.Replace(l[1], `"seq"`, `"x":1,"seq"`, 1); return l }, "line 2: it is no line"},
		"a member twice": {func(l []string) []string {
			l[1] = strings.Replace(l[1], `"record"`, `"record":"shown","record"`, 1)
			return l
		}, "line 2: it is no line"},
		"another case": {func(l []string) []string {
			l[1] = strings.Replace(l[1], `"record"`, `"Record":"shown","record"`, 1)
			return l
		}, "line 2: it is no line"},
		"one other case": {func(l []string) []string { l[1] = strings.Replace(l[1], `"seq"`, `"SEQ"`, 1); return l }, "line 2: it is no line"},
		"escaped name":   {func(l []string) []string { l[1] = strings.Replace(l[1], `"seq"`, `"\u0073eq"`, 1); return l }, "line 2: it is no line"},
		"more after it":  {func(l []string) []string { l[1] = strings.Replace(l[1], "\n", " {}\n", 1); return l }, "line 2: it is no line"},
		"space":          {func(l []string) []string { l[3] = " " + l[3]; return l }, "line 4: it is no line"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "audit.jsonl")
			write(t, file, 4)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(data), "\n")
			if err := os.WriteFile(file, []byte(strings.Join(c.change(lines[:4]), "")), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Verify(file, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, which does not say %q", err, c.want)
			}
		})
	}
}

// What a process that crashed has left of a line does not keep another one,
// which runs, from writing.
func TestTornLineIsCutOffByAppend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, torn := range []string{`{"seq":2,"at`, "{"} {
		if err := l.Append("call"); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(data, torn...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Append("last"); err != nil {
		t.Fatal(err)
	}
	r, err := Verify(file, nil)
	if err != nil || r.Lines != 5 || !strings.Contains(strings.Join(r.Notes, " "), "not written whole") {
		t.Errorf("%+v, %v", r, err)
	}
}

// rewrite changes a line and makes its own hash right again.
func rewrite(t *testing.T, line string) string {
	var l Line
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		t.Fatal(err)
	}
	l.Record = json.RawMessage(`{"what":"nothing"}`)
	l.Hash = l.hash()
	out, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n"
}

// follow makes up lines that follow on another.
func follow(t *testing.T, line string, n int) (more []string) {
	var last Line
	if err := json.Unmarshal([]byte(line), &last); err != nil {
		t.Fatal(err)
	}
	for range n {
		next := Line{Seq: last.Seq + 1, Record: json.RawMessage(`{"what":"made up"}`), Prev: last.Hash}
		next.Hash = next.hash()
		out, err := json.Marshal(next)
		if err != nil {
			t.Fatal(err)
		}
		more, last = append(more, string(out)+"\n"), next
	}
	return more
}

func TestManyWriters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	var all sync.WaitGroup
	for w := range 4 {
		l, err := Open(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all.Go(func() {
			for i := range 25 {
				if err := l.Append(fmt.Sprintf("%d.%d", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if r, err := Verify(file, nil); r.Lines != 100 || err != nil {
		t.Errorf("%d lines, %v", r.Lines, err)
	}
}

// A disk that is full leaves the log as it was, and whole. (O34)
func TestDiskFull(t *testing.T) {
	if os.Getenv("AUDIT_FILL") != "" {
		l, err := Open(os.Getenv("AUDIT_FILL"), nil)
		if err != nil {
			fmt.Println("open:", err)
			os.Exit(1)
		}
		for i := range 1000 {
			if err := l.Append(strings.Repeat("x", 300)); err != nil {
				fmt.Println("refused after", i)
				os.Exit(0)
			}
		}
		os.Exit(2)
	}
	sh := needtest.Program(t, "bash")
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	// The shell limits files to 8 blocks of 1024 bytes and ignores the signal
	// that says so, as a full disk would.
	cmd := exec.Command(sh, "-c", `trap '' XFSZ; ulimit -f 8; exec "$0" -test.run '^TestDiskFull$'`, os.Args[0])
	cmd.Env = append(os.Environ(), "AUDIT_FILL="+file)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("refused after")) {
		t.Fatalf("%v\n%s", err, out)
	}
	if r, err := Verify(file, nil); err != nil || r.Lines < 5 {
		t.Errorf("after the disk was full: %d lines, %v", r.Lines, err)
	}
	write(t, file, 1)
	if _, err := Verify(file, nil); err != nil {
		t.Errorf("it cannot be gone on with: %v", err)
	}
}

// H9: a record of any size is written, read back and verified; what is too large
// is kept as its size and digest.
func TestLargeRecordsAreKeptAsDigests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 17<<20)
	for _, record := range []any{
		map[string]any{"what": "call", "tool": "echo", "arguments": map[string]string{"text": large}},
		large,
		map[string]any{large: 1},
	} {
		if err := l.Append(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, file, 1) // it can be opened and gone on with
	if r, err := Verify(file, nil); r.Lines != 4 || err != nil {
		t.Errorf("%d lines, %v", r.Lines, err)
	}
	data, err := os.ReadFile(file)
	if err != nil || len(data) > 8<<10 {
		t.Fatalf("the log has %d bytes, %v", len(data), err)
	}
	first, _, _ := strings.Cut(string(data), "\n")
	for _, want := range []string{`"tool":"echo"`, `"bytes":17825803`, `"sha256":"`} {
		if !strings.Contains(first, want) {
			t.Errorf("the first line lacks %s: %s", want, first)
		}
	}
}

// H9: a log with a long line, as older versions wrote it, is opened.
func TestLongLinesAreRead(t *testing.T) {
	for name, tail := range map[string]string{"whole": "", "torn": `{"seq":2,"record":"` + strings.Repeat("y", 18<<20)} {
		file := filepath.Join(t.TempDir(), "audit.jsonl")
		line := Line{Seq: 1, Record: json.RawMessage(`"` + strings.Repeat("x", 17<<20) + `"`)}
		line.Hash = line.hash()
		data, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(append(data, '\n'), tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(file, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l.Close()
		want := int64(2) // a line says that there was no head
		if tail != "" {
			want = 3 // and one that it was repaired
		}
		if r, err := Verify(file, nil); r.Lines != want || err != nil {
			t.Errorf("%s: %d lines, want %d, %v", name, r.Lines, want, err)
		}
	}
}

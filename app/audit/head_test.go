package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var testKey = []byte("0123456789abcdef0123456789abcdef")

// load reads the log and its head.
func load(t *testing.T, file string) (log, head []byte) {
	t.Helper()
	for name, to := range map[string]*[]byte{file: &log, HeadFile(file): &head} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		*to = data
	}
	return log, head
}

func store(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func writeSigned(t *testing.T, file string, key []byte, n int) {
	t.Helper()
	l, err := Open(file, &Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range n {
		if err := l.Append(map[string]any{"n": i}); err != nil {
			t.Fatal(err)
		}
	}
}

// H9: opening a log and going on reads its end only: what stands far before may
// be anything, and is for Verify.
func TestOpeningReadsTheEndOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, file, 200)
	data, head := load(t, file)
	garbage := slices.Clone(data)
	copy(garbage, bytes.Repeat([]byte{0}, len(data)*9/10))
	for name, withHead := range map[string]bool{"with a head": true, "without": false} {
		store(t, file, garbage)
		store(t, HeadFile(file), head)
		if !withHead {
			if err := os.Remove(HeadFile(file)); err != nil {
				t.Fatal(err)
			}
		}
		l, err := Open(file, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := l.Append("more"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if l.last.Seq < 201 {
			t.Errorf("%s: it goes on with line %d", name, l.last.Seq)
		}
		l.Close()
		if _, err := Verify(file, nil); err == nil {
			t.Errorf("%s: nothing was found by reading it whole", name)
		}
	}
}

// H28: a log that ends too early, or otherwise than its head says, is not gone on
// with.
func TestOpenRefusesAnotherEnd(t *testing.T) {
	for name, change := range map[string]func(lines [][]byte) [][]byte{
		"last line cut off": func(l [][]byte) [][]byte { return l[:3] },
		"cut to nothing":    func(l [][]byte) [][]byte { return nil },
		"last line torn":    func(l [][]byte) [][]byte { l[3] = l[3][:20]; return l },
		"last line changed": func(l [][]byte) [][]byte { l[3] = bytes.Replace(l[3], []byte(`"n":3`), []byte(`"n":7`), 1); return l },
		"last rewritten":    func(l [][]byte) [][]byte { l[3] = []byte(rewrite(t, string(l[3]))); return l },
	} {
		file := filepath.Join(t.TempDir(), "audit.jsonl")
		write(t, file, 4)
		data, _ := load(t, file)
		changed := bytes.Join(change(bytes.SplitAfter(bytes.TrimSpace(data), []byte("\n"))), nil)
		store(t, file, changed)
		if _, err := Open(file, nil); err == nil || !strings.Contains(err.Error(), "move audit.jsonl and audit.jsonl.head away") {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := load(t, file); !bytes.Equal(after, changed) {
			t.Errorf("%s: opening it changed it", name)
		}
	}
}

// A head that cannot be read, as with too many open files, is no reason to give up the
// log.
func TestOpenWithoutAReadableHead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, file, 2)
	if err := os.Remove(HeadFile(file)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(HeadFile(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, nil); err == nil || strings.Contains(err.Error(), "away") {
		t.Error(err)
	}
}

// H28: an older copy of the log, put back beside the head, is found; and it is
// not appended to by a process that has the log open.
func TestOlderCopyIsFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, file, 3)
	older, _ := load(t, file)
	l, err := Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Append("newer"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	store(t, file, older)
	if _, err := Verify(file, nil); err == nil || !strings.Contains(err.Error(), "this is an older copy") {
		t.Errorf("got %v", err)
	}
	if err := l.Append("more"); err == nil || !strings.Contains(err.Error(), "moved or replaced") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(file, nil); err == nil {
		t.Error("it was opened to be gone on with")
	}
}

// H28: that the head file was removed is found, and stays in the log for ever.
func TestMissingHead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, file, 3)
	if err := os.Remove(HeadFile(file)); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(file, nil); err == nil || !strings.Contains(err.Error(), ".head is missing") {
		t.Errorf("got %v", err)
	}
	write(t, file, 2)
	r, err := Verify(file, nil)
	if err != nil || r.Lines != 6 || !strings.Contains(strings.Join(r.Notes, "\n"), "Line 4 of ") {
		t.Errorf("%+v, %v", r, err)
	}
	store(t, HeadFile(file), []byte(`{"seq":"x"}`))
	if _, err := Verify(file, nil); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(file, nil); err == nil {
		t.Error("it was opened with a damaged head")
	}
}

// H28: a crash between the line and the head is no change of the log, and the
// next start mends it. Nor is what a crash left of a line that was never whole.
func TestCrashBetweenLineAndHead(t *testing.T) {
	for name, key := range map[string][]byte{"unsigned": nil, "signed": testKey} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "audit.jsonl")
			o := &Options{Key: key}
			writeSigned(t, file, key, 3)
			_, before := load(t, file)
			writeSigned(t, file, key, 1)
			store(t, HeadFile(file), before)
			r, err := Verify(file, o)
			if err != nil || r.Lines != 4 || !strings.Contains(strings.Join(r.Notes, " "), "stopped between") {
				t.Fatalf("%+v, %v", r, err)
			}
			writeSigned(t, file, key, 1)
			if r, err = Verify(file, o); err != nil || r.Lines != 5 || strings.Contains(strings.Join(r.Notes, " "), "stopped between") {
				t.Errorf("%+v, %v", r, err)
			}
			data, _ := load(t, file)
			store(t, file, append(data, `{"seq":6,"at"`...))
			writeSigned(t, file, key, 1)
			if r, err = Verify(file, o); err != nil || r.Lines != 7 || !strings.Contains(strings.Join(r.Notes, " "), "was cut off") {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// H28: with a key, a log that was made up or cut off with its head is found.
func TestSignature(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	o := &Options{Key: testKey}
	writeSigned(t, file, testKey, 4)
	r, err := Verify(file, o)
	if err != nil || r.Signed != 4 || r.Key == "" || len(r.Notes) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	log, good := load(t, file)
	lines := bytes.SplitAfter(log, []byte("\n"))
	var h head
	if err := json.Unmarshal(good, &h); err != nil {
		t.Fatal(err)
	}
	var third Line
	if err := json.Unmarshal(lines[2], &third); err != nil {
		t.Fatal(err)
	}
	cut := head{Seq: 3, Hash: third.Hash, End: int64(len(lines[0]) + len(lines[1]) + len(lines[2]))}
	short := bytes.Join(lines[:3], nil)
	moved := *h.Signed
	moved.Seq, moved.Hash, moved.End = 3, third.Hash, cut.End
	for name, c := range map[string]struct {
		head head
		want string
	}{
		"signature removed":       {cut, "is not signed, though the keyring has the key"},
		"signature kept":          {head{Seq: cut.Seq, Hash: cut.Hash, End: cut.End, Signed: h.Signed}, "is not the one that was signed"},
		"signature moved":         {head{Seq: cut.Seq, Hash: cut.Hash, End: cut.End, Signed: &moved}, "the signature in"},
		"signed with another":     {head{Seq: cut.Seq, Hash: cut.Hash, End: cut.End, Signed: sign(3, third.Hash, []byte("another key"))}, "and the keyring has another one"},
		"with the head as it was": {h, "the last 1 were cut off"},
	} {
		store(t, file, short)
		data, err := json.Marshal(c.head)
		if err != nil {
			t.Fatal(err)
		}
		store(t, HeadFile(file), data)
		if _, err := Verify(file, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, which does not say %q", name, err, c.want)
		}
		l, err := Open(file, o)
		if err == nil { // going on leaves a trace
			l.Close()
			if r, err := Verify(file, o); err != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "Line 4 of ") {
				t.Errorf("%s: it was signed again, and nothing says so: %+v, %v", name, r, err)
			}
		} else if name == "signature removed" || name == "signed with another" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A process that cannot reach the keyring goes on, and leaves what was signed.
func TestWritersWithAndWithoutTheKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	o := &Options{Key: testKey}
	writeSigned(t, file, testKey, 2)
	write(t, file, 3)
	r, err := Verify(file, o)
	if err != nil || r.Signed != 2 || !strings.Contains(strings.Join(r.Notes, " "), "The last 3 lines were written without the key") {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = Verify(file, nil); err != nil || !strings.Contains(strings.Join(r.Notes, " "), "signature was not checked") {
		t.Errorf("%+v, %v", r, err)
	}
	writeSigned(t, file, testKey, 1)
	if r, err = Verify(file, o); err != nil || r.Signed != 6 || len(r.Notes) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Processes that append at the same time and are killed at any moment leave a log
// that verifies.
func TestKilledWriters(t *testing.T) {
	if file := os.Getenv("AUDIT_APPEND"); file != "" {
		l, err := Open(file, &Options{Key: testKey})
		if err != nil {
			fmt.Println("open:", err)
			os.Exit(1)
		}
		for i := 0; ; i++ {
			if err := l.Append(map[string]int{"n": i}); err != nil {
				fmt.Println("append:", err)
				os.Exit(1)
			}
			fmt.Println(i)
		}
	}
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	lines := int64(0)
	for round := range 12 {
		var writers []*exec.Cmd
		for range 2 {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledWriters$")
			cmd.Env = append(os.Environ(), "AUDIT_APPEND="+file)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			writers = append(writers, cmd)
			heard := make([]byte, 8<<10)
			for seen := 0; seen <= round; { // how far it gets differs from round to round
				n, err := out.Read(heard)
				if err != nil || bytes.Contains(heard[:n], []byte(":")) {
					t.Fatalf("%v: %s", err, heard[:n])
				}
				seen += bytes.Count(heard[:n], []byte("\n"))
			}
		}
		for _, w := range writers {
			w.Process.Kill()
			w.Wait()
		}
		r, err := Verify(file, &Options{Key: testKey})
		if err != nil || r.Lines <= lines {
			t.Fatalf("round %d: %+v, %v", round, r, err)
		}
		for _, n := range r.Notes {
			if !strings.Contains(n, "stopped between") && !strings.Contains(n, "not written whole") {
				t.Errorf("round %d: %s", round, n)
			}
		}
		lines = r.Lines
	}
}

// A head that was replaced, but could not be synced, does not count a line that is
// cut off.
func TestHeadOfARefusedLineIsUndone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	l, err := Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Append("one"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(HeadFile(file))
	if err != nil {
		t.Fatal(err)
	}
	_, line, err := encodeAll([]any{"two"}, l.last)
	if err != nil {
		t.Fatal(err)
	}
	if err := (head{Seq: line.Seq, Hash: line.Hash, End: l.end + 9}).write(file, nil); err != nil {
		t.Fatal(err)
	}
	if !l.undoHead(line, before) {
		t.Error("the head still counts the line")
	}
	if err := l.Append("three"); err != nil {
		t.Error(err)
	}
	if r, err := Verify(file, nil); err != nil || r.Lines != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

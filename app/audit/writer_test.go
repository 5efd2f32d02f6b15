package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func openLog(t testing.TB) (*Log, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, file
}

// TestWriterWritesWhatManyAppend has many goroutines append, and finds all records
// in a valid log.
func TestWriterWritesWhatManyAppend(t *testing.T) {
	for _, wait := range []bool{false, true} {
		l, file := openLog(t)
		w := NewWriter(l, &WriterOptions{Every: time.Millisecond, Wait: wait})
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				for j := range 20 {
					if err := w.Append(map[string]int{"i": i, "j": j}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if data, _ := os.ReadFile(file); wait && bytes.Count(data, []byte("\n")) != 400 {
			t.Errorf("%d lines are on disk when Append has returned", bytes.Count(data, []byte("\n")))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := Verify(file, nil); err != nil || r.Lines != 400 {
			t.Errorf("%+v %v", r, err)
		}
		if w.Append(1) == nil {
			t.Error("a closed Writer takes records")
		}
	}
}

// TestWriterKeepsRecordsWhileTheLogFails reports the failure to later records, and
// writes the earlier ones when the log can be written again.
func TestWriterKeepsRecordsWhileTheLogFails(t *testing.T) {
	l, file := openLog(t)
	if err := l.Append("first"); err != nil {
		t.Fatal(err)
	}
	w := NewWriter(l, &WriterOptions{Every: time.Millisecond})
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	if err := w.Append("kept"); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for w.Append("refused later") == nil && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if err := w.Append("refused"); err == nil {
		t.Fatal("records are taken while the log cannot be written")
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	for w.Append("again") != nil && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(file)
	if text := string(data); !strings.Contains(text, `"kept"`) || !strings.Contains(text, `"again"`) || strings.Contains(text, `"refused"`) {
		t.Errorf("the log: %s", text)
	}
	if _, err := Verify(file, nil); err != nil {
		t.Error(err)
	}
}

// TestBatchesAfterACrash accepts the lines of one batch that the head does not count
// yet, and no more.
func TestBatchesAfterACrash(t *testing.T) {
	l, file := openLog(t)
	records := func(n int) (all []any) {
		for i := range n {
			all = append(all, i)
		}
		return all
	}
	if err := l.AppendAll(records(3)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(HeadFile(file))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AppendAll(records(maxBatch)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(HeadFile(file), before, 0o600); err != nil { // as if it had been killed before the head was written
		t.Fatal(err)
	}
	r, err := Verify(file, nil)
	if err != nil || r.Lines != maxBatch+3 || !strings.Contains(fmt.Sprint(r.Notes), "1000 lines are not in the head file yet") {
		t.Errorf("%+v %v", r, err)
	}
	again, err := Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if r, err := Verify(file, nil); err != nil || r.Lines != maxBatch+3 {
		t.Errorf("after the next start: %+v %v", r, err)
	}
	if err := l.Append("one more"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(HeadFile(file), before, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(file, nil); err == nil || !strings.Contains(err.Error(), "at most 1000 lines too many") {
		t.Errorf("more lines than a crash leaves: %v", err)
	}
}

// BenchmarkAppend compares a call that waits for the disk alone, one that shares the
// wait, and one that does not wait.
func BenchmarkAppend(b *testing.B) {
	record := json.RawMessage(`{"method":"tools/call","principal":"user:ada","server":"notes","kind":"tool","name":"read","effect":"allow","rule":3,"outcome":"ok","ms":1.2}`)
	for name, open := range map[string]func(l *Log) func(any) error{
		"alone":  func(l *Log) func(any) error { return l.Append },
		"shared": func(l *Log) func(any) error { return NewWriter(l, &WriterOptions{Wait: true}).Append },
		"later":  func(l *Log) func(any) error { return NewWriter(l, nil).Append },
	} {
		b.Run(name, func(b *testing.B) {
			l, _ := openLog(b)
			add := open(l)
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := add(record); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

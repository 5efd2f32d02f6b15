package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rotations are the ways in which a log is rotated: as logrotate does without
// options, with create, and with copytruncate.
var rotations = map[string]func(t *testing.T, file string){
	"rename": func(t *testing.T, file string) {
		if err := os.Rename(file, file+".1"); err != nil {
			t.Fatal(err)
		}
	},
	"create": func(t *testing.T, file string) {
		if err := os.Rename(file, file+".1"); err != nil {
			t.Fatal(err)
		}
		store(t, file, nil)
	},
	"copytruncate": func(t *testing.T, file string) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		store(t, file+".1", data)
		if err := os.Truncate(file, 0); err != nil {
			t.Fatal(err)
		}
	},
}

// TestRotation goes on in a new file after each way of rotation, also in a second
// process with the log and after a start, and proves both files.
func TestRotation(t *testing.T) {
	for how, rotate := range rotations {
		for name, o := range map[string]*Options{"unsigned": {Rotate: true}, "signed": {Rotate: true, Key: testKey}} {
			t.Run(how+" "+name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "audit.jsonl")
				var logs []*Log
				for range 2 {
					l, err := Open(file, o)
					if err != nil {
						t.Fatal(err)
					}
					defer l.Close()
					logs = append(logs, l)
				}
				add := func(l *Log, text string) {
					t.Helper()
					if err := l.Append(text); err != nil {
						t.Fatal(err)
					}
				}
				add(logs[0], "one")
				add(logs[1], "two")
				rotate(t, file)
				add(logs[0], "three")
				add(logs[1], "four")
				old, _ := os.ReadFile(file + ".1")
				data, _ := os.ReadFile(file)
				if !strings.Contains(string(old), `"two"`) || strings.Contains(string(data), `"two"`) || !strings.Contains(string(data), `"three"`) || strings.Count(string(data), `"what":"rotated"`) != 1 {
					t.Fatalf("the old file:\n%s\nthe new one:\n%s", old, data)
				}
				if r, err := Verify(file, o); err != nil || r.Lines != 3 || !strings.Contains(strings.Join(r.Notes, " "), "whose line 2 has the hash ") {
					t.Errorf("the new file: %+v, %v", r, err)
				}
				r, err := Verify(file+".1", o)
				switch {
				case how == "copytruncate" && (err == nil || !strings.Contains(err.Error(), ".head is missing")):
					t.Errorf("the copy: %+v, %v", r, err)
				case how != "copytruncate" && (err != nil || r.Lines != 3 || r.Signed != int64(len(o.Key)/len(testKey)*2)):
					t.Errorf("the old file: %+v, %v", r, err)
				}
				for _, l := range logs {
					l.Close()
				}
				os.Remove(file + ".1")
				rotate(t, file) // while nobody has it open
				l, err := Open(file, o)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				add(l, "five")
				if r, err := Verify(file, o); err != nil || r.Lines != 2 {
					t.Errorf("after a start: %+v, %v", r, err)
				}
			})
		}
	}
}

// TestReopenEndsTheOldFile writes the last line of a renamed file without an
// append, so that the file can be compressed.
func TestReopenEndsTheOldFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(file, &Options{Rotate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Append("one"); err != nil {
		t.Fatal(err)
	}
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	rotations["rename"](t, file)
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	if r, err := Verify(file+".1", nil); err != nil || r.Lines != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, name := range []string{file + ".1", file} { // lines cut off a rotated file are still found
		data, _ := os.ReadFile(name)
		store(t, name, data[:strings.LastIndex(strings.TrimSpace(string(data)), "\n")+1])
		if _, err := Verify(name, nil); err == nil {
			t.Errorf("%s without its last line is valid", name)
		}
	}
}

// TestCrashDuringRotation goes on with a file that was begun before its head was
// written.
func TestCrashDuringRotation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	o := &Options{Rotate: true}
	write(t, file, 3)
	head, err := os.ReadFile(HeadFile(file))
	if err != nil {
		t.Fatal(err)
	}
	rotations["rename"](t, file)
	for range 2 {
		l, err := Open(file, o)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		store(t, HeadFile(file), head)
	}
	if l, err := Open(file, o); err != nil {
		t.Error(err)
	} else {
		l.Close()
	}
	if r, err := Verify(file, o); err != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRotationIsNotAnExcuse refuses a log whose lines were cut off or replaced, also
// if it may be rotated.
func TestRotationIsNotAnExcuse(t *testing.T) {
	for name, change := range map[string]func(data []byte) []byte{
		"cut off": func(data []byte) []byte { return data[:strings.Index(string(data), "\n")+1] },
		"replaced": func(data []byte) []byte {
			return []byte(rewrite(t, string(data[:strings.Index(string(data), "\n")+1])))
		},
	} {
		file := filepath.Join(t.TempDir(), "audit.jsonl")
		write(t, file, 3)
		l, err := Open(file, &Options{Rotate: true})
		if err != nil {
			t.Fatal(err)
		}
		data, _ := os.ReadFile(file)
		store(t, file, change(data))
		for range 2 {
			if err := l.Append("more"); err == nil {
				t.Errorf("%s: it is appended to", name)
			}
		}
		l.Close()
		if _, err := Open(file, &Options{Rotate: true}); err == nil {
			t.Errorf("%s: it is opened", name)
		}
	}
}

// TestWaitingWriterRecovers finds out by itself that the log can be written again,
// so that readiness does not depend on calls.
func TestWaitingWriterRecovers(t *testing.T) {
	l, file := openLog(t)
	w := NewWriter(l, &WriterOptions{Wait: true})
	defer w.Close()
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	if err := w.Append("lost"); err == nil || w.Err() == nil {
		t.Fatalf("%v, %v", err, w.Err())
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); w.Err() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(w.Err())
		}
	}
	if err := w.Append("later"); err != nil {
		t.Error(err)
	}
	if r, err := Verify(file, nil); err != nil || !strings.Contains(strings.Join(r.Notes, " "), "could not be written") {
		t.Errorf("%+v, %v", r, err)
	}
}

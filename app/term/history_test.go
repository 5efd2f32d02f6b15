package term

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "history")
	var h history
	if err := h.load(file, nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"one", "two\nlines", "two\nlines", ""} {
		if err := h.add(s); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("not JSON\n\"three\"\n")
	f.Close()
	var again history
	if err := again.load(file, nil); err != nil {
		t.Fatal(err)
	}
	var back []string
	for s, ok := again.back("draft"); ok; s, ok = again.back(s) {
		back = append(back, s)
	}
	if len(back) != 3 || back[0] != "three" || back[1] != "two\nlines" || back[2] != "one" {
		t.Errorf("%q", back)
	}
	for range 2 {
		again.forth()
	}
	if s, ok := again.forth(); !ok || s != "draft" {
		t.Errorf("the draft came back as %q", s)
	}
}

// What is typed with a secret in it can be recalled, and is not saved.
func TestHistorySavesNoSecrets(t *testing.T) {
	d := drive(t, nil, nil, nil)
	d.w.Secrets().Add("calc", "known-value-1")
	for _, text := range []string{"/call calc/add password=hunter2", "say known-value-1 aloud", "/tools"} {
		if err := d.s.history.add(text); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(d.s.history.File)
	if err != nil || string(data) != "\"/tools\"\n" {
		t.Errorf("the history has %q, %v", data, err)
	}
	if len(d.s.history.Lines) != 3 {
		t.Errorf("%q can be recalled", d.s.history.Lines)
	}
}

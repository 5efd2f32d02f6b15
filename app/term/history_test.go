package term

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "history")
	var h history
	if err := h.load(file); err != nil {
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
	if err := again.load(file); err != nil {
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

func TestHistoryIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	h := history{file: file}
	for i := range 2*mostHistory + 10 {
		if err := h.add(string(rune('a'+i%26)) + "x"); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.all) > 2*mostHistory {
		t.Errorf("%d are kept", len(h.all))
	}
	var again history
	if err := again.load(file); err != nil || len(again.all) > mostHistory || len(again.all) == 0 {
		t.Errorf("%d are read, %v", len(again.all), err)
	}
}

package audit

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// A log that was changed at any place does not verify, and verifying ends with any
// bytes.
func FuzzVerify(f *testing.F) {
	dir := f.TempDir()
	file := filepath.Join(dir, "log")
	l, err := Open(file, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range []string{`{"tool":"a"}`, `{"tool":"b","n":1}`, `{"tool":"c"}`} {
		if err := l.Append(json.RawMessage(r)); err != nil {
			f.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, 3, byte(1))
	f.Add([]byte("{\"seq\":1}\n"), 0, byte(0))
	f.Add([]byte("\n"), 9, byte(255))
	f.Fuzz(func(t *testing.T, log []byte, at int, mask byte) {
		v := &verifier{at: map[int64]string{}}
		_ = v.lines(bytes.NewReader(log)) // must end
		if mask == 0 {
			return
		}
		changed := bytes.Clone(good)
		changed[uint(at)%uint(len(changed))] ^= mask
		v = &verifier{at: map[int64]string{}}
		if err := v.lines(bytes.NewReader(changed)); err == nil && v.Lines == 3 {
			t.Fatalf("a log with byte %d changed verifies:\n%s", uint(at)%uint(len(changed)), changed)
		}
	})
}

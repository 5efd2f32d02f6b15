package rawjson

import "testing"

func TestAt(t *testing.T) {
	raw := []byte(`{"a/b":[{"~":1},2],"":3}`)
	for pointer, want := range map[string]string{"": string(raw), "/a~1b/0/~0": "1", "/a~1b/1": "2", "/": "3", "/x": "", "/a~1b/9": "", "/a~1b/-1": "", "/a~1b/1/x": ""} {
		got, ok := At(raw, pointer)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%q leads to %q, %v; want %q", pointer, got, ok, want)
		}
	}
}

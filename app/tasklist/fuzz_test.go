package tasklist

import (
	"reflect"
	"testing"
)

// A list that is read is written so that it is read as the same list.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"tasks":[{"server":"s","taskId":"1","tool":"t","started":"2026-01-02T03:04:05Z","status":"working","checked":"2026-01-02T03:04:05Z","call":{"name":"t"}}]}`))
	f.Add([]byte(`{"tasks":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := decode(data)
		if err != nil {
			return
		}
		text, err := encode(all)
		if err != nil {
			return // a call that is not JSON
		}
		again, err := decode(text)
		if err != nil {
			t.Fatalf("%s is written as %s, which cannot be read: %v", data, text, err)
		}
		if len(all) != len(again) {
			t.Fatalf("%d tasks became %d", len(all), len(again))
		}
		for i := range all {
			a, b := all[i], again[i]
			if !a.Started.Equal(b.Started) || !a.Checked.Equal(b.Checked) || !a.Expires.Equal(b.Expires) {
				t.Fatalf("times changed: %+v, %+v", a, b)
			}
			a.Started, a.Checked, a.Expires, a.Call = b.Started, b.Checked, b.Expires, b.Call
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("%+v became %+v", a, b)
			}
		}
	})
}

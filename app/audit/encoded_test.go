package audit

import (
	"encoding/json"
	"testing"
)

// A record that is taken as it is must be what encoding/json would have written,
// since the hashes are of that form.
func FuzzIsEncoded(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a": 1}`, `{"a":"<b>"}`, "{\"a\":\"\u2028\"}", `{"a":"\""}`, `{"a":"x y"}`, `{"a":"\u003c"}`, `{`, ``, `{"a":"é"}`, "{\"a\":\"\xff\"}", `{"a":1}{}`, `["\\",1]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !isEncoded(raw) {
			return
		}
		want, err := json.Marshal(json.RawMessage(raw))
		if err != nil || string(want) != string(raw) {
			t.Errorf("%q is taken as it is; encoding/json writes %q, %v", raw, want, err)
		}
	})
}

func TestPlainRecordsAreTakenAsTheyAre(t *testing.T) {
	for _, s := range []string{`{"a":1}`, `{"a":"x y \" \\ \n","b":[true,null]}`, `{"a":"é"}`} {
		if !isEncoded([]byte(s)) {
			t.Errorf("%s is encoded again", s)
		}
	}
}

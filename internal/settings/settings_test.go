package settings

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

// Every mistake of a query is reported, in the same order each time.
func TestRead(t *testing.T) {
	q, err := url.ParseQuery("root=a&root=b&poll=2s&poll=3s&nope=1&bad=x")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	err = Read(q, "fs", []string{"root", "poll", "bad"}, []string{"root"}, func(key string, values []string) error {
		got[key] = values
		if key == "bad" {
			return errors.New("bad must be 1 or 0")
		}
		return nil
	})
	if want := "bad must be 1 or 0\npoll is set 2 times\nunknown setting \"nope\"; fs has root, poll, bad"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if strings.Join(got["root"], " ") != "a b" || got["poll"] != nil {
		t.Errorf("%v", got)
	}
}

package redact

import "testing"

func TestURI(t *testing.T) {
	for uri, want := range map[string]string{
		"https://ada:hunter2@x.example:1/a/b?token=1#f": "https://x.example:1/a/b",
		"notes+https://ada@hunter2@x.example/a?sig=1":   "notes+https://x.example/a",
		"file:///home/ada/a@b.txt":                      "file:///home/ada/a@b.txt",
		"data:text/plain,secret":                        "data:",
		"notes+data:text/plain,secret":                  "notes+data:",
		"urn:isbn:1":                                    "urn:isbn:1",
		"no uri#x":                                      "no uri",
		"":                                              "",
	} {
		if got := URI(uri); got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}

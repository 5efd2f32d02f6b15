package protect

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// The operator is told of each refused request, without its token; one that has
// no token, which is how a login begins, is worth a debug record.
func TestRefusalsAreLogged(t *testing.T) {
	var said bytes.Buffer
	is := newIssuer(t)
	_, h := guarded(t, is, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	good := is.token(nil)
	expired := is.token(map[string]any{"exp": 1})
	for _, c := range []struct {
		header string // of the request
		want   string // in the record; empty means none
	}{
		{"", "level=DEBUG"},
		{"Bearer " + good, ""},
		{"Bearer " + expired, "level=WARN"},
	} {
		said.Reset()
		r := post(`{}`)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		do(h, r)
		text := said.String()
		if (text == "") != (c.want == "") || !strings.Contains(text, c.want) || strings.Contains(text, expired) {
			t.Errorf("%.20s: the operator is told %q", c.header, text)
		}
	}
}

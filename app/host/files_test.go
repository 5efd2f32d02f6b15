package host

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

const pixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

func TestFilesAreAttached(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.md", "one\ntwo\nthree\n", "b c.txt", "spaces", "src/x.go", "package x", "p.gif", pixel,
		"big", strings.Repeat("x", maxFile+1), "key", "the secret is hunter2-hunter2", "noise", "\x00\xff\xfe")
	turns := make([]turnFunc, 40)
	for i := range turns {
		turns[i] = says("ok")
	}
	b := newBench(t, func(o *Options) { o.Folder = dir }, turns...)
	b.model.info.Accepts.Images = true
	b.attach("lib", server.New(mcp.Implementation{Name: "lib", Version: "1"}, nil), "hunter2-hunter2")
	for _, c := range []struct{ text, want, err string }{
		{"see @a.md.", "three\n\n</file", ""},
		{"see @a.md#L2-3, please", "\ntwo\nthree\n", ""},
		{"see @a.md#L2", "\ntwo\n", ""},
		{"see @a.md#L9", "", "attach @a.md: it has no line 9"},
		{`(@"b c.txt")`, "spaces", ""},
		{"@" + filepath.Join(dir, "src", "x.go"), "package x", ""},
		{"list @src", "x.go\n", ""},
		{"list @src/", "x.go\n", ""},
		{"@key", "[redacted", ""},
		{"@big", "", "attach @big: it is larger than 5 MiB"},
		{"@noise", "application/octet-stream, 3 bytes", ""},
		{"ask @ada about me@a.md and @none.md", "", ""},
	} {
		s := b.host.NewSession()
		err := s.Send(t.Context(), c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var attached strings.Builder
		for _, p := range b.model.asked[len(b.model.asked)-1].Messages[0].Parts[1:] {
			attached.WriteString(p.Text)
		}
		if !strings.Contains(attached.String(), c.want) || c.want == "" && attached.Len() > 0 {
			t.Errorf("%s: attached %q", c.text, attached.String())
		}
		if strings.Contains(attached.String(), "hunter2") {
			t.Errorf("%s: a secret reaches the model", c.text)
		}
	}
	send(t, b.host.NewSession(), "see @p.gif")
	parts := b.model.asked[len(b.model.asked)-1].Messages[0].Parts
	if p := parts[len(parts)-1]; p.Kind != llm.PartImage || string(p.Data) != pixel {
		t.Errorf("the image is %+v", p)
	}
	notices := 0
	for _, e := range b.all(EventNotice) {
		if e.Text == "There is no file none.md, so nothing is attached." {
			notices++
		}
	}
	if notices != 1 {
		t.Errorf("%d notices of a missing file", notices)
	}
	s := b.host.NewSession()
	if err := s.SendWith(t.Context(), "look", "data with @a.md"); err != nil {
		t.Fatal(err)
	}
	if parts := b.model.asked[len(b.model.asked)-1].Messages[0].Parts; len(parts) != 1 {
		t.Errorf("data attaches %+v", parts)
	}
}

package web

import (
	"path"
	"strings"
	"testing"
)

// Slim removes only what a browser does not need, and no line.
func TestSlim(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a.js", "// why\n  f(); // again", "\nf();"},
		{"a.js", "f('a // b', \"c // d\", `e // ${g} // h`); // i", "f('a // b', \"c // d\", `e // ${g} // h`);"},
		{"a.js", `f('it\'s // here'); // it's gone`, `f('it\'s // here');`},
		{"a.js", `if (/^https?:\/\/ /.test(x)) y('http://z');`, `if (/^https?:\/\/ /.test(x)) y('http://z');`},
		{"a.css", "/* why */\n.a .b:hover, .c > .d { color: red; width: calc(1px + 2px); }", "\n.a .b:hover,.c>.d{color:red;width:calc(1px + 2px)}"},
		{"a.css", `.a :focus, .b { content: "a ; b"; } .c { margin: 0 1px; } /* end */`, `.a :focus,.b{content:"a ; b"}.c{margin:0 1px}`},
		{"a.css", "@media (max-width: 9px) {\n  .a { top: 0 }\n}", "@media (max-width:9px){\n.a{top:0}\n}"},
		{"a.svg", " <a> ", " <a> "},
	} {
		if got := string(slim(c.name, []byte(c.in))); got != c.want {
			t.Errorf("%s: %q became %q, want %q", c.name, c.in, got, c.want)
		}
	}
	each(t, func(name string, data []byte) {
		small := slim(name, data)
		if ext := path.Ext(name); ext != ".js" && ext != ".css" {
			return
		}
		if a, b := strings.Count(string(data), "\n"), strings.Count(string(small), "\n"); a != b {
			t.Errorf("%s has %d lines and is served with %d", name, a, b)
		}
		if path.Ext(name) == ".css" && strings.Contains(string(small), "/*") {
			t.Errorf("%s has a comment over several lines", name)
		}
	})
}

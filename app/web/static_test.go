package web

import (
	"path"
	"regexp"
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

// The modules of a script become one, in the order in which a browser runs them,
// and what the bundle cannot hold is reported with its line.
func TestBundle(t *testing.T) {
	files := map[string][]byte{
		"main.js": []byte("import { two as deux, one } from './b.js';\nimport * as c from './c.js';\nstart(deux, one, c.list);\n"),
		"b.js":    []byte("import { list } from './c.js';\nexport const one = list[0];\nexport async function two() {}\n"),
		"c.js":    []byte("export const list = [1];\n"),
	}
	got, err := bundle(files, "main")
	want := "const $c=(()=>{const list = [1];\nreturn {list};})();\n" +
		"const $b=(()=>{const {list}=$c;\nconst one = list[0];\nasync function two() {}\nreturn {one,two};})();\n" +
		"const $main=(()=>{const {two:deux, one}=$b;\nconst c=$c;\nstart(deux, one, c.list);\nreturn {};})();\n" +
		"export {$c as c,$b as b,$main as main};\n"
	if err != nil || string(got) != want {
		t.Errorf("bundled (%v):\n%s\nwant:\n%s", err, got, want)
	}
	for in, problem := range map[string]string{
		"import x from './c.js';":           "main.js:1: unsupported import",
		"import { x } from './nothing.js';": "nothing.js does not exist",
		"import { x } from './main.js';":    "main.js imports itself",
		"\nexport default 1;":               "main.js:2: unsupported export",
		"const x = await import('./c.js');": "main.js:1: unsupported import",
		"import {\n  list } from './c.js';": "main.js:1: unsupported import",
		"export let later = 1;":             "main.js:1: unsupported export",
	} {
		files["main.js"] = []byte(in)
		if _, err := bundle(files, "main"); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v, want %q", in, err, problem)
		}
	}
}

// What the first paint needs is in the document, allowed by its digest; its script
// has a name that changes with it and may be kept. The heading is the one that the
// script draws.
func TestDocument(t *testing.T) {
	s := newSite(t, nil)
	r := s.do(request{path: "/", noCookie: true})
	policy := r.header.Get("Content-Security-Policy")
	for tag, directive := range map[string]string{"style": "style-src ", "script": "script-src 'self' "} {
		_, rest, ok := strings.Cut(r.body, "<"+tag+">")
		text, _, _ := strings.Cut(rest, "</"+tag+">")
		if !ok || !strings.Contains(policy, directive+sourceHash([]byte(text))) {
			t.Errorf("the %s of the document is not allowed by %s", tag, policy)
		}
	}
	if strings.Contains(r.body, "stylesheet") || strings.Contains(r.body, ".css") || r.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("the document asks for a style, or is kept: %v", r.header)
	}
	heading := regexp.MustCompile(`<h1>(.*)</h1><p class="soft">(.*)</p>`).FindStringSubmatch(r.body)
	if heading == nil || !strings.Contains(string(sources()["learn.js"]), heading[1]) || !strings.Contains(string(sources()["learn.js"]), heading[2]) {
		t.Errorf("the heading of the document is not the one of learn.js: %q", heading)
	}
	if !strings.Contains(r.body, `href="`+hostDocument().script+`"`) {
		t.Error("the document does not name its script")
	}
	script := s.do(request{path: "/" + hostDocument().script, noCookie: true})
	if script.status != 200 || script.header.Get("Cache-Control") != "max-age=31536000, immutable" || script.body != string(hostDocument().code) {
		t.Errorf("the script is served with %d %v", script.status, script.header)
	}
	if r := s.do(request{path: "/", noCookie: true, header: map[string]string{"If-None-Match": r.header.Get("ETag")}}); r.status != 304 {
		t.Errorf("a known document is served again: %d", r.status)
	}
	if d := serverDocument(); !strings.Contains(string(d.html), `<html lang="en" class="elsewhere">`) || d.policy != hostDocument().policy {
		t.Error("a page on one server begins with the heading of Learn")
	}
	if d := gatewayDocument(); !strings.Contains(string(d.html), d.script) {
		t.Error("the document of the gateway does not name its script")
	}
}

// A module imports nothing that it does not use, and nothing that does not exist.
func TestImportsAreUsed(t *testing.T) {
	each(t, func(name string, data []byte) {
		if path.Ext(name) != ".js" {
			return
		}
		for line := range strings.Lines(string(data)) {
			m := moduleImport.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			rest := strings.Replace(string(data), line, "", 1)
			for _, one := range strings.Split(m[1]+m[2], ", ") {
				from, as, renamed := strings.Cut(one, " as ")
				if !renamed {
					as = from
				}
				if !regexp.MustCompile(`(^|[^\w.]|\.\.\.)` + as + `\b`).MatchString(rest) {
					t.Errorf("%s does not use %s", name, as)
				}
				if m[1] != "" && !regexp.MustCompile(`(?m)^export (async )?(function\*?|class|const) `+from+`\b`).Match(sources()[m[3]+".js"]) {
					t.Errorf("%s imports %s, which %s.js does not export", name, from, m[3])
				}
			}
		}
	})
}

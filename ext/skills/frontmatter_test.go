package skills_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/ext/skills"
)

// YAML becomes the JSON that any reader of YAML 1.2 gets.
func TestFrontmatter(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"name: a\ndescription: b", `{"description":"b","name":"a"}`},
		{"a: yes\nb: no\nc: on\nd: true\ne: False\nf: y", `{"a":"yes","b":"no","c":"on","d":true,"e":false,"f":"y"}`},
		{"a: ~\nb: null\nc:\nd: 'null'\ne: \"~\"", `{"a":null,"b":null,"c":null,"d":"null","e":"~"}`},
		{"a: 2026-11-01\nb: 2026-11-01T10:00:00Z\nc: 12:30\nd: '2026-11-01'", `{"a":"2026-11-01","b":"2026-11-01T10:00:00Z","c":"12:30","d":"2026-11-01"}`},
		{"a: 1\nb: -7\nc: +5\nd: 010\ne: 0o10\nf: 0x1F\ng: 1_000\nh: 0b11", `{"a":1,"b":-7,"c":5,"d":10,"e":8,"f":31,"g":"1_000","h":"0b11"}`},
		{"a: 1.10\nb: 1e3\nc: .5\nd: 2.\ne: 1.2.3\nf: -0.0\ng: '1.10'", `{"a":1.1,"b":1000,"c":0.5,"d":2,"e":"1.2.3","f":-0,"g":"1.10"}`},
		{"a: 12345678901234567890123", `{"a":12345678901234567890123}`},
		{"a: {b: 1, c: [x, 'y', \"z\"]}\nd: [1, {e: 2}]", `{"a":{"b":1,"c":["x","y","z"]},"d":[1,{"e":2}]}`},
		{"a:\n  - x\n  - y: 1\n    z: 2\nb:\n- 1", `{"a":["x",{"y":1,"z":2}],"b":[1]}`},
		{"a: |\n  one\n  two\nb: >-\n  one\n  two\n", `{"a":"one\ntwo\n","b":"one two"}`},
		{"a: one\n  two\nb: 'it''s'\nc: \"tab\\tend\"", `{"a":"one two","b":"it's","c":"tab\tend"}`},
		{"a: x # remark\n# remark\nb: 'x # y'", `{"a":"x","b":"x # y"}`},
		{"a: &v {x: 1}\nb: *v\nc: [*v, *v]", `{"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":1}]}`},
		{"a: !!str 123", `{"a":"123"}`},
		{"1: x\ntrue: y", `{"1":"x","true":"y"}`},
		{"a: ünïcode 日本\nb: http://x:80/y", `{"a":"ünïcode 日本","b":"http://x:80/y"}`},
		{"a: \"[not a list\"\nb: 'x: y'", `{"a":"[not a list","b":"x: y"}`},
	} {
		for _, end := range []string{"\n", "\r\n"} {
			text := strings.ReplaceAll("---\n"+strings.TrimSuffix(c.yaml, "\n")+"\n---\n# Text\n---\n", "\n", end)
			got, err := skills.Frontmatter([]byte(text))
			if err != nil || string(got) != c.want {
				t.Errorf("%q:\n  %s, %v\n  want %s", text, got, err, c.want)
			}
		}
	}
	if got, err := skills.Frontmatter([]byte("\ufeff---\nname: a\n---")); err != nil || string(got) != `{"name":"a"}` {
		t.Errorf("with a byte order mark: %s, %v", got, err)
	}
}

// What has no one meaning in JSON, or is meant to exhaust the reader, is an
// error, and soon.
func TestFrontmatterRefuses(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := byte('b'); c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "*" + string(c-1) + "]\n"
	}
	block := ""
	for i := range 120 {
		block += strings.Repeat(" ", i) + "a:\n"
	}
	for name, yaml := range map[string]string{
		"infinity":         "a: .inf",
		"not a number":     "a: .NaN",
		"too large":        "a: 1e999",
		"too large an int": "a: 1" + strings.Repeat("0", 400),
		"tag":              "a: !!binary aGk=",
		"own tag":          "a: !thing x",
		"timestamp tag":    "a: !!timestamp 2026-11-01",
		"merge":            "a: &a {x: 1}\nb:\n  <<: *a",
		"unknown alias":    "a: *b",
		"alias of itself":  "a: &a [*a]",
		"twice":            "a: 1\na: 2",
		"twice, nested":    "a: {b: 1, b: 2}",
		"two documents":    "a: 1\n--- x\nb: 2",
		"complex key":      "? [a, b]\n: c",
		"text":             "just text",
		"empty":            "",
		"bomb":             bomb,
		"deep flow":        "a: " + strings.Repeat("[", 14000),
		"deep and closed":  "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"deep mappings":    "a: " + strings.Repeat("{a: ", 5000),
		"deep blocks":      block,
		"long":             "a: " + strings.Repeat("x", 16<<10),
		"anchor as a key":  "&a a: 1\n*a : 2",
		"control":          "a: \"\\x\"",
	} {
		if got, err := skills.Frontmatter([]byte("---\n" + yaml + "\n---\n")); err == nil {
			t.Errorf("%s: %.100s", name, got)
		}
	}
}

func FuzzFrontmatter(f *testing.F) {
	f.Add("name: a\ndescription: b")
	f.Add("a: &a [1, {b: *a}]\nc: |\n x\nd: !!str 1\n? x")
	f.Fuzz(func(t *testing.T, yaml string) {
		skills.Frontmatter([]byte("---\n" + yaml + "\n---\n")) // it does not panic or hang
	})
}

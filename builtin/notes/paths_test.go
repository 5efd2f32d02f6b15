package notes

import (
	"net/url"
	"strings"
	"testing"
)

// F02, F04 and F10 of the hostile cases, for notes.
func TestCleanPath(t *testing.T) {
	good := [][2]string{
		{"a", "a.md"},
		{"a.md", "a.md"},
		{"a.MD", "a.MD"},
		{"a/b c.md", "a/b c.md"},
		{"a//b/./c", "a/b/c.md"},
		{"v1.2", "v1.2.md"},
		{"image.png", "image.png.md"},
		{"über/東京.md", "über/東京.md"},
		{"%2e%2e/x", "%2e%2e/x.md"}, // a name like any other: it was decoded once already
	}
	for _, row := range good {
		if got, err := cleanPath(row[0]); err != nil || got != row[1] {
			t.Errorf("%q: %q, %v; want %q", row[0], got, err, row[1])
		}
	}
	bad := []string{
		"", ".", "./", "/", "..", "../x", "a/../x", "a/./../..//etc/passwd", "/etc/passwd", "~/x", "~root/x", `a\b`, `..\x`, `C:\x`, `\\?\C:\x`, `\\host\share`,
		".obsidian/app", "a/.git/hooks/pre-commit", ".mcp", ".trash/x.md", "a/.hidden.md", "x\x00", "x\n", "\x7f", "\xff", "a/", strings.Repeat("a/", 600) + "x",
	}
	for _, said := range bad {
		if got, err := cleanPath(said); err == nil {
			t.Errorf("%q became %q", said, got)
		} else if strings.Contains(err.Error(), "\x00") || len(err.Error()) > 1000 {
			t.Errorf("%q: %q", said, err)
		}
	}
	for _, name := range []string{"CON.md", "a/nul", "com1.txt.md", "x:stream.md", "x. /a.md", "x./a.md", "a?.md", `a".md`, "LPT9.md", "con .md", strings.Repeat("x", 250)} {
		if checkNew(name) == nil {
			t.Errorf("%q may be created", name)
		}
	}
	for _, name := range []string{"console.md", "common.md", "com.md", "a.b.md", "Q&A (2026)!.md"} {
		if err := checkNew(name); err != nil {
			t.Error(err)
		}
	}
}

func TestURIs(t *testing.T) {
	for name, want := range map[string]string{
		"a.md":                     "a.md",
		"a b/c+d.md":               "a%20b/c+d.md",
		"100% #1?.md":              "100%25%20%231%3F.md",
		"Q&A (x) [y], 'z'!.md":     "Q&A%20(x)%20[y],%20'z'!.md",
		"ü.md":                     "%C3%BC.md",
		"%41.md":                   "%2541.md",
		"people/auth0%7C1/n.md":    "people/auth0%257C1/n.md",
		"a/b/" + "深い" + ".md":      "a/b/%E6%B7%B1%E3%81%84.md",
		"semi;colon=at@dollar$.md": "semi;colon=at@dollar$.md",
	} {
		uri := uriOf(name)
		expect(t, name, uri, uriPrefix+want)
		if back, ok := pathOf(uri); !ok || back != name {
			t.Errorf("%s came back as %q, %v", uri, back, ok)
		}
		if _, err := url.Parse(uri); err != nil {
			t.Error(err)
		}
	}
	for _, uri := range []string{
		"file:///etc/passwd", uriPrefix, uriPrefix + "../x", uriPrefix + "%2e%2e/x", uriPrefix + "a%2F..%2F..%2Fx", uriPrefix + "x%00", uriPrefix + "%zz", uriPrefix + "%2Fetc%2Fpasswd", uriPrefix + ".git/config", uriPrefix + "%ff",
	} {
		if name, ok := pathOf(uri); ok {
			t.Errorf("%s is %q", uri, name)
		}
	}
	if name, ok := pathOf(uriPrefix + "%252e%252e/x.md"); !ok || name != "%2e%2e/x.md" { // decoded once
		t.Errorf("%q, %v", name, ok)
	}
}

// No two people have the same home, not even where capitals do not count.
func TestFolderName(t *testing.T) {
	ids := []string{"bob", "Bob", "b%6Fb", "%62ob", "auth0|1", "auth0%7C1", "auth0%7c1", "../x", "..", ".", "a.", "a", ".a", "a/b", "con", "nul.x", "é", "e\u0301", strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 66), "a b", "a@b.example", "%sha256-", " "}
	seen := map[string]string{}
	for _, id := range ids {
		name := folderName(id)
		if other, ok := seen[strings.ToLower(name)]; ok {
			t.Errorf("%q and %q are both %q", id, other, name)
		}
		seen[strings.ToLower(name)] = id
		if clean, err := cleanFolder("people/" + name); err != nil || clean != "people/"+name || checkNew("people/"+name) != nil {
			t.Errorf("%q is %q, which is not a folder: %v", id, name, err)
		}
	}
	expect(t, "a plain id", folderName("a@b.example"), "a@b.example")
}

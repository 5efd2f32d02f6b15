package permit

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

var places = Places{Folder: "/work/site/docs", Repo: "/work/site", Home: "/home/ada"}

func TestPropose(t *testing.T) {
	for args, want := range map[string]string{
		`{"path":"/work/site/docs/api/a.md"}`:                            "with exactly these arguments|in /work/site/docs/api|in this folder, /work/site/docs|in this repository, /work/site",
		`{"path":"/work/site/docs/a.md","content":"x"}`:                  "with exactly these arguments|in /work/site/docs|in this repository, /work/site",
		`{"path":"/etc/nginx/x.conf"}`:                                   "with exactly these arguments|in /etc/nginx",
		`{"source":"/work/site/docs/a","destination":"/work/site/b"}`:    "with exactly these arguments|in /work/site",
		`{"source":"/work/site/docs/a","destination":"/srv/b"}`:          "with exactly these arguments",
		`{"path":"/tmp/a"}`:                                              "with exactly these arguments",
		`{"path":"/home/ada/a"}`:                                         "with exactly these arguments",
		`{"path":"/home/x"}`:                                             "with exactly these arguments",
		`{"path":"/a"}`:                                                  "with exactly these arguments",
		`{"path":"src/a.go"}`:                                            "with exactly these arguments|in src",
		`{"path":"a.go"}`:                                                "with exactly these arguments",
		`{"path":"../a/b"}`:                                              "",
		`{"path":"~/a/b"}`:                                               "with exactly these arguments",
		`{"path":"/work/site/./a"}`:                                      "with exactly these arguments",
		`{"path":"/work/site/*"}`:                                        "in /work/site",
		`{"path":"C:\\x\\y"}`:                                            "with exactly these arguments",
		`{"url":"https://api.example.com:8443/v1?x=1","n":1}`:            "on https://api.example.com:8443/",
		`{"url":"https://ada@example.com/v1"}`:                           "with exactly these arguments",
		`{"owner":"acme","repo":"site","title":"Hi there"}`:              "with exactly these arguments|with owner = acme, repo = site",
		`{"command":"git status","timeout":5}`:                           "with exactly these arguments|with command = git status",
		`{"paths":["/work/site/a","/work/site/b"]}`:                      "with exactly these arguments",
		`{"path":"/work/site/a","edits":[{"oldText":"a","newText":""}]}`: "with exactly these arguments|in /work/site",
		`{"path":"/work/site/a","to":"ada","x":1}`:                       "with exactly these arguments|in /work/site with to = ada",
		`{"a":2,"b":3}`:                                                  "with exactly these arguments",
		`{}`:                                                             "", `[]`: "", `{`: "",
	} {
		var got []string
		for _, p := range Propose(json.RawMessage(args), places) {
			got = append(got, p.Label)
			if !p.Match(json.RawMessage(args)) {
				t.Errorf("%s: %q does not match its own call", args, p.Label)
			}
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s:\n got %s\nwant %s", args, s, want)
		}
	}
}

func TestProposalMatchesOnlyItsLabel(t *testing.T) {
	call := json.RawMessage(`{"source":"/work/site/docs/a","destination":"/work/site/docs/b","force":true,"note":"x"}`)
	for _, p := range Propose(call, places) {
		if p.ID != "dir" {
			continue
		}
		for args, want := range map[string]bool{
			`{"source":"/work/site/docs/x","destination":"/work/site/docs/y/z"}`:                                 true,
			`{"source":"/work/site/docs/x","destination":"/work/site/docs/y","note":"any text, also a / slash"}`: true,
			`{"source":"/work/site/docs/x"}`:                                                                             false,
			`{"source":"/work/site/docs2/x","destination":"/work/site/docs/y"}`:                                          false,
			`{"source":"/work/site/docs","destination":"/work/site/docs/y"}`:                                             false,
			`{"source":"/work/site/docs/../x","destination":"/work/site/docs/y"}`:                                        false,
			`{"source":"/work/site/docs/x","destination":"/etc/passwd"}`:                                                 false,
			`{"source":"/work/site/docs/x","destination":"/work/site/docs/y","note":"/etc/passwd"}`:                      false,
			`{"source":"/work/site/docs/x","destination":"/work/site/docs/y","output":"/etc/passwd"}`:                    false,
			`{"source":"/work/site/docs/x","destination":"/work/site/docs/y","Source":"/etc/passwd"}`:                    false,
			`{"source":["/work/site/docs/x","/etc"],"destination":"/work/site/docs/y"}`:                                  false,
			`{"source":"/work/site/docs/x","destination":"/work/site/docs/y","note":{"path":"a"}}`:                       false,
			`{"source":"/work/site/docs/x","destination":"/work/site/docs/%2e%2e/y"}`:                                    false,
			`{"source":"/work/site/docs/x","destination":"/work/site/docs/y","note":"https://evil.example/collect?x=y"}`: false,
		} {
			if p.Match(json.RawMessage(args)) != want {
				t.Errorf("%q matches %s: %v", p.Label, args, !want)
			}
		}
		return
	}
	t.Fatal("no folder is proposed")
}

// FuzzPropose checks that a proposal matches its own call, and no call that its
// label does not cover.
func FuzzPropose(f *testing.F) {
	for _, s := range []string{`{"path":"/work/site/docs/a"}`, `{"path":"src/a","x":[{"y":"z"}]}`, `{"url":"https://a.example/b"}`, `{"owner":"a","repo":"b","n":1}`,
		`{"path":"/work/site/docs/../../etc"}`, `{"path":"/work/site/docs/a","Path":"/etc"}`, `{"source":"/work/site/a","destination":"/etc"}`, `{"path":"/work/site2/a"}`} {
		for _, o := range []string{`{"path":"/work/site/docs/b"}`, `{"path":"/etc/passwd"}`, s} {
			f.Add(s, o)
		}
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, p := range Propose(json.RawMessage(a), places) {
			if !p.Match(json.RawMessage(a)) {
				t.Errorf("%q does not match its own call %s", p.Label, a)
			}
			if !p.Match(json.RawMessage(b)) {
				continue
			}
			covered(t, p, a, b)
		}
	})
}

// covered checks by the words of a label that it covers a call that it matches.
func covered(t *testing.T, p Proposal, own, other string) {
	label, _, _ := strings.Cut(p.Label, " with ")
	text := func(raw []byte) string {
		if s, ok := rawjson.String(raw); ok {
			return s
		}
		return string(rawjson.AppendCanonical(nil, raw))
	}
	if p.ID == "exact" {
		for m := rawjson.Object([]byte(other)); m.Next(); {
			if text(m.Value) != text(rawjson.Lookup([]byte(own), string(m.Name))) {
				t.Errorf("%q matches %s, proposed from %s", p.Label, other, own)
			}
		}
		return
	}
	dir := ""
	if _, after, ok := strings.Cut(label, ", "); ok && strings.HasPrefix(label, "in this ") {
		dir = after
	} else if rest, ok := strings.CutPrefix(label, "in "); ok {
		dir = rest
	}
	for m := rawjson.Object([]byte(other)); m.Next(); {
		s, ok := rawjson.String(m.Value)
		if !ok {
			continue
		}
		absolute := strings.HasPrefix(s, "/") && !strings.ContainsAny(s, "\n\r")
		switch {
		case dir != "" && strings.HasPrefix(dir, "/") && absolute && !strings.HasPrefix(path.Clean(s)+"/", dir+"/"):
			t.Errorf("%q matches %s, proposed from %s", p.Label, other, own)
		case p.ID == "host" && strings.Contains(s, "://") && !strings.ContainsAny(s, " \t\n\r") && !strings.HasPrefix(s, strings.TrimPrefix(label, "on ")):
			t.Errorf("%q matches %s, proposed from %s", p.Label, other, own)
		case p.ID != "exact" && absolute && dir == "":
			t.Errorf("%q matches the path in %s, proposed from %s", p.Label, other, own)
		}
	}
}

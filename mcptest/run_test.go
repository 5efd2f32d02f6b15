package mcptest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestRun(t *testing.T) {
	checked(t)
	Run(t, "testdata/*.txtar", fixture)
}

func TestScript(t *testing.T) {
	Script(t, fixture(t), `
call tools/call {"name":"fail"}
result {"isError":true,"content":[{"type":"text","text":"it does not work"}]}
`)
}

// playOnce plays the only conversation in a text and returns what is wrong.
func playOnce(t *testing.T, text string) (err error) {
	_, sections, err := readSections("x", text)
	if err != nil {
		return err
	}
	s := sections[0]
	kind, err := s.kind()
	if err != nil {
		return err
	}
	revs, err := s.revisions()
	if err != nil {
		return err
	}
	synctest.Test(t, func(t *testing.T) {
		if kind == "frames" {
			_, err = s.playFrames(fixture(t), false)
			return
		}
		for _, rev := range revs {
			_, e := s.playCalls(fixture(t), rev)
			err = errors.Join(err, e)
		}
	})
	return err
}

// A conversation that does not go as it says must fail, and say where.
func TestConversationsThatFail(t *testing.T) {
	const add = `call tools/call {"name":"add","arguments":{"a":1,"b":2}}` + "\n"
	const greet = `call tools/call {"name":"greet"}` + "\n"
	for _, tc := range []struct{ name, text, want string }{
		{"another value", "eras 2026-07-28\n" + add + `result {"structuredContent":{"sum":4},…}`, "x:3: structuredContent.sum: got 3, want 4"},
		{"more than said", "eras 2026-07-28\n" + add + `result {"structuredContent":{"sum":3}}`, "content: unexpected [{"},
		{"less than said", "eras 2026-07-28\n" + add + `result {"sum":*,…}`, "sum: missing"},
		{"nothing said", "eras 2026-07-28\n" + add, "has no outcome for this call"},
		{"in one revision only", add + `result {"structuredContent":{"sum":3},…}`, "structuredContent: missing"},
		{"an error instead", add + `error -32602`, "had another outcome"},
		{"another code", "call tools/call {\"name\":\"none\"}\nerror -32603", "the error code is -32602"},
		{"another message", "call tools/call {\"name\":\"none\"}\nerror -32602 too late", `does not contain "too late"`},
		{"a question without an answer", "eras 2026-07-28\n" + greet + "result *", "has no answer"},
		{"an answer without a question", add + "answer roots/list {\"roots\":[]}\nresult *", "x:2: the server did not request this input"},
		{"another question", "eras 2025-11-25\n" + greet + "asked elicitation/create {\"message\":\"Age?\",…}\nanswer elicitation/create {\"action\":\"decline\"}\nresult *", `message: got "Your first name?", want "Age?"`},
		{"a note that does not come", add + "note notifications/progress {\"progress\":1}\nresult *", "x:2: this notification did not arrive"},
		{"a note that is not said", "call tools/call {\"name\":\"work\"}\nwith progress\nresult *", "unexpected message from the server: note notifications/progress"},
		{"no call", "result *", "begins with a call"},
		{"two outcomes", add + "result *\nresult *", "already has an outcome"},
		{"an unknown word", "shout loudly", `x:1: unknown word "shout"`},
		{"an unknown revision", "eras 1999-01-01", "is not a revision"},
		{"frames and calls", "> {}\n" + add, "cannot mix frames and calls"},
		{"an unknown wish", add + "with luck", "found \"luck\""},
		{"frame: another value", "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}", "x:2: id: got 1, want 2"},
		{"frame: nothing came", "< *", "x:1: nothing received"},
		{"frame: too much came", "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n<none", "x:2: unexpected message from the server"},
		{"frame: too much at the end", "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "x:1: unexpected message from the server"},
		{"frame: none of several", "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n<~ {\"id\":7,…}\n<~ {\"id\":8,…}", "no frame matches"},
		{"frame: not a pattern", "< {", "closing } is missing"},
		{"frame: not a time", "<none soon", `"soon" is not a duration`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := playOnce(t, tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want something with %q", err, tc.want)
			}
		})
	}
}

// With -update a file becomes what was seen, and then passes.
func TestUpdate(t *testing.T) {
	for _, tc := range []struct{ name, before, after string }{
		{"calls", `Free text.
-- one --
# a comment stays
call tools/call {"name":"add","arguments":{"a":1,"b":2}}
result {"structuredContent":{"sum":4},"content":*}
-- two --
eras 2025-06-18..
call tools/call {"name":"add","arguments":{"a":1,"b":2}}

# and so does this
call tools/call {"name":"work"}
with progress
result {"content":[$text]}
-- three --
call tools/call {"name":"none"}
note notifications/progress {"progress":1}
result {}
`, `Free text.
-- one --
# a comment stays
call tools/call {"name":"add","arguments":{"a":1,"b":2}}
[..2025-03-26] result {"content":*}
result {"structuredContent":{"sum":3},"content":*}
-- two --
eras 2025-06-18..
call tools/call {"name":"add","arguments":{"a":1,"b":2}}
result {"structuredContent":{"sum":3},"content":[{"type":"text","text":"{\"sum\":3}"}]}

# and so does this
call tools/call {"name":"work"}
with progress
note notifications/progress {"progress":1,"total":2}
note notifications/progress {"progress":2,"total":2}
result {"content":[$text]}
-- three --
call tools/call {"name":"none"}
error -32602 unknown tool "none"
`},
		{"frames", `> {"jsonrpc":"2.0","id":1,"method":"ping"}
> {"jsonrpc":"2.0","id":2,"method":"ping"}
# the end
`, `> {"jsonrpc":"2.0","id":1,"method":"ping"}
< {"jsonrpc":"2.0","id":1,"result":{}}
> {"jsonrpc":"2.0","id":2,"method":"ping"}
< {"jsonrpc":"2.0","id":2,"result":{}}
# the end
`},
		{"frames that changed", `> {"jsonrpc":"2.0","id":1,"method":"nonsense"}
< {"id":$id,"jsonrpc":"2.0","result":{"old":true}}
< *
> {"jsonrpc":"2.0","id":2,"method":"ping"}
< {"id":2,…}
<none
`, `> {"jsonrpc":"2.0","id":1,"method":"nonsense"}
< {"id":$id,"jsonrpc":"2.0","error":{"code":-32602,"message":*}}
> {"jsonrpc":"2.0","id":2,"method":"ping"}
< {"id":2,…}
<none
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.txtar")
			if err := os.WriteFile(file, []byte(tc.before), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := runFile(t, file, fixture, true); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if want, err := parseLoosely(tc.after, string(got)); err != nil {
				t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, got, want)
			}
			if err := runFile(t, file, fixture, false); err != nil {
				t.Error(err)
			}
		})
	}
}

// What cannot be read or played is not changed by an update, and still fails.
func TestUpdateDoesNotHideMistakes(t *testing.T) {
	for _, text := range []string{
		"> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n< {\n",
		"<~ {\n",
		"<none soon\n",
		"call tools/list\nresult {\n",
		"call tools/list {\nresult *\n",
		"call tools/list\nresult *\nresult *\n",
		"call tools/call {\"name\":\"greet\"}\nasked elicitation/create {\nanswer elicitation/create {}\nresult *\n",
	} {
		_, sections, err := readSections("x", text)
		if err != nil {
			t.Fatal(err)
		}
		s := sections[0]
		synctest.Test(t, func(t *testing.T) {
			if kind, _ := s.kind(); kind == "frames" {
				_, err = s.playFrames(fixture(t), true)
			} else {
				_, err = s.playCalls(fixture(t), mcp.Rev20251125)
			}
		})
		if _, ok := errors.AsType[mistake](err); !ok {
			t.Errorf("%q: got %v, want a mistake", text, err)
		}
	}
}

// parseLoosely compares texts line by line; * in want stands for anything.
func parseLoosely(want, got string) (string, error) {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		before, after, _ := strings.Cut(w[i], `"message":*`)
		if w[i] != g[i] && !(len(before) < len(w[i]) && strings.HasPrefix(g[i], before) && strings.HasSuffix(g[i], after)) {
			return want, fmt.Errorf("line %d is %q, want %q", i+1, g[i], w[i])
		}
	}
	if len(w) != len(g) {
		return want, fmt.Errorf("%d lines, want %d", len(g), len(w))
	}
	return want, nil
}

func TestEveryEra(t *testing.T) {
	listed := make(chan mcp.Revision, 1)
	h := mcp.Chain(fixture(t), func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Method == mcp.MethodToolsList {
				listed <- c.Caller.Revision
			}
			return next.Serve(ctx, c)
		})
	})
	var ran []string
	EveryEra(t, h, func(t *testing.T, h mcp.Handler) {
		if _, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList}); err != nil {
			t.Fatal(err)
		}
		ran = append(ran, string(<-listed))
	})
	if want := fmt.Sprint(mcp.Revisions()); fmt.Sprint(ran) != want {
		t.Errorf("ran in %v, want %v", ran, want)
	}
}

// What the hook objects to fails the test that put it on the wire.
func TestCheckIsHeard(t *testing.T) {
	old := Check
	defer func() { Check = old }()
	var saw []string
	Check = func(f Frame) error {
		saw = append(saw, fmt.Sprint(f.FromServer, " ", f.Revision, " ", f.Method))
		if f.Method == mcp.MethodToolsList && f.FromServer {
			return errors.New("not so")
		}
		return nil
	}
	peer, stop, err := connect(t.Context(), fixture(t), mcp.Rev20250618, able())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsList}); err != nil {
		t.Error(err)
	}
	if err := stop(); err == nil || !strings.Contains(err.Error(), "not so") {
		t.Errorf("the connection ended with %v", err)
	}
	want := "[false 2025-06-18 initialize true 2025-06-18 initialize false 2025-06-18 notifications/initialized false 2025-06-18 tools/list true 2025-06-18 tools/list]"
	if fmt.Sprint(saw) != want {
		t.Errorf("saw %v, want %v", saw, want)
	}
}

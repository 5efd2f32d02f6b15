package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/mcptest"
	"github.com/tenon-mcp/tenon/server"
)

// rooted is a caller that can be asked for its roots.
func rooted(c *mcp.Call) {
	c.Caller.Capabilities = &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}
}

// answering answers every question with roots, round by round.
func answering(h mcp.Handler) mcp.Handler {
	return mcp.HandleInput(h, func(context.Context, *mcp.Call, string, mcp.InputRequest) (json.RawMessage, error) {
		return []byte(`{"roots":[]}`), nil
	}, 0)
}

type receipt struct {
	Number  int
	Took    time.Duration
	private int
}

// What Once runs is not run again in the rounds that follow, and what it came to
// is there in each of them.
func TestOnce(t *testing.T) {
	s, _ := newServer(server.Options{})
	entered, charged, failed := 0, 0, 0
	addText(s, "buy", func(_ context.Context, c *mcp.Call) (string, error) {
		entered++
		r, err := server.Once(c, "charge", func() (receipt, error) {
			charged++
			return receipt{Number: 7, Took: time.Second, private: 1}, nil
		})
		if err != nil {
			return "", err
		}
		for _, key := range []string{"charge", "b"} { // a question may have the same key
			if _, err := server.Roots(c, key); err != nil {
				return "", err
			}
		}
		_, err = server.Once(c, "fails", func() (int, error) {
			if failed++; failed == 1 {
				_, err := server.Roots(c, "in between")
				return 0, err
			}
			return 1, nil
		})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(r.Number, r.Took), nil
	})
	expect(t, "result", callTool(t, answering(s), "buy", "", rooted), `{"content":[{"type":"text","text":"7 1s"}]}`)
	if entered != 4 || charged != 1 || failed != 2 {
		t.Errorf("entered %d times, charged %d times, failed %d times", entered, charged, failed)
	}
}

// A handler that acts once before it asks is safe to enter again, and leaves the
// call of its caller as it was.
func TestOnceIsSafeToRunTwice(t *testing.T) {
	var done mcptest.Effects
	s, _ := newServer(server.Options{})
	addText(s, "buy", func(_ context.Context, c *mcp.Call) (string, error) {
		_, err := server.Once(c, "charge", func() (bool, error) { done.Record("charge"); return true, nil })
		if err == nil {
			_, err = server.Roots(c, "r")
		}
		return "done", err
	})
	call := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"buy"}`)}
	mcptest.Twice(t, s, call, func(mcp.InputRequest) string { return `{"roots":[]}` }, &done)
}

// A value that cannot be kept is found before anything is done.
func TestOnceNeedsAJSONForm(t *testing.T) {
	ran := false
	_, err := server.Once(&mcp.Call{}, "x", func() (chan int, error) { ran = true; return nil, nil })
	if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeInternal || ran {
		t.Errorf("%v, ran %v", err, ran)
	}
	c := &mcp.Call{}
	c.Save("x", []byte(`"text"`))
	if _, err := server.Once(c, "x", func() (int, error) { return 0, nil }); err == nil {
		t.Error("a value of another type was taken")
	}
}

type who struct {
	Name string `json:"name"`
}

type where struct {
	City string `json:"city" schema:"enum=Bern|Oslo"`
}

// Several typed questions are one round.
func TestAskAllTyped(t *testing.T) {
	s, _ := newServer(server.Options{})
	addText(s, "t", func(_ context.Context, c *mcp.Call) (string, error) {
		var name who
		var city where
		var roots []mcp.Root
		err := server.AskAll(c,
			server.FormInput("who", "Who are you?", &name),
			server.FormInput("where", "Where?", &city),
			server.URLInput("pay", "Please pay", "https://example.com/pay"),
			server.RootsInput("roots", &roots),
		)
		return fmt.Sprint(name.Name, " ", city.City, " ", len(roots)), err
	})
	able := func(c *mcp.Call) {
		rooted(c)
		c.Caller.Capabilities.Elicitation = &mcp.ElicitationCapability{Form: mcp.Settings{}, URL: mcp.Settings{}}
	}
	var rounds []string
	with := func(answers map[string]string) mcp.Handler {
		rounds = nil
		return mcp.HandleInput(s, func(_ context.Context, _ *mcp.Call, key string, _ mcp.InputRequest) (json.RawMessage, error) {
			rounds = append(rounds, key)
			return []byte(answers[key]), nil
		}, 2)
	}
	good := map[string]string{
		"who": `{"action":"accept","content":{"name":"Ada"}}`, "where": `{"action":"accept","content":{"city":"Bern"}}`,
		"pay": `{"action":"accept"}`, "roots": `{"roots":[{"uri":"file:///x"},{"uri":"http://no"}]}`,
	}
	expect(t, "all", callTool(t, with(good), "t", "", able), `…"text":"Ada Bern 1"`)
	expect(t, "one round", fmt.Sprint(rounds), "[pay roots where who]")
	good["pay"] = `{"action":"decline"}`
	expect(t, "declined", callTool(t, with(good), "t", "", able), `…The user declined: \"Please pay\"`)
	good["where"] = `{"action":"accept","content":{"city":"Rome"}}`
	expect(t, "does not fit", callTool(t, with(good), "t", "", able), `…response to "where" does not fit the form`)
	expect(t, "not declared", callTool(t, s, "t", "", rooted), "…-32021")
}

func TestAskAllMistakes(t *testing.T) {
	c := &mcp.Call{}
	rooted(c)
	var roots []mcp.Root
	var bad struct{ Deep struct{ X int } }
	for name, inputs := range map[string][]server.Input{
		"one key twice":    {server.RootsInput("r", &roots), server.RootsInput("r", &roots)},
		"no form":          {server.FormInput("f", "?", &bad)},
		"no page":          {server.URLInput("u", "?", "not a page")},
		"no such sampling": {server.SampleInput("s", &mcp.CreateMessageParams{}, nil)},
	} {
		if err := server.AskAll(c, inputs...); err == nil || errors.As(err, new(*mcp.InputRequired)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// asking is a handler that needs the answers to keys, one after the other, and
// then gives them all back.
func asking(keys ...string) mcp.Handler {
	return mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		all := make(map[string]json.RawMessage)
		for _, key := range keys {
			a, err := c.Ask(key, mcp.RootsRequest())
			if err != nil {
				return mcp.Result{}, err
			}
			all[key] = a
		}
		body, err := mcp.Marshal(all)
		return mcp.Result{Body: body}, err
	})
}

var canSayRoots = mcp.Caller{Capabilities: &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}}

func TestAnswering(t *testing.T) {
	asked := 0
	answer := func(_ context.Context, _ *mcp.Call, key string, _ mcp.InputRequest) (json.RawMessage, error) {
		asked++
		return json.RawMessage(`"` + key + `"`), nil
	}
	call := &mcp.Call{Method: mcp.MethodToolsCall, Caller: canSayRoots}
	res, err := mcp.HandleInput(asking("a", "b", "c"), answer, 0).Serve(t.Context(), call)
	if want := `{"a":"a","b":"b","c":"c"}`; err != nil || string(res.Body) != want {
		t.Errorf("got %s, %v, want %s", res.Body, err, want)
	}
	if asked != 3 {
		t.Errorf("asked %d times: an answer that was given must not be asked for again", asked)
	}
	if call.InputResponses != nil || call.State != "" {
		t.Error("the caller's own call was changed")
	}

	_, err = mcp.HandleInput(asking("a", "b", "c"), answer, 3).Serve(t.Context(), call)
	if e, ok := errors.AsType[*mcp.Error](err); !ok || !e.Local || !strings.Contains(e.Message, "3 rounds") {
		t.Errorf("more rounds than allowed: %v", err)
	}

	no := errors.New("no")
	refuse := func(context.Context, *mcp.Call, string, mcp.InputRequest) (json.RawMessage, error) { return nil, no }
	if _, err := mcp.HandleInput(asking("a"), refuse, 0).Serve(t.Context(), call); !errors.Is(err, no) {
		t.Errorf("a refused answer: %v", err)
	}
}

// An error of the answering function refuses the question, and the call goes on:
// the handler gets the error, in that round and all later ones.
func TestAnsweringRefuses(t *testing.T) {
	no := errors.New("no")
	var asked []string
	answer := func(_ context.Context, _ *mcp.Call, key string, _ mcp.InputRequest) (json.RawMessage, error) {
		asked = append(asked, key)
		if key == "b" {
			return nil, no
		}
		return json.RawMessage(`1`), nil
	}
	questions := map[string]mcp.InputRequest{"a": mcp.RootsRequest(), "b": mcp.RootsRequest(), "c": mcp.RootsRequest()}
	tolerant := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if _, err := c.AskAll(questions); c.Refused("b") == nil || err.Error() != c.Refused("b").Error() {
			return mcp.Result{}, err
		}
		_, err := c.Ask("d", mcp.RootsRequest())
		return mcp.Result{Body: json.RawMessage(`{}`)}, err
	})
	call := &mcp.Call{Method: mcp.MethodToolsCall, Caller: canSayRoots}
	if _, err := mcp.HandleInput(tolerant, answer, 0).Serve(t.Context(), call); err != nil {
		t.Error(err)
	}
	if want := "a b d"; strings.Join(asked, " ") != want {
		t.Errorf("asked %v, want %s: the rest of a round with a refusal is not asked, and nothing twice", asked, want)
	}
	if call.InputResponses != nil {
		t.Error("the caller's own call was changed")
	}
}

// A handler that does not know of refusals and asks the same again ends the call;
// one with a new state may ask another question under the same key.
func TestAnsweringEndsWhatIgnoresRefusals(t *testing.T) {
	no := errors.New("no")
	for name, tt := range map[string]struct {
		state func(*mcp.Call) string
		asked int
		want  error
	}{
		"same state": {func(*mcp.Call) string { return "s" }, 1, no},
		"new state":  {func(c *mcp.Call) string { return c.State + "s" }, 3, nil},
	} {
		asked, abandoned := 0, 0
		h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
			if len(c.State) == 3 {
				return mcp.Result{}, nil
			}
			return mcp.Result{}, &mcp.InputRequired{State: tt.state(c), Requests: map[string]mcp.InputRequest{"q": mcp.RootsRequest()}, Abandon: func() { abandoned++ }}
		})
		refuse := func(context.Context, *mcp.Call, string, mcp.InputRequest) (json.RawMessage, error) {
			asked++
			return nil, no
		}
		if _, err := mcp.HandleInput(h, refuse, 0).Serve(t.Context(), &mcp.Call{}); err != tt.want || asked != tt.asked {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
		}
		if rounds := max(tt.asked, 2); abandoned != rounds { // harmless after a round that was made
			t.Errorf("%s: given up %d times, want %d", name, abandoned, rounds)
		}
	}
}

// Once the context has ended an error of the answering function is no refusal.
func TestAnsweringEndsWithItsContext(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	rounds := 0
	h := mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		rounds++
		return asking("a").Serve(ctx, c)
	})
	gone := func(ctx context.Context, _ *mcp.Call, _ string, _ mcp.InputRequest) (json.RawMessage, error) {
		leave()
		return nil, ctx.Err()
	}
	call := &mcp.Call{Method: mcp.MethodToolsCall, Caller: canSayRoots}
	if _, err := mcp.HandleInput(h, gone, 0).Serve(ctx, call); !errors.Is(err, context.Canceled) || rounds != 1 {
		t.Errorf("%d rounds, %v", rounds, err)
	}
}

// The state of a round goes back unchanged, and a round without questions is
// simply made again.
func TestAnsweringCarriesState(t *testing.T) {
	h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if len(c.State) < 3 {
			return mcp.Result{}, &mcp.InputRequired{State: c.State + "x"}
		}
		return mcp.Result{Type: c.State}, nil
	})
	if res, err := mcp.HandleInput(h, nil, 0).Serve(t.Context(), &mcp.Call{}); err != nil || res.Type != "xxx" {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestAskAll(t *testing.T) {
	qs := map[string]mcp.InputRequest{"a": mcp.RootsRequest(), "b": mcp.RootsRequest()}
	c := &mcp.Call{Caller: canSayRoots, InputResponses: map[string]json.RawMessage{"a": json.RawMessage(`1`), "z": json.RawMessage(`9`)}}
	_, err := c.AskAll(qs)
	need, ok := errors.AsType[*mcp.InputRequired](err)
	if !ok || len(need.Requests) != 1 || need.Requests["b"].Method != mcp.MethodRootsList || len(need.PriorResponses) != 2 {
		t.Fatalf("got %v %+v", err, need)
	}
	c.InputResponses["b"] = json.RawMessage(`2`)
	got, err := c.AskAll(qs)
	if err != nil || len(got) != 2 || string(got["b"]) != "2" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestChainOrder(t *testing.T) {
	var order []string
	say := func(s string) mcp.Middleware {
		return func(h mcp.Handler) mcp.Handler {
			return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
				order = append(order, s)
				return h.Serve(ctx, c)
			})
		}
	}
	h := mcp.Chain(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil }), say("first"), say("second"))
	if _, err := h.Serve(t.Context(), &mcp.Call{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, " "); got != "first second" {
		t.Error(got)
	}
}

func TestErrors(t *testing.T) {
	for err, want := range map[*mcp.Error]string{
		mcp.MethodNotFound("x/y"):                      `unknown method "x/y" (-32601) null`,
		mcp.ResourceNotFound("file:///x"):              `no resource has the URI "file:///x" (-32602) {"uri":"file:///x"}`,
		mcp.InvalidParams("bad %d", 1).With(func() {}): `bad 1 (-32602) null`,
		{Local: true, Message: "timed out"}:            `timed out null`,
	} {
		data, _ := json.Marshal(err.Data)
		if got := err.Error() + " " + string(data); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	var nobody *mcp.Principal
	a, b := &mcp.Principal{Issuer: "i", ID: "x"}, &mcp.Principal{Issuer: "ix", ID: ""}
	if nobody.Key() != "" || a.Key() == b.Key() {
		t.Error("keys of principals collide")
	}
}

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// picture is a PNG of one pixel.
func picture(t *testing.T) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// H8: what is no image does not reach the model as one, and one with the wrong
// type reaches it with its own.
func TestBadMediaDoNotEnter(t *testing.T) {
	good := picture(t)
	for name, c := range map[string]struct {
		data []byte
		mime string // "" means refused
		why  string
	}{
		"good":       {good, "image/png", ""},
		"text":       {[]byte("<html>not found</html>"), "", "not a PNG, JPEG, GIF or WebP"},
		"empty":      {nil, "", "empty"},
		"cut off":    {good[:20], "", "damaged"},
		"wrong type": {good, "image/png", ""},
	} {
		p, err := checkMedium(llm.Part{Kind: llm.PartImage, MIME: "image/jpeg", Data: c.data})
		if c.mime != "" && (err != nil || p.MIME != c.mime) || c.mime == "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %s, %v", name, p.MIME, err)
		}
	}
}

// H8: an image that the provider refuses costs the image and not the session.
func TestRefusedMediaAreDropped(t *testing.T) {
	good := picture(t)
	s := server.New(mcp.Implementation{Name: "x", Version: "1"}, nil)
	server.AddTool(s, "draw", "", func(context.Context, *mcp.Call, struct{}) (mcp.Contents, error) {
		return mcp.Contents{mcp.Image(good, "image/png")}, nil
	}, nil)
	has := func(r *llm.Request) bool {
		return slices.ContainsFunc(r.Messages, func(m llm.Message) bool { _, n := mediaInWords(m); return n > 0 })
	}
	picky := func(next turnFunc) turnFunc {
		return func(r *llm.Request) (llm.Message, error) {
			if has(r) {
				return llm.Message{}, &llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "could not process image"}
			}
			return next(r)
		}
	}
	b := newBench(t, nil, calls("x__draw", "{}"), picky(says("no")), picky(says("I could not see it.")), picky(says("fine")))
	b.model.info.Accepts.Images = true
	b.attach("x", s)
	session := b.host.NewSession()
	if err := session.Send(t.Context(), "draw"); err != nil {
		t.Fatal(err)
	}
	if n := b.all(EventNotice); len(n) != 1 || !strings.Contains(n[0].Text, "1 image or document was removed") {
		t.Errorf("told %+v", n)
	}
	if err := session.Send(t.Context(), "and now?"); err != nil {
		t.Errorf("the session is bricked: %v", err)
	}
	for _, r := range b.store.saved[session.ID].Rows {
		if _, n := mediaInWords(r.Message); n > 0 {
			t.Errorf("the store still has it: %+v", r)
		}
	}
}

// halting is a model that says something and breaks off.
type halting struct {
	fake
	err error
}

func (h *halting) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		_ = yield(llm.Event{Kind: llm.EventText, Text: "Half an "}, nil) && yield(llm.Event{Kind: llm.EventText, Text: "answer"}, nil) && yield(llm.Event{}, h.err)
	}
}

// H17: what there was of an answer that broke off stays in the conversation.
func TestPartialAnswersAreKept(t *testing.T) {
	for _, err := range []error{&llm.Error{Kind: llm.ErrNetwork}, context.Canceled} {
		b := newBench(t, nil)
		b.host.SetModel(&halting{err: err})
		s := b.host.NewSession()
		if got := s.Send(t.Context(), "hi"); !errors.Is(got, err) {
			t.Errorf("got %v", got)
		}
		if rows := b.store.saved[s.ID].Rows; len(rows) != 2 || rows[1].Message.Text() != "Half an answer" || rows[1].Message.Role != llm.RoleAssistant {
			t.Errorf("%v: kept %+v", err, rows)
		}
	}
}

// H23: a conversation that is still too long after its results were shortened is
// summed up in the same turn, also in the middle of a long one.
func TestSummaryComesAfterShortening(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "x", Version: "1"}, nil)
	server.AddTool(s, "long", "", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return strings.Repeat("long ", 400), nil
	}, nil)
	full := fails(&llm.Error{Kind: llm.ErrContextLength})
	var turns []turnFunc
	for range 6 {
		turns = append(turns, calls("x__long", "{}"))
	}
	turns = append(turns, full, full, says("a summary of it"), says("done"))
	b := newBench(t, nil, turns...)
	b.attach("x", s)
	session := b.host.NewSession()
	if err := session.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if m := session.Messages(); m[0].Role != llm.RoleUser || !strings.Contains(m[0].Text(), "a summary of it") || m[1].Role != llm.RoleAssistant || len(m) > 8 {
		t.Errorf("the conversation is %d messages, first %q", len(m), m[0].Text())
	}
	open := map[string]bool{}
	for _, m := range b.model.asked[len(b.model.asked)-1].Messages {
		for _, p := range m.Parts {
			if p.Call != nil {
				open[p.Call.ID] = true
			}
			if p.Result != nil && !open[p.Result.CallID] {
				t.Errorf("a result without its call: %+v", p.Result)
			}
		}
	}
}

// A conversation that is longer than the context of the chosen model is shortened
// before it is sent: the model need not refuse it. One that cannot be shortened is
// sent as it is.
func TestConversationIsFittedToASmallerModel(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "x", Version: "1"}, nil)
	server.AddTool(s, "long", "", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return strings.Repeat("long ", 4000), nil
	}, nil)
	b := newBench(t, nil, calls("x__long", "{}"), calls("x__long", "{}"), calls("x__long", "{}"), says("first"), says("second"))
	b.attach("x", s)
	session := b.host.NewSession()
	if err := session.Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	before := estimate(b.model.asked[3])
	b.model.info.Context = before * 2 / 3
	if err := session.Send(t.Context(), "and now?"); err != nil {
		t.Fatal(err)
	}
	if n := len(b.model.asked); n != 5 || estimate(b.model.asked[4]) > b.model.info.Context {
		t.Errorf("%d requests, the last has %d tokens of %d", n, estimate(b.model.asked[n-1]), b.model.info.Context)
	}
	if last := b.model.asked[4].Messages; !strings.Contains(last[len(last)-1].Text(), "and now?") {
		t.Errorf("the last message is %q", last[len(last)-1].Text())
	}

	b = newBench(t, nil, says("ok"))
	b.model.info.Context = 10
	if err := b.host.NewSession().Send(t.Context(), strings.Repeat("word ", 100)); err != nil || len(b.model.asked) != 1 {
		t.Errorf("%v, %d requests", err, len(b.model.asked))
	}
}

// H10: the instructions of servers reach the model, bounded, fenced and labelled.
func TestInstructionsReachTheModel(t *testing.T) {
	b := newBench(t, nil, says("ok"))
	for name, text := range map[string]string{"one": "Call start first.\u202e", "two": strings.Repeat("x", 3*maxInstructions), "three": ""} {
		s := server.New(mcp.Implementation{Name: name, Version: "1"}, &server.Options{Instructions: text})
		server.AddTool(s, "start", "", func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
		b.attach(name, s)
	}
	if err := b.host.NewSession().Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	system := b.model.asked[0].System
	if !strings.Contains(system, `<instructions from="one" id=`) || !strings.Contains(system, "\nCall start first.") || strings.Contains(system, "\u202e") {
		t.Errorf("the model was told %q", system)
	}
	if n := strings.Count(system, "x"); n > maxInstructions+100 || n < maxInstructions || strings.Contains(system, `from="three"`) {
		t.Errorf("%d of the long instructions were passed on: %.300s", n, system)
	}
}

// H18: a few tools are never hidden, and a model that searches knows the servers.
func TestSearchHasAFloorAndAnOverview(t *testing.T) {
	many := func(n int) *server.Server {
		s := server.New(mcp.Implementation{Name: "x", Title: "Warehouse", Version: "1"}, &server.Options{Instructions: "Keeps the stock of all shops. More."})
		for i := range n {
			server.AddTool(s, fmt.Sprintf("tool%d", i), strings.Repeat("Does this. ", 20), func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil }, nil)
		}
		return s
	}
	b := newBench(t, nil, says("ok"), says("ok"))
	b.model.info.Context = 8192
	b.attach("stock", many(5))
	if err := b.host.NewSession().Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if got := b.model.asked[0].Tools; len(got) != 6 {
		t.Errorf("five tools became %d", len(got))
	}
	b.attach("more", many(60))
	if err := b.host.NewSession().Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	got := b.model.asked[1].Tools
	if about := got[0].Description; len(got) != 3 || !strings.Contains(about, "\n- more: 60 tools. Warehouse. Keeps the stock of all shops\n- stock: 5 tools.") {
		t.Errorf("the model was given %d tools: %s", len(got), about)
	}
}

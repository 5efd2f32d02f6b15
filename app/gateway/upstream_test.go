package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func wantTools(t *testing.T, r *Router, want string) {
	t.Helper()
	got, err := call(t.Context(), r, mcp.MethodToolsList, `{}`)
	if err != nil || got != `{"tools":[`+want+`]}` {
		t.Errorf("tools/list: %s, %v; want %s", got, err, want)
	}
}

// TestSubscriptionErrorIsNotForEver has the server end the subscription with an
// error after it acknowledged it.
func TestSubscriptionErrorIsNotForEver(t *testing.T) {
	n := 0
	f := &fake{
		tools: func(context.Context, *mcp.Call) (mcp.Result, error) {
			n++
			return mcp.Result{Body: json.RawMessage(fmt.Sprintf(`{"tools":[{"name":"x%d"}]}`, n))}, nil
		},
		listen: func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
			ack(c)
			return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "shutting down")
		},
	}
	routed(t, map[string]*fake{"a": f}, func(t *testing.T, r *Router) {
		wantTools(t, r, `{"name":"a__x1"}`)
		wantTools(t, r, `{"name":"a__x2"}`) // no subscription: the list is read each time
		time.Sleep(time.Minute)
		if got := f.listens.Load(); got < 3 {
			t.Errorf("the gateway subscribed %d times", got)
		}
	})
}

func TestServerWithoutSubscriptionsIsNotAskedAgain(t *testing.T) {
	f := &fake{listen: func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}}
	routed(t, map[string]*fake{"a": f}, func(t *testing.T, r *Router) {
		time.Sleep(time.Hour)
		if got := f.listens.Load(); got != 1 {
			t.Errorf("the gateway subscribed %d times", got)
		}
	})
}

// TestEndOfSubscriptionHidesNoTools ends a subscription gracefully, and then the
// server.
func TestEndOfSubscriptionHidesNoTools(t *testing.T) {
	var end chan struct{}
	f := &fake{tools: toolsOf(`{"name":"x"}`)}
	f.listen = func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		ack(c)
		select {
		case <-end:
		case <-ctx.Done():
		}
		return mcp.Result{}, nil
	}
	synctest.Test(t, func(t *testing.T) {
		end = make(chan struct{}) // belongs to the bubble
		r, err := NewRouter([]Upstream{{Name: "a", Handler: f}}, &Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		synctest.Wait()
		wantTools(t, r, `{"name":"a__x"}`)
		end <- struct{}{}
		synctest.Wait()
		wantTools(t, r, `{"name":"a__x"}`)
		time.Sleep(2 * firstRetry)
		if got := f.listens.Load(); got != 2 {
			t.Errorf("the gateway subscribed %d times", got)
		}
		f.dead.Store(true)
		end <- struct{}{}
		time.Sleep(lastRetry)
		wantTools(t, r, ``)
		if _, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"a__x"}`); err == nil || !strings.Contains(err.Error(), "server a ") {
			t.Errorf("a call at the dead server: %v", err)
		}
		f.dead.Store(false)
		time.Sleep(2 * lastRetry)
		wantTools(t, r, `{"name":"a__x"}`)
	})
}

func TestSlowServerDelaysOneList(t *testing.T) {
	slow := func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		pause(ctx, 30*time.Second)
		return toolsOf(`{"name":"y"}`)(ctx, c)
	}
	routed(t, map[string]*fake{"a": {tools: toolsOf(`{"name":"x"}`)}, "b": {tools: slow}}, func(t *testing.T, r *Router) {
		began := time.Now()
		for range 4 {
			wantTools(t, r, `{"name":"a__x"}`)
		}
		if took := time.Since(began); took != r.opts.ListTimeout {
			t.Errorf("four lists took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		got, ended := listening(ctx, r, `{"toolsListChanged":true}`)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if len(*got) != 2 {
			t.Errorf("notifications %q; want one of the list of b", *got)
		}
		cancel()
		<-ended
	})
}

// TestUnknownToolDoesNotWait has no server answer.
func TestUnknownToolDoesNotWait(t *testing.T) {
	routed(t, map[string]*fake{"a": {tools: block}, "b": {tools: block}, "c": {tools: block}}, func(t *testing.T, r *Router) {
		for name, want := range map[string]time.Duration{"nonsense": 0, "short_0123abcd": 0, "b__x_0123abcd": time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			_, err := call(ctx, r, mcp.MethodToolsCall, `{"name":"`+name+`"}`)
			if took := time.Since(began); err == nil || took != want {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			cancel()
		}
		began := time.Now()
		_, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"b__x_0123abcd"}`)
		if took := time.Since(began); err == nil || took != r.opts.ListTimeout {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestRefusingServerIsLeftOut(t *testing.T) {
	refuse := func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "not now")
	}
	routed(t, map[string]*fake{"a": {tools: toolsOf(`{"name":"x"}`)}, "b": {tools: refuse, other: refuse}}, func(t *testing.T, r *Router) {
		wantTools(t, r, `{"name":"a__x"}`)
		if _, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"b__y"}`); code(err) != mcp.CodeInternal {
			t.Errorf("the call ended with %v", err)
		}
	})
}

func TestTooLongListIsLeftOut(t *testing.T) {
	long := toolsOf(`{"name":"y","description":"` + strings.Repeat("y", maxItems) + `"}`)
	b := &fake{tools: long}
	routed(t, map[string]*fake{"a": {tools: toolsOf(`{"name":"x"}`)}, "b": b}, func(t *testing.T, r *Router) {
		wantTools(t, r, `{"name":"a__x"}`)
		wantTools(t, r, `{"name":"a__x"}`)
		if got := b.reads.Load(); got != 1 {
			t.Errorf("the list was read %d times", got)
		}
	})
}

func code(err error) int {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return e.Code
	}
	return 0
}

func TestCursorIsRefused(t *testing.T) {
	routed(t, map[string]*fake{"a": {tools: toolsOf("")}}, func(t *testing.T, r *Router) {
		for _, method := range []string{mcp.MethodToolsList, skills.MethodList} {
			if _, err := call(t.Context(), r, method, `{"cursor":"2"}`); code(err) != mcp.CodeInvalidParams {
				t.Errorf("%s: %v", method, err)
			}
		}
	})
}

func TestNamesNeedTheSeparator(t *testing.T) {
	routed(t, map[string]*fake{"notes": {}}, func(t *testing.T, r *Router) {
		for _, uri := range []string{"notes", "ui://notes", "skill://notes"} {
			if _, own, ok := r.inward(t.Context(), nil, "uri", uri); ok {
				t.Errorf("%q is %q of notes", uri, own)
			}
		}
	})
}

func TestErrorsDoNotSplitCharacters(t *testing.T) {
	routed(t, map[string]*fake{"a": {}}, func(t *testing.T, r *Router) {
		name := strings.Repeat("u", 199)
		_, err := call(t.Context(), r, mcp.MethodToolsCall, `{"name":"`+name+`é"}`)
		if err == nil || !strings.Contains(err.Error(), `"`+name+`…"`) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestNamesOfServersDiffer(t *testing.T) {
	if _, err := NewRouter([]Upstream{{Name: "a", Handler: &fake{}}, {Name: "b", Handler: &fake{}}, {Name: "a", Handler: &fake{}}}, nil); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("two servers with one name: %v", err)
	}
}

// TestListAfterClose lists while the Router is closed; the race detector sees a
// wrong use of the wait group.
func TestListAfterClose(t *testing.T) {
	r, err := NewRouter([]Upstream{{Name: "a", Handler: &fake{tools: toolsOf(`{"name":"x"}`)}}}, &Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			_, _ = call(t.Context(), r, mcp.MethodToolsList, `{}`)
		}
	}()
	r.Close()
	<-done
	reads := r.table.Load().upstreams[0].handler.(*fake).reads.Load()
	_, _ = call(t.Context(), r, mcp.MethodToolsList, `{}`)
	if got := r.table.Load().upstreams[0].handler.(*fake).reads.Load(); got != reads {
		t.Error("a closed Router reads lists")
	}
}

// TestToolsMayRunAsTasks merges servers that declare tasks for all tools, for
// some, and not at all.
func TestToolsMayRunAsTasks(t *testing.T) {
	declares := `{"tools":{},"extensions":{"` + tasks.ExtensionID + `":{}}}`
	servers := map[string]*fake{
		"all":  {declares: declares, tools: toolsOf(`{"name":"x"},{"name":"y"}`)},
		"none": {tools: toolsOf(`{"name":"x"}`)},
		"some": {declares: declares, tools: toolsOf(`{"name":"x","execution":{"taskSupport":"required"}},{"name":"y"}`)},
	}
	routed(t, servers, func(t *testing.T, r *Router) {
		optional := `,"execution":{"taskSupport":"optional"}}`
		wantTools(t, r, `{"name":"all__x"`+optional+`,{"name":"all__y"`+optional+`,{"name":"none__x"},`+
			`{"name":"some__x","execution":{"taskSupport":"required"}},{"name":"some__y"}`)
	})
}

// TestSkillsThroughTheGateway uses every method of the extension at two servers.
func TestSkillsThroughTheGateway(t *testing.T) {
	var ups []Upstream
	for _, name := range []string{"a", "b"} {
		s := server.New(mcp.Implementation{Name: name, Version: "1"}, nil)
		t.Cleanup(func() { s.Close() })
		files := fstest.MapFS{}
		for _, skill := range []string{"one", "two"} {
			files[skill+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + skill + "\ndescription: of " + name + "\n---\nHello\n")}
		}
		if err := skills.Add(s, files, &skills.Options{PageSize: 1}); err != nil {
			t.Fatal(err)
		}
		ups = append(ups, Upstream{Name: name, Handler: s})
	}
	ups = append(ups, Upstream{Name: "none", Handler: &fake{declares: `{"extensions":{"example.com/unknown":{}}}`}})
	r, err := NewRouter(ups, &Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	found, err := call(t.Context(), r, mcp.MethodDiscover, `{}`)
	if err != nil || !strings.Contains(found, skills.ExtensionID) || strings.Contains(found, "example.com/unknown") {
		t.Errorf("discovered %s, %v", found, err)
	}
	for _, test := range []struct{ method, params, want string }{
		{skills.MethodList, `{}`, `skill://a/one/SKILL.md skill://a/two/SKILL.md skill://b/one/SKILL.md skill://b/two/SKILL.md`},
		{skills.MethodGet, `{"uri":"skill://b/two/SKILL.md"}`, `skill://b/two/SKILL.md`},
		{mcp.MethodResourcesRead, `{"uri":"skill://b/two/SKILL.md"}`, `skill://b/two/SKILL.md of_b`},
		{skills.MethodReadDirectory, `{"uri":"skill://b/two"}`, `skill://b/two/SKILL.md`},
	} {
		got, err := call(t.Context(), r, test.method, test.params)
		for want := range strings.FieldsSeq(test.want) {
			if err != nil || !strings.Contains(got, strings.ReplaceAll(want, "_", " ")) {
				t.Errorf("%s %s: %s, %v; want %s", test.method, test.params, got, err, want)
			}
		}
	}
}

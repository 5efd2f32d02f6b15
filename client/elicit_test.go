package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// asking is a server that asks one question and says what was answered.
func asking(q mcp.InputRequest) mcp.Handler {
	return mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if a, ok := c.InputResponses["k"]; ok {
			return text(string(a)), nil
		}
		return mcp.Result{}, &mcp.InputRequired{Requests: map[string]mcp.InputRequest{"k": q}, State: "s"}
	})
}

func elicitation(params string) mcp.InputRequest {
	return mcp.InputRequest{Method: mcp.MethodElicit, Params: json.RawMessage(params)}
}

func form(properties string) mcp.InputRequest {
	return elicitation(`{"message":"?","requestedSchema":{"type":"object","properties":{` + properties + `}}}`)
}

func TestElicit(t *testing.T) {
	accept := func(content string) func(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) {
		return func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			return e.Accept(json.RawMessage(content))
		}
	}
	give := func(r *mcp.ElicitResult, err error) func(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) {
		return func(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) { return r, err }
	}
	never := func(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) {
		t.Error("a question reached the person that must not")
		return nil, nil
	}
	const page = `{"mode":"url","message":"?","url":"https://example.com/in"}`
	broken := errors.New("the screen is broken")
	tests := []struct {
		name  string
		o     client.Options
		q     mcp.InputRequest
		want  string
		fails string
	}{
		{"accepted", client.Options{Elicit: accept(`{"n":"Ada"}`)}, form(`"n":{"type":"string"}`), `{"action":"accept","content":{"n":"Ada"}}`, ""},
		{"defaults", client.Options{Elicit: accept(`{"n":"Ada"}`)}, form(`"n":{"type":"string","default":"x"},"k":{"type":"integer","default":7},"b":{"type":"boolean","default":false},"c":{"type":"array","items":{"type":"string","enum":["u","v"]},"default":["v"]},"o":{"type":"string"}`),
			`{"action":"accept","content":{"n":"Ada","k":7,"b":false,"c":["v"]}}`, ""},
		{"nothing but defaults", client.Options{Elicit: accept(``)}, form(`"k":{"type":"number","default":1.5}`), `{"action":"accept","content":{"k":1.5}}`, ""},
		{"empty form", client.Options{Elicit: accept(``)}, form(``), `{"action":"accept","content":{}}`, ""},
		{"declined", client.Options{Elicit: give(&mcp.ElicitResult{Action: mcp.ActionDecline, Content: json.RawMessage(`{"n":1}`)}, nil)}, form(`"n":{"type":"string"}`), `{"action":"decline"}`, ""},
		{"cancelled", client.Options{Elicit: give(&mcp.ElicitResult{Action: mcp.ActionCancel}, nil)}, form(`"n":{"type":"string"}`), `{"action":"cancel"}`, ""},
		{"page", client.Options{ElicitURL: accept(`{"secret":1}`)}, elicitation(page), `{"action":"accept"}`, ""},
		{"both are there", client.Options{Elicit: never, ElicitURL: accept(``)}, elicitation(page), `{"action":"accept"}`, ""},

		{"wrong type", client.Options{Elicit: accept(`{"n":7}`)}, form(`"n":{"type":"string"}`), "", "does not fit the form: n: expected a string"},
		{"unknown field", client.Options{Elicit: accept(`{"m":"x"}`)}, form(`"n":{"type":"string"}`), "", "m: the form has no such field"},
		{"required", client.Options{Elicit: accept(`{}`)}, elicitation(`{"message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}}`), "", "n: missing"},
		{"pattern", client.Options{Elicit: accept(`{"n":"x"}`)}, form(`"n":{"type":"string","pattern":"^[0-9]+$"}`), "", "does not match the pattern"},
		{"error", client.Options{Elicit: give(nil, broken)}, form(``), "", "the screen is broken"},
		{"nothing", client.Options{Elicit: give(nil, nil)}, form(``), "", "the elicitation function returned nil"},
		{"strange action", client.Options{Elicit: give(&mcp.ElicitResult{Action: "maybe"}, nil)}, form(``), "", `the action "maybe"`},

		{"nested form", client.Options{Elicit: never}, form(`"n":{"type":"object","properties":{}}`), "", "requestedSchema"},
		{"reference in a form", client.Options{Elicit: never}, form(`"n":{"$ref":"http://169.254.169.254/x"}`), "", "$ref is not allowed"},
		{"reference hidden in a form", client.Options{Elicit: never}, form(`"n":{"type":"string","propertyNames":{"$ref":"http://169.254.169.254/x"}}`), "", "requestedSchema"},
		{"unknown dialect", client.Options{Elicit: never}, elicitation(`{"message":"?","requestedSchema":{"$schema":"http://example.com/mine","type":"object","properties":{}}}`), "", "requestedSchema"},
		{"no form", client.Options{Elicit: never}, elicitation(`{"message":"?"}`), "", "requestedSchema: missing"},
		{"no params", client.Options{Elicit: never}, mcp.InputRequest{Method: mcp.MethodElicit}, "", "invalid input request"},
		{"strange mode", client.Options{Elicit: never}, elicitation(`{"mode":"dance","message":"?"}`), "", `"dance" is neither`},
		{"page without an address", client.Options{ElicitURL: never}, elicitation(`{"mode":"url","message":"?"}`), "", "url: missing"},
		{"page that runs", client.Options{ElicitURL: never}, elicitation(`{"mode":"url","message":"?","url":"javascript:alert(1)"}`), "", "does not begin with http or https"},

		{"C16 a form that was not declared", client.Options{ElicitURL: never}, form(``), "", "has not declared the capability elicitation"},
		{"C16 a page that was not declared", client.Options{Elicit: never}, elicitation(page), "", "has not declared the capability elicitation.url"},
		{"C16 sampling that was not declared", client.Options{Elicit: never}, mcp.InputRequest{Method: mcp.MethodCreateMessage, Params: json.RawMessage(`{"messages":[],"maxTokens":1}`)}, "", "has not declared the capability sampling"},
		{"C16 roots that were not declared", client.Options{}, mcp.RootsRequest(), "", "has not declared the capability roots"},
		{"C16 not a question at all", client.Options{Elicit: never}, mcp.InputRequest{Method: mcp.MethodToolsCall}, "", "not the method of an input request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := client.Call[string](t.Context(), client.New(asking(tt.q), &tt.o), "book", nil, nil)
			if tt.fails != "" {
				wantError(t, err, tt.fails)
			} else if err != nil || got != tt.want {
				t.Errorf("answered %s, %v; want %s", got, err, tt.want)
			}
			if tt.name == "error" && !errors.Is(err, broken) {
				t.Errorf("%v is not the error of the function", err)
			}
		})
	}
}

func TestElicitationSaysWhatItIsFor(t *testing.T) {
	o := &client.Options{Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
		if e.Method != mcp.MethodToolsCall || e.Name != "book" || e.Message != "?" || e.URL != "" || len(e.Form.Fields) != 1 || e.Form.Fields[0].Name != "n" || !strings.Contains(string(e.Schema), `"n"`) {
			t.Errorf("asked with %+v", e)
		}
		return e.Decline()
	}}
	if _, err := client.Call[string](t.Context(), client.New(asking(form(`"n":{"type":"string"}`)), o), "book", nil, nil); err != nil {
		t.Error(err)
	}
}

// Nothing of a round is asked when one of its questions is refused.
func TestARefusedQuestionRefusesTheRound(t *testing.T) {
	o := &client.Options{Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
		t.Error("asked")
		return e.Decline()
	}}
	h := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		qs := map[string]mcp.InputRequest{"bad": mcp.RootsRequest()}
		for i := range 20 {
			qs[fmt.Sprint(i)] = form(``)
		}
		return mcp.Result{}, &mcp.InputRequired{Requests: qs, State: "s"}
	})
	_, err := client.New(h, o).CallTool(t.Context(), "x", nil, nil)
	wantError(t, err, `input request "bad"`)
}

func TestRounds(t *testing.T) {
	o := client.Options{Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) { return e.Accept(nil) }}
	need := func(n *mcp.InputRequired) (mcp.Handler, *int) {
		calls := new(int)
		return mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
			*calls++
			return mcp.Result{}, n
		}), calls
	}
	ask := map[string]mcp.InputRequest{"k": form(``)}
	tests := []struct {
		name   string
		need   mcp.InputRequired
		rounds int
		method string
		calls  int
		fails  string
	}{
		{"for ever", mcp.InputRequired{Requests: ask, State: "s"}, 0, mcp.MethodToolsCall, 10, "after 10 rounds"},
		{"for ever, with another limit", mcp.InputRequired{Requests: ask}, 3, mcp.MethodPromptsGet, 3, "after 3 rounds"},
		{"for ever, without questions", mcp.InputRequired{State: "s"}, 0, mcp.MethodResourcesRead, 10, "after 10 rounds"},
		{"C14 neither questions nor state", mcp.InputRequired{}, 0, mcp.MethodToolsCall, 1, "without inputRequests or requestState"},
		{"a method that cannot ask", mcp.InputRequired{Requests: ask}, 0, mcp.MethodToolsList, 1, "cannot require input"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, calls := need(&tt.need)
			o.MaxRounds = tt.rounds
			_, err := client.New(h, &o).Do(t.Context(), tt.method, nil, nil)
			wantError(t, err, tt.method, tt.fails)
			if *calls != tt.calls {
				t.Errorf("made %d rounds, want %d", *calls, tt.calls)
			}
			if e, ok := errors.AsType[*mcp.Error](err); !ok || !e.Local {
				t.Errorf("%#v is not marked as local", err)
			}
		})
	}
}

func TestSampling(t *testing.T) {
	said := &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.NewSamplingContent(mcp.Text("ho")), Model: "m"}
	create := func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		if p.SystemPrompt == "fail" {
			return nil, errors.New("the model is tired")
		}
		if p.SystemPrompt == "nothing" {
			return nil, nil
		}
		return said, nil
	}
	const messages = `"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5`
	tests := []struct{ name, params, want, fails string }{
		{"said", `{` + messages + `}`, `{"role":"assistant","content":{"type":"text","text":"ho"},"model":"m"}`, ""},
		{"failed", `{` + messages + `,"systemPrompt":"fail"}`, "", "the model is tired"},
		{"nothing", `{` + messages + `,"systemPrompt":"nothing"}`, "", "the sampling function returned nil"},
		{"tools that were not declared", `{` + messages + `,"tools":[]}`, "", "sampling.tools"},
		{"malformed", `{"messages":7}`, "", "invalid input request sampling/createMessage: messages"},
		{"results of no tool use", `{"messages":[{"role":"user","content":{"type":"tool_result","toolUseId":"x","content":[]}}],"maxTokens":5}`, "", "no unanswered tool use"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := mcp.InputRequest{Method: mcp.MethodCreateMessage, Params: json.RawMessage(tt.params)}
			got, err := client.Call[string](t.Context(), client.New(asking(q), &client.Options{Sampling: &client.Sampling{Create: create}}), "x", nil, nil)
			if tt.fails != "" {
				wantError(t, err, tt.fails)
			} else if err != nil || got != tt.want {
				t.Errorf("answered %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestDeprecatedFeaturesAreToldOf(t *testing.T) {
	var w warnings
	client.New(body(`{}`), &client.Options{Warn: w.add})
	if len(w.list) != 0 {
		t.Errorf("warned %v", w.list)
	}
	client.New(body(`{}`), &client.Options{
		Warn:     w.add,
		Sampling: &client.Sampling{},
		Roots:    func(context.Context) ([]mcp.Root, error) { return nil, nil },
		Logging:  &client.Logging{},
	})
	if len(w.list) != 3 || !strings.Contains(w.String(), "SEP-2577") {
		t.Errorf("warned %v, want one warning for each feature", w.list)
	}
}

func TestLogging(t *testing.T) {
	var level mcp.LogLevel
	h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		level = c.Caller.LogLevel
		for _, line := range []string{`{"level":"debug","data":1}`, `{"level":"warning","data":"two"}`, `{"level":"shout","data":3}`, `7`} {
			c.Notify(mcp.Notification{Method: mcp.NotificationMessage, Params: json.RawMessage(line)})
		}
		return text("ok"), nil
	})
	var got []string
	hear := func(_ context.Context, m mcp.LogMessage) { got = append(got, string(m.Data)) }
	for _, tt := range []struct {
		logging *client.Logging
		level   mcp.LogLevel
		want    string
	}{
		{nil, "", "[]"},
		{&client.Logging{}, "", "[]"},
		{&client.Logging{OnMessage: hear}, mcp.LogInfo, `["two"]`},
		{&client.Logging{OnMessage: hear, Level: mcp.LogDebug}, mcp.LogDebug, `[1 "two"]`},
		{&client.Logging{OnMessage: hear, Level: mcp.LogError}, mcp.LogError, `[]`},
	} {
		got = nil
		if _, err := client.New(h, &client.Options{Logging: tt.logging}).CallTool(t.Context(), "x", nil, nil); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != tt.want || level != tt.level {
			t.Errorf("%+v: asked for %q and heard %v, want %q and %s", tt.logging, level, got, tt.level, tt.want)
		}
	}
}

// A server may do without a response. What was wrong with its request, or with
// the function that answers, is reported then; where the call ends with it, and
// where the person said no, it is not.
func TestRefusedInputRequestIsReported(t *testing.T) {
	sampling := mcp.InputRequest{Method: mcp.MethodCreateMessage, Params: json.RawMessage(`{"messages":[],"maxTokens":1}`)}
	for name, tt := range map[string]struct {
		q        mcp.InputRequest
		fallback bool
		want     string // the warning
	}{
		"a form that cannot be shown": {form(`"n":{"type":"object","properties":{}}`), true, `an input request of tools/call "book" was answered with an error: invalid input request elicitation/create: `},
		"a function that fails":       {form(``), true, "the screen is broken"},
		"a person who says no":        {sampling, true, ""},
		"a server that needs it":      {form(``), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings []string
			o := &client.Options{
				Elicit: func(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) {
					return nil, errors.New("the screen is broken")
				},
				Sampling: &client.Sampling{Create: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
					return nil, client.ErrSamplingRejected
				}},
				Warn: func(w string) {
					if !strings.Contains(w, "deprecated") {
						warnings = append(warnings, w)
					}
				},
			}
			h := mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
				if c.Refused("k") != nil && tt.fallback {
					return text("fallback"), nil
				}
				_, err := c.Ask("k", tt.q)
				return mcp.Result{}, err
			})
			got, err := client.Call[string](t.Context(), client.New(h, o), "book", nil, nil)
			if tt.fallback && (err != nil || got != "fallback") || !tt.fallback && err == nil {
				t.Errorf("got %q, %v", got, err)
			}
			if all := strings.Join(warnings, "\n"); (all == "") != (tt.want == "") || !strings.Contains(all, tt.want) || len(warnings) > 1 {
				t.Errorf("warned of %q, want %q", all, tt.want)
			}
		})
	}
}

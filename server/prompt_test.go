package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestPromptArguments(t *testing.T) {
	s, _ := newServer(server.Options{})
	ran := 0
	server.AddPrompt(s, "p", "Says it", func(_ context.Context, _ *mcp.Call, in struct {
		Who   string  `json:"who" doc:"whom to greet" schema:"title=Who"`
		Times int     `json:"times" schema:"minimum=1,default=1"`
		Loud  bool    `json:"loud,omitempty"`
		Size  string  `json:"size,omitempty" schema:"enum=small|large"`
		Ratio float64 `json:"ratio,omitempty"`
	}) (string, error) {
		ran++
		return fmt.Sprintf("%+v", in), nil
	}, &server.PromptOptions{Title: "Say", Meta: mcp.Meta{"x": []byte("1")}})
	expect(t, "list", ask(t, s, mcp.MethodPromptsList, ""), `{"prompts":[{"name":"p","title":"Say","description":"Says it","arguments":[`+
		`{"name":"who","title":"Who","description":"whom to greet","required":true},{"name":"times"},{"name":"loud"},{"name":"size"},{"name":"ratio"}],"_meta":{"x":1}}]}`)

	rows := []struct {
		args, want string
		runs       int
	}{
		{`{"who":"you"}`, `{"description":"Says it","messages":[{"role":"user","content":{"type":"text","text":"{Who:you Times:1 Loud:false Size: Ratio:0}"}}]}`, 1},
		{`{"who":"5","times":"3","loud":"true","size":"large","ratio":"1.5e1"}`, `…{Who:5 Times:3 Loud:true Size:large Ratio:15}`, 1},
		{`{"who":"true","times":"","loud":"","ratio":""}`, `…{Who:true Times:1 Loud:false Size: Ratio:0}`, 1}, // forms send what is empty
		{`{"who":""}`, `…{Who: Times:1`, 1},
		{``, `…-32602 invalid arguments of prompt "p":` + "\nwho: ", 0},
		{`{}`, `…who: `, 0},
		{`{"who":"a","times":"many"}`, `…-32602 invalid arguments of prompt "p":` + "\ntimes: expected an integer", 0},
		{`{"who":"a","times":"0"}`, `…times: `, 0},
		{`{"who":"a","times":"1.5"}`, `…times: `, 0},
		{`{"who":"a","times":"{\"a\":1}"}`, `…times: `, 0},
		{`{"who":"a","times":"1,\"loud\":true"}`, `…times: expected an integer, got the string `, 0}, // nothing breaks out of its argument
		{`{"who":"a","loud":"yes"}`, `…loud: `, 0},
		{`{"who":"a","size":"medium"}`, `…size: `, 0},
		{`{"who":"a","whom":"b"}`, `…whom`, 0},
		{`{"who":1}`, `…-32602 parameters of prompts/get: arguments.who: expected a string, found a number`, 0},
		{`[]`, `…-32602 `, 0},
	}
	for _, row := range rows {
		ran = 0
		params := `{"name":"p"}`
		if row.args != "" {
			params = `{"name":"p","arguments":` + row.args + `}`
		}
		expect(t, row.args, ask(t, s, mcp.MethodPromptsGet, params), row.want)
		if ran != row.runs {
			t.Errorf("%s: the prompt ran %d times", row.args, ran)
		}
	}
	all := ask(t, s, mcp.MethodPromptsGet, `{"name":"p","arguments":{"times":"x","size":"y","zzz":""}}`)
	for _, part := range []string{"who: ", "times: ", "size: ", "zzz"} {
		expect(t, "all at once", all, "…"+part)
	}
	expect(t, "unknown", ask(t, s, mcp.MethodPromptsGet, `{"name":"q"}`), `-32602 unknown prompt "q"`)
	expect(t, "no name", ask(t, s, mcp.MethodPromptsGet, `{}`), `-32602 unknown prompt ""`)
}

func TestPromptOutputs(t *testing.T) {
	add := func(s *server.Server, name string, out any, err error) {
		switch out := out.(type) {
		case []mcp.PromptMessage:
			server.AddPrompt(s, name, "d", func(context.Context, *mcp.Call, nothing) ([]mcp.PromptMessage, error) { return out, err }, nil)
		case *mcp.GetPromptResult:
			server.AddPrompt(s, name, "d", func(context.Context, *mcp.Call, nothing) (*mcp.GetPromptResult, error) { return out, err }, nil)
		default:
			server.AddPrompt(s, name, "d", func(context.Context, *mcp.Call, nothing) (string, error) { return "", err }, nil)
		}
	}
	messages := []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("q")}, {Role: mcp.RoleAssistant, Content: mcp.Text("a")}}
	written := `"messages":[{"role":"user","content":{"type":"text","text":"q"}},{"role":"assistant","content":{"type":"text","text":"a"}}]}`
	rows := []struct {
		name string
		out  any
		err  error
		want string
	}{
		{"messages", messages, nil, `{"description":"d",` + written},
		{"no messages", []mcp.PromptMessage(nil), nil, `{"description":"d","messages":[]}`},
		{"result", &mcp.GetPromptResult{Messages: messages}, nil, `{` + written},
		{"nil", (*mcp.GetPromptResult)(nil), nil, `-32603 prompt "p" returned nil`},
		{"no content", []mcp.PromptMessage{{Role: mcp.RoleUser}}, nil, `-32603 prompt "p" failed`},
		{"error", "", errors.New("secret"), `-32603 prompt "p" failed`},
		{"coded", "", mcp.InvalidParams("who?"), `-32602 who?`},
		{"asks", "", &mcp.InputRequired{}, `…no code: input required`},
		{"declined", "", &server.Declined{Action: mcp.ActionDecline, Message: "Q"}, `-32602 prompt "p" needs input: The user declined: "Q"`},
		{"refused", "", &server.InputError{Method: "m", Err: errors.New("no")}, `-32602 prompt "p" needs input: The client did not answer m: no`},
	}
	for _, row := range rows {
		s, log := newServer(server.Options{})
		add(s, "p", row.out, row.err)
		got := ask(t, s, mcp.MethodPromptsGet, `{"name":"p"}`)
		expect(t, row.name, got, row.want)
		if (got == `-32603 prompt "p" failed`) != strings.Contains(log.String(), "feature failed") {
			t.Errorf("%s: the operator reads %q", row.name, log)
		}
	}
}

// A raw prompt gets its arguments as text, and only those that it declares.
func TestRawPrompt(t *testing.T) {
	s, _ := newServer(server.Options{})
	err := s.AddRawPrompt(mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a", Required: true}, {Name: "n"}}}, func(_ context.Context, _ *mcp.Call, args map[string]string) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: "user", Content: mcp.Text(fmt.Sprint(args))}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"a":"1","n":"5"}`: "map[a:1 n:5]",
		`{"n":"5"}`:         `argument \"a\" is required`,
		`{"a":"1","x":""}`:  `has no argument \"x\"`,
	} {
		res, err := s.Serve(t.Context(), &mcp.Call{Method: mcp.MethodPromptsGet, Params: []byte(`{"name":"p","arguments":` + args + `}`)})
		got := string(res.Body)
		if err != nil {
			got = fmt.Sprintf("%q", err.Error())
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
	if s.AddRawPrompt(mcp.Prompt{}, nil) == nil || s.AddRawPrompt(mcp.Prompt{Name: "q", Arguments: []mcp.PromptArgument{{Name: "a"}, {Name: "a"}}}, nil) == nil {
		t.Error("an invalid prompt was added")
	}
}

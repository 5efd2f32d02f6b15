package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

func TestComplete(t *testing.T) {
	s, log := newServer(server.Options{})
	expect(t, "before", ask(t, s, mcp.MethodComplete, `{}`), `-32601 unknown method "completion/complete"`)
	server.AddPrompt(s, "p", "", func(_ context.Context, _ *mcp.Call, in struct {
		Size  string `json:"size" schema:"enum=Small|large|larger"`
		Count int    `json:"count" schema:"enum=1|10|2"`
		Loud  bool   `json:"loud"`
		Kind  string `json:"kind" schema:"const=round"`
		Free  string `json:"free"`
		City  string `json:"city"`
		Fails string `json:"fails"`
		Asks  string `json:"asks"`
		Coded string `json:"coded"`
	}) (string, error) {
		return "", nil
	}, nil)
	template(mcp.ResourceTemplate{URITemplate: "a://{x}/{+y}", Name: "t"}, say(""))(s)
	resource(mcp.Resource{URI: "a:b", Name: "r"}, say(""))(s)
	failing := func(err error) server.CompleteFunc {
		return func(context.Context, *mcp.Call, string, map[string]string) ([]string, error) { return nil, err }
	}
	echo := func(_ context.Context, _ *mcp.Call, value string, others map[string]string) ([]string, error) {
		return []string{fmt.Sprintf("%q %v %t", value, others, others == nil)}, nil
	}
	many := func(_ context.Context, _ *mcp.Call, value string, _ map[string]string) ([]string, error) {
		return strings.Split(strings.Repeat("v,", 249)+"v", ","), nil
	}
	for _, err := range []error{
		s.CompletePrompt("p", "city", echo),
		s.CompletePrompt("p", "fails", failing(errors.New("secret"))),
		s.CompletePrompt("p", "asks", failing(&mcp.InputRequired{})),
		s.CompletePrompt("p", "coded", failing(mcp.InvalidParams("no"))),
		s.CompleteTemplate("a://{x}/{+y}", "y", many),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	prompt, tmpl := `{"type":"ref/prompt","name":"p"}`, `{"type":"ref/resource","uri":"a://{x}/{+y}"}`
	values := func(n int, v string) string {
		return fmt.Sprintf(`{"completion":{"values":[%s],"total":%d}}`, v, n)
	}
	rows := []struct{ ref, argument, value, context, want string }{
		{prompt, "size", "", "", values(3, `"Small","large","larger"`)},
		{prompt, "size", "LA", "", values(2, `"large","larger"`)},
		{prompt, "size", "x", "", values(0, ``)},
		{prompt, "size", strings.Repeat("a", 1<<20), "", values(0, ``)}, // M20
		{prompt, "count", "1", "", values(2, `"1","10"`)},
		{prompt, "kind", "", "", values(1, `"round"`)},
		{prompt, "loud", "t", "", values(1, `"true"`)},
		{prompt, "free", "x", "", values(0, ``)},
		{prompt, "city", "P", "", values(1, `"\"P\" map[] true"`)},
		{prompt, "city", "P", `{"arguments":{"country":"fr"}}`, values(1, `"\"P\" map[country:fr] false"`)},
		{prompt, "fails", "", "", `-32603 completion of prompt "p" failed`},
		{prompt, "asks", "", "", `-32603 completion of prompt "p" failed`},
		{prompt, "coded", "", "", `-32602 no`},
		{prompt, "other", "", "", `-32602 prompt "p" has no argument "other"`},
		{tmpl, "x", "", "", values(0, ``)},
		{tmpl, "z", "", "", `-32602 resource template "a://{x}/{+y}" has no argument "z"`},
		{`{"type":"ref/resource","uri":"a:b"}`, "x", "", "", values(0, ``)},
		{`{"type":"ref/prompt","name":"q"}`, "x", "", "", `-32602 unknown prompt "q"`},
		{`{"type":"ref/resource","uri":"q"}`, "x", "", "", `-32602 unknown resource template "q"`},
		{`{"type":"ref/tool","name":"q"}`, "x", "", "", `…-32602 ref.type is "ref/tool": expected `},
	}
	for _, row := range rows {
		params := fmt.Sprintf(`{"ref":%s,"argument":{"name":%q,"value":%q}`, row.ref, row.argument, row.value)
		if row.context != "" {
			params += `,"context":` + row.context
		}
		expect(t, row.ref+" "+row.argument, ask(t, s, mcp.MethodComplete, params+"}"), row.want)
	}
	if !strings.Contains(log.String(), "secret") {
		t.Errorf("the operator reads %s", log)
	}

	var cut mcp.CompleteResult
	if err := mcp.Unmarshal([]byte(ask(t, s, mcp.MethodComplete, `{"ref":`+tmpl+`,"argument":{"name":"y","value":""}}`)), &cut); err != nil {
		t.Fatal(err)
	}
	if c := cut.Completion; len(c.Values) != protocol.MaxCompletions || c.Total == nil || *c.Total != 250 || !c.HasMore {
		t.Errorf("250 values became %d, of %v, more %t", len(c.Values), c.Total, c.HasMore)
	}
}

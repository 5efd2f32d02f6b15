package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// A refusal comes back with its code, message and data. The text of an error
// without a code, which may say what is not for the far side, does not.
func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a code":      {mcp.InvalidParams("bad").With(1), `{"code":-32602,"message":"bad","data":1}`},
		"no code":     {errors.New("CANARY"), `{"code":-32603,"message":"the client failed to answer this request"}`},
		"code 0":      {&mcp.Error{Message: "odd"}, `{"code":-32603,"message":"odd"}`},
		"broken data": {&mcp.Error{Code: -1, Message: "no", Data: json.RawMessage(`{`)}, `{"code":-1,"message":"no"}`},
	} {
		answers := map[string]json.RawMessage{"a": json.RawMessage(`1`)}
		c := &mcp.Call{InputResponses: answers}
		c.Refuse("k", tt.err)
		got, err := json.Marshal(c.Refused("k"))
		if err != nil || string(got) != tt.want || c.Refusal() == nil || c.Refused("a") != nil || len(answers) != 1 {
			t.Errorf("%s came back as %s, %v; the caller's answers are %s", name, got, err, answers)
		}
		for key := range c.InputResponses {
			if mcp.IsOwnKey(key) != strings.HasPrefix(key, "tenon/") {
				t.Errorf("%s: the key %q would be sent to a server", name, key)
			}
		}
	}
	if none := new(mcp.Call); none.Refused("k") != nil || none.Refusal() != nil {
		t.Error("nothing was refused")
	}
}

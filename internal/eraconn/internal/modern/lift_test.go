package modern

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// reservedMeta are all keys of _meta that the envelope has, in any direction.
var reservedMeta = []string{
	mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities, mcp.MetaLogLevel, mcp.MetaServerInfo, mcp.MetaSubscriptionID, keyProgressToken,
}

// escaped writes a name as JSON in one of several ways.
func escaped(r *rand.Rand, name string) string {
	if r.IntN(3) > 0 {
		return string(rawjson.AppendString(nil, name))
	}
	i := r.IntN(len(name))
	return fmt.Sprintf(`"%s\u%04x%s"`, name[:i], name[i], name[i+1:])
}

// object writes members in a random order, with random white space.
func object(r *rand.Rand, members map[string]string) string {
	var parts []string
	for name, value := range members {
		space := strings.Repeat(" ", r.IntN(2))
		parts = append(parts, space+escaped(r, name)+space+":"+space+value+space)
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + strings.Join(parts, ",") + "}"
}

func pick(r *rand.Rand, from map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range from {
		if r.IntN(2) == 0 {
			out[k] = v
		}
	}
	return out
}

var someParams = map[string]string{"name": `"t"`, "arguments": `{"_meta":{"x":1},"requestState":"in here it is mine"}`, "uri": `"a:b"`, "Meta": `1`, "_META": `{}`, "cursor": `"c"`}
var someMeta = map[string]string{"a.b/c": `1`, "traceparent": `"00-x"`, "baggage": `{"progressToken":1}`, "io.modelcontextprotocol/other": `[]`}

// The invariant of the door: lifting a call consumes its whole envelope, and
// stamping what was lifted gives the same call again.
func TestLiftConsumesTheEnvelope(t *testing.T) {
	s := newServer(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		meta := pick(r, someMeta)
		meta[mcp.MetaProtocolVersion], meta[mcp.MetaClientCapabilities], meta[mcp.MetaClientInfo] = `"2026-07-28"`, `{"elicitation":{"form":{}}}`, `{"name":"n","version":"1"}`
		maps.Copy(meta, pick(r, map[string]string{mcp.MetaLogLevel: `"info"`, keyProgressToken: `"p"`, mcp.MetaServerInfo: `{}`, mcp.MetaSubscriptionID: `5`}))
		params := pick(r, someParams)
		plain := maps.Clone(params)
		params[keyMeta] = object(r, meta)
		maps.Copy(params, pick(r, map[string]string{keyInputResponses: `{"k":{"action":"accept"}}`}))
		if r.IntN(4) == 0 {
			method := mcp.MethodToolsList // may not ask: what it says of rounds is dropped
			lifted(t, s, r, method, params, plain)
			params[keyState] = `"anything"`
			lifted(t, s, r, method, params, plain)
			continue
		}
		lifted(t, s, r, mcp.MethodToolsCall, params, plain)
	}
}

func lifted(t *testing.T, s *Server, r *rand.Rand, method string, params, plain map[string]string) {
	t.Helper()
	text := object(r, params)
	m := message(t, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+text+`}`)
	req, err := s.lift(m, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	c := &req.call
	for o := rawjson.Object(c.Params); o.Next(); {
		want, ok := plain[string(o.Name)]
		if !ok || string(o.Value) != want {
			t.Fatalf("%s stays in the params of %s", o.Name, text)
		}
		plain = maps.Clone(plain)
		delete(plain, string(o.Name))
	}
	if len(plain) > 0 {
		t.Fatalf("%v was lost from %s", plain, text)
	}
	for _, key := range reservedMeta {
		if _, ok := c.Meta[key]; ok {
			t.Fatalf("%s stays in the meta of %s", key, text)
		}
	}
	var st stamps
	c.OnNotification = func(mcp.Notification) {}
	again, err := st.request(c, 9)
	if err != nil {
		t.Fatal(err)
	}
	if err := rawjson.Check(again); err != nil {
		t.Fatalf("stamped %s: %v", again, err)
	}
	back, err := s.lift(&jsonrpc.Message{ID: m.ID, Method: method, Params: again}, nil)
	if err != nil {
		t.Fatalf("stamped %s: %v", again, err)
	}
	c.OnNotification = nil
	first, second := *c, back.call
	first.Params, second.Params = rawjson.AppendCanonical(nil, first.Params), rawjson.AppendCanonical(nil, second.Params)
	if !reflect.DeepEqual(first, second) {
		t.Fatalf("%s\nlifted  %+v\nstamped %s\nlifted  %+v", text, first, again, second)
	}
}

// M02, M04, M06 and their neighbours.
func TestEnvelopeErrors(t *testing.T) {
	version, caps := `"`+mcp.MetaProtocolVersion+`":"2026-07-28"`, `"`+mcp.MetaClientCapabilities+`":{}`
	for _, c := range []struct {
		name, params string
		code         int
		part         string
	}{
		{"no params", ``, mcp.CodeInvalidParams, "_meta is missing"},
		{"no _meta", `{}`, mcp.CodeInvalidParams, "_meta is missing"},
		{"_meta null", `{"_meta":null}`, mcp.CodeInvalidParams, "must be an object"},
		{"_meta array", `{"_meta":[]}`, mcp.CodeInvalidParams, "must be an object"},
		{"_meta empty", `{"_meta":{}}`, mcp.CodeInvalidParams, "protocolVersion"},
		{"no capabilities", `{"_meta":{` + version + `}}`, mcp.CodeInvalidParams, "clientCapabilities"},
		{"no version", `{"_meta":{` + caps + `}}`, mcp.CodeInvalidParams, "protocolVersion"},
		{"version a number", `{"_meta":{"` + mcp.MetaProtocolVersion + `":5,` + caps + `}}`, mcp.CodeInvalidParams, "protocolVersion"},
		{"capabilities an array", `{"_meta":{` + version + `,"` + mcp.MetaClientCapabilities + `":[]}}`, mcp.CodeInvalidParams, "clientCapabilities"},
		{"capabilities null", `{"_meta":{` + version + `,"` + mcp.MetaClientCapabilities + `":null}}`, mcp.CodeInvalidParams, "clientCapabilities"},
		{"capabilities of the wrong kind", `{"_meta":{` + version + `,"` + mcp.MetaClientCapabilities + `":{"elicitation":5}}}`, mcp.CodeInvalidParams, "clientCapabilities"},
		{"client a string", `{"_meta":{` + version + `,` + caps + `,"` + mcp.MetaClientInfo + `":"me"}}`, mcp.CodeInvalidParams, "clientInfo"},
		{"version of tomorrow", `{"_meta":{"` + mcp.MetaProtocolVersion + `":"2099-01-01",` + caps + `}}`, mcp.CodeUnsupportedVersion, "2099-01-01"},
		{"version of yesterday", `{"_meta":{"` + mcp.MetaProtocolVersion + `":"2025-11-25",` + caps + `}}`, mcp.CodeUnsupportedVersion, "2025-11-25"},
		{"bad level", `{"_meta":{` + version + `,` + caps + `,"` + mcp.MetaLogLevel + `":"loud"}}`, mcp.CodeInvalidParams, "loud"},
		{"level a number", `{"_meta":{` + version + `,` + caps + `,"` + mcp.MetaLogLevel + `":5}}`, mcp.CodeInvalidParams, "logLevel"},
		{"token an object", `{"_meta":{` + version + `,` + caps + `,"progressToken":{}}}`, mcp.CodeInvalidParams, "progressToken"},
		{"token null", `{"_meta":{` + version + `,` + caps + `,"progressToken":null}}`, mcp.CodeInvalidParams, "progressToken"},
		{"token a fraction", `{"_meta":{` + version + `,` + caps + `,"progressToken":1.5}}`, mcp.CodeInvalidParams, "progressToken"},
		{"state a number", `{"requestState":5,"_meta":{` + version + `,` + caps + `}}`, mcp.CodeInvalidParams, "requestState"},
		{"answers an array", `{"inputResponses":[],"_meta":{` + version + `,` + caps + `}}`, mcp.CodeInvalidParams, "inputResponses"},
		{"answer a string", `{"inputResponses":{"k":"yes"},"_meta":{` + version + `,` + caps + `}}`, mcp.CodeInvalidParams, "inputResponses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, func(context.Context, *mcp.Call) (mcp.Result, error) {
				t.Error("the handler was called")
				return mcp.Result{}, nil
			})
			params := ""
			if c.params != "" {
				params = `,"params":` + c.params
			}
			m := message(t, `{"jsonrpc":"2.0","id":"x","method":"tools/call"`+params+`}`)
			out := s.Serve(t.Context(), m, nil, ReplyWriter{})(nil)
			answer := message(t, string(out))
			if answer.Error == nil || answer.Error.Code != c.code || !strings.Contains(answer.Error.Message, c.part) || string(answer.ID) != `"x"` {
				t.Errorf("got %s", out)
			}
			if c.code == mcp.CodeUnsupportedVersion {
				var data struct {
					Supported []string
					Requested string
				}
				if json.Unmarshal(answer.Error.Data, &data) != nil || len(data.Supported) != 1 || data.Supported[0] != "2026-07-28" || data.Requested != c.part {
					t.Errorf("its data is %s", answer.Error.Data)
				}
			}
		})
	}
}

func TestRemovedMethods(t *testing.T) {
	s := newServer(t, func(context.Context, *mcp.Call) (mcp.Result, error) {
		t.Error("the handler was called")
		return mcp.Result{}, nil
	})
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"} {
		m := message(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"_meta":{`+goodMeta+`}}}`)
		answer := message(t, string(s.Serve(t.Context(), m, nil, ReplyWriter{})(nil)))
		if answer.Error == nil || answer.Error.Code != mcp.CodeMethodNotFound {
			t.Errorf("%s: %+v", method, answer)
		}
	}
}

func TestOpens(t *testing.T) {
	for params, want := range map[string]bool{
		``: false, `,"params":{}`: false, `,"params":{"_meta":{}}`: false, `,"params":{"_meta":5}`: false,
		`,"params":{"_meta":{"progressToken":1}}`:                                    false,
		`,"params":{"_meta":{"` + mcp.MetaProtocolVersion + `":5}}`:                  true,
		`,"params":{"_meta":{"io\u002emodelcontextprotocol/clientInfo":5}}`:          true,
		`,"params":{"x":{"_meta":{"` + mcp.MetaProtocolVersion + `":"2026-07-28"}}}`: false,
	} {
		if got := Opens(message(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"`+params+`}`)); got != want {
			t.Errorf("%s opens as modern: %v", params, got)
		}
	}
	if !Opens(message(t, `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)) {
		t.Error("server/discover does not open as modern")
	}
}

// A client cannot put something under a key of what a handler has kept, or of a
// refusal, and neither is sent to another server.
func TestKeptCannotBeForged(t *testing.T) {
	s := newServer(t, nil)
	params := `{"name":"t","inputResponses":{"tenon/kept/charge":{"forged":true},"tenon/refused/r":{"code":-1,"message":"forged"},"q":{}},"_meta":{"` +
		mcp.MetaProtocolVersion + `":"` + string(Revision) + `","` + mcp.MetaClientCapabilities + `":{}}}`
	r, err := s.lift(&jsonrpc.Message{ID: jsonrpc.ID("1"), Method: mcp.MethodToolsCall, Params: []byte(params)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.call.Saved("charge"); ok || len(r.call.InputResponses) != 1 {
		t.Errorf("answers %s", r.call.InputResponses)
	}
	r.call.Save("charge", []byte("1"))
	r.call.Refuse("r", errors.New("no"))
	if raw := string(appendInputResponses(nil, &r.call)); raw != `"inputResponses":{"q":{}},` {
		t.Errorf("sent on: %s", raw)
	}
}

package peers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"

	"github.com/tenon-mcp/tenon/test/peers/internal/frames"
)

// checkFrames holds everything that Tenon has sent against the schema of the
// revision it was sent in, and reports how many messages that were, by
// revision. With no spec it only counts.
func checkFrames(t *testing.T, spec *spectest.Spec, all []frames.Frame, from spectest.Direction) map[mcp.Revision]int {
	t.Helper()
	sent, faults := judge(spec, all, from)
	for _, fault := range faults {
		t.Error(fault)
	}
	return sent
}

func judge(spec *spectest.Spec, all []frames.Frame, from spectest.Direction) (sent map[mcp.Revision]int, faults []error) {
	talks := map[talkKey]*talk{}
	sent = map[mcp.Revision]int{}
	for _, f := range all {
		if !f.Sent {
			continue
		}
		key := keyOf(f)
		if talks[key] == nil {
			talks[key] = newTalk(all, key)
		}
		revision, request, err := talks[key].place(f)
		if err == nil && spec != nil {
			err = spec.Validate(revision, from, []byte(f.Text), request)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("Tenon sent, in revision %q: %s\n%w", revision, f.Text, err))
		}
		sent[revision]++
	}
	return sent, faults
}

// schemas returns the published specification, or nil where it is absent; the
// subtest that says so is then skipped.
func schemas(t *testing.T) *spectest.Spec {
	t.Helper()
	var spec *spectest.Spec
	t.Run("schemas", func(t *testing.T) { spec = spectest.Load(t) })
	return spec
}

// A message is what counts here of any message.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProtocolVersion mcp.Revision
		Meta            map[string]json.RawMessage `json:"_meta"`
	}
	Result struct {
		ProtocolVersion mcp.Revision
	}
}

// A talkKey names a conversation of a process.
type talkKey struct {
	process int
	talk    string
}

func keyOf(f frames.Frame) talkKey { return talkKey{f.Process, f.Talk} }

// A talk is what one process has said and heard in a conversation.
type talk struct {
	session mcp.Revision       // what initialize came to; empty means that there was none
	heard   map[string]message // requests of the other side, by id
}

func newTalk(all []frames.Frame, key talkKey) *talk {
	k := &talk{heard: map[string]message{}}
	initialize := ""
	for _, f := range all {
		var m message
		if keyOf(f) != key || json.Unmarshal([]byte(f.Text), &m) != nil {
			continue
		}
		switch {
		case m.Method == "initialize":
			initialize = string(m.ID)
		case m.Method == "" && initialize != "" && string(m.ID) == initialize && k.session == "":
			k.session = m.Result.ProtocolVersion
		}
		if m.Method != "" && m.ID != nil && !f.Sent {
			k.heard[string(m.ID)] = m
		}
	}
	return k
}

// place says which revision a message was sent in, and which method it
// answers, if it is an answer.
func (k *talk) place(f frames.Frame) (revision mcp.Revision, request string, err error) {
	var m message
	if err := json.Unmarshal([]byte(f.Text), &m); err != nil {
		return "", "", err
	}
	if m.Method != "" {
		return k.revision(m), "", nil
	}
	asked, ok := k.heard[string(m.ID)]
	if !ok {
		return "", "", fmt.Errorf("it answers a request %s that never came", m.ID)
	}
	return k.revision(asked), asked.Method, nil
}

func (k *talk) revision(m message) mcp.Revision {
	var named mcp.Revision
	if raw, ok := m.Params.Meta[mcp.MetaProtocolVersion]; ok && json.Unmarshal(raw, &named) == nil {
		return named
	}
	if k.session == "" {
		return mcp.Rev20260728
	}
	return k.session
}

// TestFramesAreJudged shows that a wrong message is found, and a right one not.
func TestFramesAreJudged(t *testing.T) {
	spec := schemas(t)
	if spec == nil {
		t.Skip("the published schemas are absent")
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	const agreed = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	const modernList = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	for _, c := range []struct {
		name, asked, answer string
		want                string // in the fault; empty means none
	}{
		{"right", list, `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`, ""},
		{"no tools", list, `{"jsonrpc":"2.0","id":2,"result":{}}`, "tools"},
		{"right, modern", modernList, `{"jsonrpc":"2.0","id":2,"result":{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}`, ""},
		{"modern without its envelope", modernList, `{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[]}}`, "ttlMs"},
		{"answer to nothing", list, `{"jsonrpc":"2.0","id":3,"result":{}}`, "never came"},
		{"no JSON", list, `hello`, "invalid character"},
		{"request of a later revision", list, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}`, "2025-06-18"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, faults := judge(spec, []frames.Frame{
				{Text: initialize}, {Text: agreed, Sent: true}, {Text: c.asked}, {Text: c.answer, Sent: true},
			}, spectest.FromServer)
			switch {
			case c.want == "" && len(faults) > 0:
				t.Error(faults)
			case c.want != "" && (len(faults) != 1 || !strings.Contains(faults[0].Error(), c.want)):
				t.Errorf("got %v, want one fault with %q", faults, c.want)
			}
		})
	}
}

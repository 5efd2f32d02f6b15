package peers

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"

	"github.com/tenon-mcp/tenon/test/peers/internal/frames"
)

// checkFrames holds everything that Tenon has sent against the schema of the
// revision it was sent in, and reports how many messages that were, by
// revision. Without the published schemas it only counts.
func checkFrames(t *testing.T, all []frames.Frame, from spectest.Direction) map[mcp.Revision]int {
	t.Helper()
	spec := schemas(t)
	talks := map[int]*talk{}
	for _, f := range all {
		if talks[f.Process] == nil {
			talks[f.Process] = newTalk(all, f.Process)
		}
	}
	sent := map[mcp.Revision]int{}
	for _, f := range all {
		if !f.Sent {
			continue
		}
		revision, request, err := talks[f.Process].place(f)
		if err == nil && spec != nil {
			err = spec.Validate(revision, from, []byte(f.Text), request)
		}
		if err != nil {
			t.Errorf("Tenon sent, in revision %s: %s\n%v", revision, f.Text, err)
		}
		sent[revision]++
	}
	return sent
}

// schemas returns the published specification, or nil where it is absent.
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

// A talk is what one process has said and heard.
type talk struct {
	session mcp.Revision       // what initialize came to; empty means that there was none
	heard   map[string]message // requests of the other side, by id
}

func newTalk(all []frames.Frame, process int) *talk {
	k := &talk{heard: map[string]message{}}
	initialize := ""
	for _, f := range all {
		var m message
		if f.Process != process || json.Unmarshal([]byte(f.Text), &m) != nil {
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

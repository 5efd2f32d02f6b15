package mcptest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// able returns the profile of a client with all capabilities.
func able() *mcp.ClientProfile {
	p := &mcp.ClientProfile{
		Client: mcp.Implementation{Name: "mcptest", Version: "1"},
		Capabilities: mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}, URL: mcp.Settings{}},
		},
	}
	ableToo(&p.Capabilities)
	return p
}

// Connect serves h in memory and returns a connection to it as a client of one
// revision has it: every call is sent as messages. Calls without Caller are
// those of a client with all capabilities; a revision may not support some of
// them. Input requests are returned as [*mcp.InputRequired], as by any Handler.
//
// The connection ends with the test. The test fails if serving fails, or if
// [Check] returns an error for a message.
func Connect(t testing.TB, h mcp.Handler, rev mcp.Revision) mcp.Handler {
	t.Helper()
	return ConnectAs(t, h, rev, able())
}

// ConnectAs is [Connect] for a client with a profile of its own. Before
// 2026-07-28 a client declares its capabilities once, with initialize: there a
// server sees those of p, whatever the Caller of a call says.
func ConnectAs(t testing.TB, h mcp.Handler, rev mcp.Revision, p *mcp.ClientProfile) mcp.Handler {
	t.Helper()
	peer, stop, err := connect(t.Context(), h, rev, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return peer
}

func connect(ctx context.Context, h mcp.Handler, rev mcp.Revision, p *mcp.ClientProfile) (mcp.Handler, func() error, error) {
	near, stop, err := serve(h, true)
	if err != nil {
		return nil, nil, err
	}
	peer, err := era.Dial(ctx, near, p, &era.DialOptions{Known: rev})
	if err == nil && peer.Revision() != rev {
		err = fmt.Errorf("requested revision %s, but the handler uses %s", rev, peer.Revision())
		peer.Close()
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return peer, func() error {
		peer.Close()
		return stop()
	}, nil
}

// EveryEra runs a test once for each revision, with h as a client of that
// revision sees it.
func EveryEra(t *testing.T, h mcp.Handler, test func(t *testing.T, h mcp.Handler)) {
	t.Helper()
	for _, rev := range mcp.Revisions() {
		t.Run(string(rev), func(t *testing.T) { test(t, Connect(t, h, rev)) })
	}
}

package streamable_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// behindOlder serves the features of a node through a connection to a server of
// an older revision, as a gateway does: a call that requires input stays open
// there, in the memory of one replica.
func behindOlder(n *node) mcp.Handler {
	t := n.t
	t.Helper()
	s, err := era.NewServer(n.server, &era.ServerOptions{LegacyOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	near, far := jsonrpc.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() { defer close(served); s.ServeStream(ctx, far) }()
	conn, err := era.Dial(t.Context(), near, &mcp.ClientProfile{
		Client:       mcp.Implementation{Name: "gateway", Version: "1"},
		Capabilities: mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: mcp.Settings{}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); cancel(); <-served })
	return conn
}

// A call that waits at an older server continues, whichever replica gets its next
// round, and each round counts once.
func TestParkedCallsContinueAtTheirReplica(t *testing.T) {
	f := newFleetOf(t, 3, nil, behindOlder)
	a, b, c := f.nodes[0], f.nodes[1], f.nodes[2]
	_, body := a.say("POST", "", fleetCall("ask", `{}`), fleetHeaders("ask")...)
	first := fleetState(t, body)
	if !strings.HasPrefix(first, a.replica.ID()+".") {
		t.Fatalf("the state does not name its replica: %s", body)
	}
	status, body := b.say("POST", "", fleetNext("ask", first, "ask", "One"), fleetHeaders("ask")...)
	if status != 200 || !strings.Contains(body, "Second?") {
		t.Fatalf("second round: %d %s", status, body)
	}
	second := fleetState(t, body)
	status, body = b.say("POST", "", fleetNext("ask", first, "ask", "Again"), fleetHeaders("ask")...)
	if status == 200 && !strings.Contains(body, `"error"`) {
		t.Errorf("the first state was used twice: %d %s", status, body)
	}
	status, body = c.say("POST", "", fleetNext("ask", second, "ask", "Two"), fleetHeaders("ask")...)
	if status != 200 || !strings.Contains(body, "One and Two") {
		t.Errorf("last round: %d %s", status, body)
	}
}

// A state that names a replica is refused if it was changed, or is another
// principal's, and says to make the call again if that replica has stopped.
func TestParkedCallsOfOthersAndOfStoppedReplicas(t *testing.T) {
	f := newFleetOf(t, 2, byHeader, behindOlder)
	a, b := f.nodes[0], f.nodes[1]
	ada := append(fleetHeaders("ask"), "X-User", "ada")
	_, body := a.say("POST", "", fleetCall("ask", `{}`), ada...)
	state := fleetState(t, body)
	_, sealed, _ := strings.Cut(state, ".")
	refused := func(what, state string, n *node, header []string) {
		t.Helper()
		status, body := n.say("POST", "", fleetNext("ask", state, "ask", "One"), header...)
		if status != 400 || !strings.Contains(body, "requestState") {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	refused("another principal", state, b, append(fleetHeaders("ask"), "X-User", "bob"))
	refused("without its replica", sealed, b, ada)
	refused("with another replica", b.replica.ID()+"."+sealed, b, ada)
	refused("with an unknown replica", "nobody."+sealed, b, ada)
	a.kill()
	refused("a stopped replica", state, b, ada)
	status, body := b.say("POST", "", fleetCall("ask", `{}`), ada...)
	if status != 200 || !strings.Contains(body, "First?") {
		t.Errorf("the call, made again: %d %s", status, body)
	}
}

// A state of a Handler does not open at one with another scope.
func TestStatesOfAnotherScopeAreRefused(t *testing.T) {
	f := newFleet(t, 1, nil)
	other := f.startNode(func(o *streamable.Options) { o.Scope = "other" })
	_, body := f.nodes[0].say("POST", "", fleetCall("ask", `{}`), fleetHeaders("ask")...)
	_, body = f.nodes[0].say("POST", "", fleetNext("ask", fleetState(t, body), "one", "One"), fleetHeaders("ask")...)
	status, body := other.say("POST", "", fleetNext("ask", fleetState(t, body), "two", "Two"), fleetHeaders("ask")...)
	if status != 400 {
		t.Errorf("%d %s", status, body)
	}
}

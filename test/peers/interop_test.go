package peers

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"

	"github.com/tenon-mcp/tenon/test/peers/internal/frames"
)

// The revisions, under names that fit into a table.
const (
	r2024  = mcp.Rev20241105
	r2025a = mcp.Rev20250326
	r2025b = mcp.Rev20250618
	r2025c = mcp.Rev20251125
	newest = mcp.Rev20260728
)

// A peer is a program and how to start it.
type peer struct {
	name string
	args []string
}

func (p peer) command(t *testing.T) []string {
	t.Helper()
	if strings.HasSuffix(p.name, ".mjs") {
		return nodePeer(t, p.name, p.args...)
	}
	return goPeer(t, p.name, p.args...)
}

func (p peer) String() string { return strings.Join(append([]string{p.name}, p.args...), " ") }

// in adds the argument that asks a program for one revision.
func in(r mcp.Revision, p peer) peer {
	return peer{p.name, append(p.args[:len(p.args):len(p.args)], "-revision", string(r))}
}

// TestPeerClientsToTenon runs the script of every peer against Tenon's server.
func TestPeerClientsToTenon(t *testing.T) {
	gosdk, mcpgo := peer{name: "gosdkclient"}, peer{name: "mcpgoclient"}
	ts1, ts2 := peer{name: "ts1-client.mjs"}, peer{name: "ts2-client.mjs"}
	for _, pair := range []struct {
		client   peer
		only     string // the era that the server is restricted to
		revision mcp.Revision
	}{
		{gosdk, "", newest},
		{in(r2025c, gosdk), "", r2025c},
		{in(r2025b, gosdk), "", r2025b},
		{in(r2025a, gosdk), "", r2025a},
		{in(r2024, gosdk), "", r2024},
		{gosdk, "legacy", r2025c},
		{gosdk, "modern", newest},
		{mcpgo, "", newest},
		{in(r2025c, mcpgo), "", r2025c},
		{in(r2025b, mcpgo), "", r2025b},
		{in(r2025a, mcpgo), "", r2025a},
		{in(r2024, mcpgo), "", r2024},
		{mcpgo, "legacy", r2025c},
		{mcpgo, "modern", newest},
		{ts1, "", r2025c},
		{ts1, "legacy", r2025c},
		{ts2, "", newest},
		{in(newest, ts2), "", newest},
		{in(r2025c, ts2), "", r2025c},
		{in(r2025b, ts2), "", r2025b},
		{in(r2025a, ts2), "", r2025a},
		{in(r2024, ts2), "", r2024},
		{ts2, "legacy", r2025c},
		{ts2, "modern", newest},
	} {
		name := pair.client.String()
		if pair.only != "" {
			name += " to -only " + pair.only
		}
		t.Run(name, func(t *testing.T) {
			parallel(t)
			file := filepath.Join(t.TempDir(), "frames")
			server := goPeer(t, "tenonserver", "-frames", file, "-only", pair.only)
			got, stderr := runClient(t, pair.client.command(t), server)
			checkPair(t, got, stderr, pair.revision, "tenonserver", knows(pair.revision))
			checkFile(t, file, spectest.FromServer, pair.revision)
		})
	}
}

// TestTenonToPeerServers runs the same script with Tenon's client against the
// server of every peer.
func TestTenonToPeerServers(t *testing.T) {
	tenon := peer{name: "tenonclient"}
	gosdk, mcpgo := peer{name: "gosdkserver"}, peer{name: "mcpgoserver"}
	ts1, ts2 := peer{name: "ts1-server.mjs"}, peer{name: "ts2-server.mjs"}
	failed := map[string]any{"unknown-tool": map[string]any{"isError": true}}
	for _, pair := range []struct {
		client, server peer
		revision       mcp.Revision
		other          map[string]any
	}{
		{tenon, gosdk, newest, nil},
		{in(newest, tenon), gosdk, newest, nil},
		{in(r2025c, tenon), gosdk, r2025c, nil},
		{in(r2025b, tenon), gosdk, r2025b, nil},
		{in(r2025a, tenon), gosdk, r2025a, nil},
		{in(r2024, tenon), gosdk, r2024, nil},
		{tenon, in(newest, gosdk), newest, nil},
		{tenon, in(r2025c, gosdk), r2025c, nil},
		{tenon, in(r2025b, gosdk), r2025b, nil},
		{tenon, in(r2025a, gosdk), r2025a, nil},
		{tenon, in(r2024, gosdk), r2024, nil},
		{tenon, mcpgo, newest, nil},
		{in(r2025c, tenon), mcpgo, r2025c, nil},
		{in(r2025b, tenon), mcpgo, r2025b, nil},
		{in(r2025a, tenon), mcpgo, r2025a, nil},
		{in(r2024, tenon), mcpgo, r2024, nil},
		{tenon, ts1, r2025c, failed},
		{in(r2025b, tenon), ts1, r2025b, failed},
		{in(r2025a, tenon), ts1, r2025a, failed},
		{in(r2024, tenon), ts1, r2024, failed},
		{tenon, ts2, newest, nil},
		{in(r2025c, tenon), ts2, r2025c, nil},
		{in(r2025b, tenon), ts2, r2025b, nil},
		{in(r2025a, tenon), ts2, r2025a, nil},
		{in(r2024, tenon), ts2, r2024, nil},
		{tenon, peer{ts2.name, []string{"-modern"}}, newest, nil},
	} {
		t.Run(pair.client.String()+" to "+pair.server.String(), func(t *testing.T) {
			parallel(t)
			file := filepath.Join(t.TempDir(), "frames")
			client := append(pair.client.command(t), "-frames", file)
			got, stderr := runClient(t, client, pair.server.command(t))
			checkPair(t, got, stderr, pair.revision, strings.TrimSuffix(pair.server.name, ".mjs"), pair.other)
			checkFile(t, file, spectest.FromClient, pair.revision)
		})
	}
}

// knows is what Tenon's server does otherwise in revisions that have neither
// structured content nor elicitation. Not all peers are as careful.
func knows(r mcp.Revision) map[string]any {
	if r == r2024 || r == r2025a {
		return map[string]any{"add": nil, "ask": failure("which has no elicitation: it takes a client of 2025-06-18 or later")}
	}
	return nil
}

// TestRefusals has eras meet that have nothing in common: the person must be
// told what the server speaks.
func TestRefusals(t *testing.T) {
	tenonServer := func(only string) peer { return peer{"tenonserver", []string{"-only", only}} }
	for _, pair := range []struct {
		client, server peer
		want           string // in the error of the step connect
	}{
		{peer{name: "ts1-client.mjs"}, tenonServer("modern"), "2026-07-28"},
		{in(r2025c, peer{name: "ts2-client.mjs"}), tenonServer("modern"), "2026-07-28"},
		{in(r2025c, peer{name: "gosdkclient"}), tenonServer("modern"), "2026-07-28"},
		{in(r2025c, peer{name: "mcpgoclient"}), tenonServer("modern"), "2026-07-28"},
		{in(newest, peer{name: "ts2-client.mjs"}), tenonServer("legacy"), "2026-07-28"},
		{in(r2025c, peer{name: "tenonclient"}), tenonServer("modern"), "2026-07-28"},
		{in(r2025c, peer{name: "tenonclient"}), peer{"ts2-server.mjs", []string{"-modern"}}, "2026-07-28"},
	} {
		t.Run(pair.client.String()+" to "+pair.server.String(), func(t *testing.T) {
			parallel(t)
			got, stderr := runClient(t, pair.client.command(t), pair.server.command(t))
			if c := got["connect"]; c.OK || !strings.Contains(c.Error, pair.want) {
				t.Errorf("connect: %+v; want an error with %q\nstderr:\n%s", c, pair.want, stderr)
			}
		})
	}
}

// checkPair compares the steps with what is expected in a revision.
func checkPair(t *testing.T, got map[string]stepLine, stderr string, r mcp.Revision, server string, other map[string]any) {
	t.Helper()
	checkSteps(t, got, other)
	want := map[string]any{"revision": string(r), "server": server}
	if v := got["connect"].Value; !reflect.DeepEqual(v, want) {
		t.Errorf("connect: got %v, want %v", v, want)
	}
	if !strings.Contains(stderr, "slow: cancelled") {
		t.Error("the server was not told that the call is cancelled")
	}
	if t.Failed() {
		t.Logf("stderr:\n%s", stderr)
	}
}

// checkFile checks what a Tenon program has sent, and that it has sent most of
// it in the revision that was negotiated.
func checkFile(t *testing.T, file string, from spectest.Direction, r mcp.Revision) {
	t.Helper()
	all, err := frames.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	sent := checkFrames(t, schemas(t), all, from)
	if sent[r] < 15 {
		t.Errorf("only %d messages were sent in revision %s: %s", sent[r], r, fmt.Sprint(sent))
	}
}

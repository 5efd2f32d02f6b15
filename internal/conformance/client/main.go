// The program client is the client under test of the official conformance
// suite: the URL of a mock server is the last argument, and the environment
// names the scenario.
//
// It uses the packages client and streamable like any program; it detects
// the era of the server.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// The environment that the suite sets.
const (
	scenarioVar = "MCP_CONFORMANCE_SCENARIO"
	contextVar  = "MCP_CONFORMANCE_CONTEXT" // JSON, for some scenarios
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 25*time.Second) // the suite waits 30
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Getenv(scenarioVar)); err != nil {
		fmt.Fprintln(os.Stderr, "conformance client:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, scenario string) error {
	if len(args) == 0 {
		return fmt.Errorf("missing argument: the URL of the server")
	}
	play, ok := scenarios[scenario]
	endpoint := &streamclient.Endpoint{URL: args[len(args)-1], Warn: warn}
	switch {
	case strings.HasPrefix(scenario, "auth/"):
		play = call("test-tool", nil)
		var err error
		if endpoint.HTTP, err = loginClient(scenario); err != nil {
			return err
		}
	case !ok:
		return fmt.Errorf("unknown scenario %q; set %s to one of %s", scenario, scenarioVar, strings.Join(names(), ", "))
	}
	c, err := client.Dial(ctx, endpoint, &client.Options{
		Client: mcp.Implementation{Name: "tenon-conformance-client", Version: "1"},
		Elicit: agree,
		Warn:   warn,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := play(ctx, c); err != nil {
		return fmt.Errorf("%s: %w", scenario, err)
	}
	return nil
}

func names() []string {
	var all []string
	for name := range scenarios {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func warn(text string) { fmt.Fprintln(os.Stderr, "warning:", text) }

// agree accepts every form. It answers true for booleans without a default
// and uses the defaults otherwise.
func agree(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
	content := map[string]any{}
	var form struct {
		Properties map[string]map[string]json.RawMessage `json:"properties"`
	}
	if err := mcp.Unmarshal(e.Schema, &form); err != nil {
		return nil, err
	}
	for name, property := range form.Properties {
		if string(property["type"]) == `"boolean"` && property["default"] == nil {
			content[name] = true
		}
	}
	return e.Accept(content)
}

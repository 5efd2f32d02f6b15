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
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/login"
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

// Values that the suite expects of every client.
const (
	redirectURI = "http://localhost:3000/callback"
	metadataURL = "https://conformance-test.local/client-metadata.json"
)

// authContext is the context that the suite passes to some scenarios.
type authContext struct {
	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	Issuer           string `json:"issuer"`
	PrivateKeyPEM    string `json:"private_key_pem"`
	SigningAlgorithm string `json:"signing_algorithm"`

	IDPClientID      string `json:"idp_client_id"`
	IDPIDToken       string `json:"idp_id_token"`
	IDPIssuer        string `json:"idp_issuer"`
	IDPTokenEndpoint string `json:"idp_token_endpoint"`

	ValidJWT string `json:"valid_jwt"`
}

// authIdentities are the client identities of scenarios without registration.
var authIdentities = map[string]func(*login.Options, *authContext) error{
	"auth/pre-registration":                 preRegistered,
	"auth/client-credentials-basic":         withSecret,
	"auth/client-credentials-jwt":           withKey,
	"auth/enterprise-managed-authorization": byEnterprise,
	"auth/wif-jwt-bearer":                   byWorkload,
}

// loginClient returns an HTTP client that logs in as the scenario requires.
// The mock authorization servers need no user, so there is no browser.
func loginClient(scenario string) (*http.Client, error) {
	documents := fetch.New(&fetch.Options{AllowLoopback: true})
	opts := &login.Options{
		ClientName:          "Tenon conformance client",
		ClientIDMetadataURL: metadataURL,
		RedirectURI:         redirectURI,
		Authorize:           login.Follow(documents, redirectURI),
		Warn:                warn,
	}
	if identify := authIdentities[scenario]; identify != nil {
		var params authContext
		if err := mcp.Unmarshal([]byte(os.Getenv(contextVar)), &params); err != nil {
			return nil, fmt.Errorf("%s: %w", contextVar, err)
		}
		if err := identify(opts, &params); err != nil {
			return nil, err
		}
	}
	return &http.Client{Transport: login.New(opts)}, nil
}

func preRegistered(o *login.Options, c *authContext) error {
	o.Client = &login.Client{ID: c.ClientID, Secret: c.ClientSecret, Issuer: c.Issuer}
	return nil
}

func withSecret(o *login.Options, c *authContext) error {
	o.Grant = &login.ClientCredentials{Client: login.Client{ID: c.ClientID, Secret: c.ClientSecret}}
	return nil
}

func withKey(o *login.Options, c *authContext) error {
	key, err := login.ParseKey([]byte(c.PrivateKeyPEM), c.SigningAlgorithm, "")
	if err != nil {
		return err
	}
	o.Grant = &login.ClientCredentials{Client: login.Client{ID: c.ClientID, Key: key}}
	return nil
}

func byEnterprise(o *login.Options, c *authContext) error {
	o.Grant = &login.Enterprise{
		Client:           login.Client{ID: c.ClientID, Secret: c.ClientSecret},
		IDPIssuer:        c.IDPIssuer,
		IDPTokenEndpoint: c.IDPTokenEndpoint,
		IDPClient:        login.Client{ID: c.IDPClientID},
		IDToken:          func(context.Context) (string, error) { return c.IDPIDToken, nil },
	}
	return nil
}

func byWorkload(o *login.Options, c *authContext) error {
	o.Grant = &login.Workload{
		ClientID:  c.ClientID,
		Assertion: func(context.Context, string) (string, error) { return c.ValidJWT, nil },
	}
	return nil
}

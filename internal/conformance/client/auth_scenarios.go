package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/mcp"
)

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

package login_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// A program with a person before it: a browser opens at the first 401, and the
// token is kept for the next time.
func ExampleNew() {
	client := &http.Client{Transport: login.New(&login.Options{
		ClientName: "Weather desk",
		Store:      &tokens.Files{},
	})}
	_ = client // streamclient.Endpoint{URL: "https://…/mcp", HTTP: client}
}

// A machine that acts for itself and proves it with a key.
func ExampleClientCredentials() {
	text, err := os.ReadFile("client-key.pem")
	if err != nil {
		fmt.Println("no key")
		return
	}
	key, err := login.ParseKey(text, "", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = &http.Client{Transport: login.New(&login.Options{
		Grant: &login.ClientCredentials{Client: login.Client{ID: "nightly-report", Key: key}},
	})}
	// Output: no key
}

// A workload whose platform mounts a token for it.
func ExampleWorkload() {
	_ = &http.Client{Transport: login.New(&login.Options{
		Grant: &login.Workload{Assertion: func(context.Context, string) (string, error) {
			text, err := os.ReadFile("/var/run/secrets/tokens/mcp")
			return string(text), err
		}},
	})}
}

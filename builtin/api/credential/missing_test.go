package credential

import (
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api/spec"
)

// The error of a file whose credentials have no values says what to do.
func TestMissingCredentialsSayWhatToDo(t *testing.T) {
	env := spec.Auth{Kind: "header", Name: "X-Key", Value: "${env:ORDERS_API_KEY}"}
	ring := spec.Auth{Kind: "header", Name: "X-Key", Value: "${keyring:orders}"}
	app := spec.Auth{Kind: "github_app", AppID: "${env:APP}", InstallationID: "${env:INSTALLATION}", PrivateKey: "${env:KEY}"}
	both := spec.Auth{Kind: "basic", User: "${env:ME}", Password: "${file:/nope/password}"}
	for _, test := range []struct {
		list    []spec.Auth
		keyring error
		want    string
	}{
		{[]spec.Auth{env}, nil, "set the environment variable ORDERS_API_KEY"},
		{[]spec.Auth{env, ring}, nil, `set the environment variable ORDERS_API_KEY, or store it in the keyring with "tenon api key orders"`},
		{[]spec.Auth{env, ring}, errNoKeyring, "set the environment variable ORDERS_API_KEY"},
		{[]spec.Auth{ring}, errNoKeyring, "it is the entry orders of a keyring, and there is no keyring here"},
		{[]spec.Auth{app, both}, nil, "set the environment variables APP, INSTALLATION and KEY, or set the environment variable ME and write it to the file /nope/password"},
	} {
		o := Options{Service: "Orders"}
		o.Getenv = func(string) (string, bool) { return "", false }
		o.Resolver.Keyring = func(string) (string, error) { return "", test.keyring }
		_, err := New(test.list, o)
		if err == nil || err.Error() != "no credential for Orders: "+test.want {
			t.Errorf("%v", err)
		}
	}
}

// A machine without a keyring uses the credentials after it in the list.
func TestNoKeyringIsNoValue(t *testing.T) {
	o := Options{}
	o.Resolver.Keyring = func(string) (string, error) { return "", errNoKeyring }
	c, err := New([]spec.Auth{{Kind: "bearer", Token: "${keyring:github}"}, {Kind: "none"}}, o)
	if c != (none{}) || err != nil {
		t.Error(c, err)
	}
}

package login

import (
	"fmt"
	"slices"
	"strings"
)

// A CredentialError reports that a server responded with 401 but does not
// support login: it publishes no OAuth metadata or requires another scheme.
// Such a server needs an API key or a similar credential, which the program
// must send in a request header.
type CredentialError struct {
	// Server is the URL of the server.
	Server string
	// Schemes are the schemes in WWW-Authenticate, such as "Basic". Empty
	// means that there are none.
	Schemes []string
	// Err is why the fallback for servers of 2025-03-26, which need no
	// metadata, failed; nil if it was not tried.
	Err error
}

func (e *CredentialError) Error() string {
	text := e.Server + " requires a credential: status 401"
	if len(e.Schemes) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(e.Schemes, ", "))
	}
	return text + ", no OAuth metadata; send its API key or token in a request header"
}

// Unwrap returns Err.
func (e *CredentialError) Unwrap() error { return e.Err }

// unknownScheme reports whether a server requires schemes and none of them
// is an OAuth scheme.
func (c challenge) unknownScheme() bool { return len(c.schemes) > 0 && !c.bearer && !c.dpop }

// A registrationError reports that a registration endpoint does not behave
// as one.
type registrationError struct{ error }

func (e *registrationError) Unwrap() error { return e.error }

// notRegistration wraps an error of a registration endpoint unless RFC 7591
// defines its code.
func notRegistration(code string, err error) error {
	if slices.Contains([]string{"invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement"}, code) {
		return err
	}
	return &registrationError{err}
}

package login

import (
	"fmt"
	"slices"
	"strings"
)

// A CredentialError reports that a server answered 401 and does not say how to
// log in: it publishes no OAuth metadata, or asks for another scheme. Such a
// server wants an API key or a similar credential, which the program has to send
// with its requests in a header.
type CredentialError struct {
	// Server is the URL of the server.
	Server string
	// Schemes are those that the server asked for in WWW-Authenticate, such as
	// "Basic". Empty means that it named none.
	Schemes []string
	// Err is why the server was not taken for one of 2025-03-26, which needs no
	// metadata; nil if that was not tried.
	Err error
}

func (e *CredentialError) Error() string {
	text := e.Server + " wants a credential that was not given: it answered 401"
	if len(e.Schemes) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(e.Schemes, ", "))
	}
	return text + " and publishes no OAuth metadata; send its API key or token in a request header"
}

// Unwrap returns Err.
func (e *CredentialError) Unwrap() error { return e.Err }

// unknownScheme reports whether a server asks for schemes and for none that
// OAuth has.
func (c challenge) unknownScheme() bool { return len(c.schemes) > 0 && !c.bearer && !c.dpop }

// A registrationError reports that what should be a registration endpoint does
// not behave as one.
type registrationError struct{ error }

func (e *registrationError) Unwrap() error { return e.error }

// notRegistration marks an error of a registration endpoint unless it is a
// refusal that RFC 7591 defines.
func notRegistration(code string, err error) error {
	if slices.Contains([]string{"invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement"}, code) {
		return err
	}
	return &registrationError{err}
}

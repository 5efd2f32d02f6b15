package connect

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/auth/login"
)

// A LoginError reports that a server requires a login that is not permitted to
// ask for.
type LoginError struct {
	Server string
	target string // the server on the command line
}

func (e *LoginError) Error() string {
	return fmt.Sprintf("server %s wants you to log in: run tenon auth login %s", e.Server, e.target)
}

// LoginRequired returns true. Package gateway detects such errors by this method.
func (e *LoginError) LoginRequired() bool { return true }

// A CredentialError reports that a server responded with 401 and that its
// credential, such as an API key, is missing or wrong.
type CredentialError struct {
	Server  string
	Headers []string // names of the headers sent from the configuration or the command line

	target     string
	unattended bool // a login was not tried
	err        error
}

// Error says what is missing and how to set it.
func (e *CredentialError) Error() string {
	if len(e.Headers) > 0 {
		return fmt.Sprintf("server %s answers 401 to the headers that it is sent (%s): check their values, or add the header with the credential that it wants",
			e.Server, strings.Join(e.Headers, ", "))
	}
	text := fmt.Sprintf("server %s wants a credential that Tenon does not have, such as an API key: it answered 401 and publishes no OAuth metadata; "+
		"give it with --header 'Authorization: Bearer KEY' (or the header that the server wants), or in \"headers\" of the server in the configuration", e.Server)
	if e.unattended {
		text += "; if it is an older server that people log in to, run tenon auth login " + e.target
	}
	return text
}

// Unwrap returns the [login.CredentialError], if there is one.
func (e *CredentialError) Unwrap() error { return e.err }

func (s *Server) wantsCredential(err *login.CredentialError) error {
	e := &CredentialError{Server: s.entry.Name, Headers: slices.Sorted(maps.Keys(s.entry.Headers)), target: s.target(), unattended: s.opts.NoLogin}
	if err != nil {
		e.err = err
	}
	return e
}

// target returns the name of the server on the command line.
func (s *Server) target() string {
	if s.entry.Source.File == "" && s.entry.URL != "" {
		return s.entry.URL
	}
	return s.entry.Name
}

// needsUser returns the part of an error that tells the user what to do before
// the server can be used, or nil.
func needsUser(err error) error {
	if e, ok := errors.AsType[*CredentialError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*LoginError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*login.PageLimitError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*config.ApprovalError](err); ok {
		return e
	}
	return nil
}

// Proxy returns the function that chooses a proxy: "environment" means
// HTTPS_PROXY and NO_PROXY, empty none, and anything else is the URL of the
// proxy.
func Proxy(setting string) func(*http.Request) (*url.URL, error) {
	switch setting {
	case "":
		return nil
	case "environment":
		return http.ProxyFromEnvironment
	}
	return func(*http.Request) (*url.URL, error) {
		u, err := url.Parse(setting)
		if err == nil && (u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)) {
			err = errors.New("the proxy must be an http, https or socks5 URL")
		}
		return u, err
	}
}

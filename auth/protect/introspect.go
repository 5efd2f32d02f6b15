package protect

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

const (
	defaultCache = 30 * time.Second
	longestCache = 60 * time.Second
)

// IntrospectionOptions configure [Introspection].
type IntrospectionOptions struct {
	// Endpoint is the introspection endpoint (RFC 7662). Required.
	Endpoint string
	// ClientID and ClientSecret authenticate this server to the endpoint.
	// Unset means no authentication.
	ClientID, ClientSecret string
	// Issuer is the issuer of the tokens. If a response has an issuer (iss),
	// it must be exactly this one. Required.
	Issuer string
	// Audiences are the names of this resource; aud must contain one of
	// them. Required unless OnlyOurs is set; usually the Resource of the
	// Guard.
	Audiences []string
	// OnlyOurs means that the endpoint reports only tokens for this resource
	// as active, so aud is not checked. Set it only if the authorization
	// server guarantees that; otherwise tokens for other resources are
	// accepted.
	OnlyOurs bool
	// CacheFor is how long a result is cached, and so how long a revoked
	// token may still be used. 0 means 30 s, more than 60 s means 60 s, and
	// a negative value disables the cache.
	CacheFor time.Duration
	// Fetch sends requests to the endpoint. Nil means a client that reaches
	// public addresses only.
	Fetch *fetch.Client
}

// Introspection returns a Verifier that asks the issuer about tokens (RFC
// 7662). Results are cached by a hash of the token; concurrent requests with
// the same token cause one query. While the endpoint does not respond, no
// token is accepted.
//
// An endpoint that responds with 429 or 503 is not queried for the time in
// Retry-After, at least 1 s and at most 60 s, or 5 s without it; one that
// cannot be reached, for 1 s. Meanwhile tokens without a cached result are
// refused with [ErrUnavailable]. After that, one request at a time queries
// the endpoint until one succeeds.
func Introspection(options *IntrospectionOptions) (Verifier, error) {
	var o IntrospectionOptions
	if options != nil {
		o = *options
	}
	if o.Endpoint == "" {
		return nil, errors.New("protect: introspection needs an Endpoint")
	}
	if err := checkIssuer(o.Issuer); err != nil {
		return nil, err
	}
	if !o.OnlyOurs && (len(o.Audiences) == 0 || slices.Contains(o.Audiences, "")) {
		return nil, errors.New("protect: introspection needs Audiences; without them it would accept tokens for other resources")
	}
	o.CacheFor = cmp.Or(o.CacheFor, defaultCache)
	o.CacheFor = min(o.CacheFor, longestCache)
	if o.Fetch == nil {
		o.Fetch = fetch.New(nil)
	}
	v := &introspector{opts: o, now: time.Now}
	v.verdicts = newVerdicts(func() time.Time { return v.now() })
	return v, nil
}

type introspector struct {
	opts     IntrospectionOptions
	verdicts *verdicts
	gate     gate
	now      func() time.Time
}

func (v *introspector) Verify(ctx context.Context, token string, _ *http.Request) (*Identity, error) {
	if v.opts.CacheFor < 0 {
		return v.ask(ctx, token)
	}
	return v.verdicts.get(ctx, sha256.Sum256([]byte(token)), func(ctx context.Context) (verdict, bool) {
		id, err := v.ask(ctx, token)
		until := v.now().Add(v.opts.CacheFor)
		if err == nil && !id.Expires.IsZero() && id.Expires.Before(until) {
			until = id.Expires
		}
		return verdict{id, err, until}, !errors.Is(err, ErrUnavailable)
	})
}

// ask queries the endpoint, unless it is paused.
func (v *introspector) ask(ctx context.Context, token string) (*Identity, error) {
	leave, err := v.gate.enter(v.now())
	if err != nil {
		return nil, unavailable(fmt.Errorf("%s: %w", fetch.Redact(v.opts.Endpoint), err))
	}
	var pause time.Duration
	defer func() { leave(v.now(), pause) }()
	status, got, body, err := v.post(ctx, token)
	if err != nil {
		pause = shortestPause
		return nil, unavailable(&pausedError{pause, err})
	}
	if pause = pauseOf(status, got, v.now()); pause > 0 {
		return nil, unavailable(&pausedError{pause, &fetch.StatusError{URL: fetch.Redact(v.opts.Endpoint), Status: status}})
	}
	return v.read(status, got, body)
}

func (v *introspector) post(ctx context.Context, token string) (int, http.Header, []byte, error) {
	header := http.Header{}
	if v.opts.ClientID != "" {
		r := http.Request{Header: header}
		r.SetBasicAuth(url.QueryEscape(v.opts.ClientID), url.QueryEscape(v.opts.ClientSecret))
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	return v.opts.Fetch.PostForm(ctx, v.opts.Endpoint, form, header)
}

// read parses a response of the endpoint.
func (v *introspector) read(status int, got http.Header, body []byte) (*Identity, error) {
	switch {
	case status == http.StatusBadRequest && unsupported(got, body):
		return nil, invalid("this kind of token cannot be verified")
	case status != http.StatusOK:
		return nil, unavailable(&fetch.StatusError{URL: fetch.Redact(v.opts.Endpoint), Status: status})
	case !fetch.IsJSON(got):
		return nil, unavailable(fmt.Errorf("the response of %s is not JSON", fetch.Redact(v.opts.Endpoint)))
	}
	response, err := readClaims(body)
	if err != nil {
		return nil, unavailable(fmt.Errorf("the response of %s is not a valid JSON object", fetch.Redact(v.opts.Endpoint)))
	}
	return v.judge(response)
}

// unsupported reports whether an endpoint does not support a token, as some
// do with JWTs. It depends only on the token, so repeating the query does
// not help.
func unsupported(header http.Header, body []byte) bool {
	if !fetch.IsJSON(header) {
		return false
	}
	got, err := readClaims(body)
	if err != nil {
		return false
	}
	code, _ := got.text("error")
	return code == "unsupported_token_type"
}

// judge returns the identity of a token from the response of the endpoint.
func (v *introspector) judge(got claims) (*Identity, error) {
	if string(got["active"]) != "true" {
		return nil, invalid("the token is not active")
	}
	if _, ok := got["iss"]; ok {
		if issuer, _ := got.text("iss"); issuer != v.opts.Issuer {
			return nil, invalid("the token is from another issuer")
		}
	}
	if !v.opts.OnlyOurs {
		if err := got.checkAudience(v.opts.Audiences); err != nil {
			return nil, err
		}
	}
	return got.identity(v.opts.Issuer, v.now())
}

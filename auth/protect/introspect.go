package protect

import (
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

// IntrospectionOptions say whom to ask about tokens that mean nothing by
// themselves.
type IntrospectionOptions struct {
	// Endpoint is the URL of RFC 7662. Required.
	Endpoint string
	// ClientID and ClientSecret are how this server says to the endpoint who it
	// is. Unset means not at all.
	ClientID, ClientSecret string
	// Issuer vouches for the answers; if one names an issuer (iss) it must be
	// this one, to the byte. Required.
	Issuer string
	// Audiences are the names of this resource: aud must hold one of them.
	// Required, unless OnlyOurs is set; usually the Resource of the Guard.
	Audiences []string
	// OnlyOurs means that the endpoint calls only those tokens active that are
	// meant for this resource, so aud is not looked at. Set it only if the
	// authorization server promises that: otherwise a token for anybody is good
	// for you.
	OnlyOurs bool
	// CacheFor is how long an answer is believed, good or bad, and so how long
	// a token that was taken back may still be used. 0 means 30 s; more than 60
	// s means 60 s; less than 0 means not at all.
	CacheFor time.Duration
	// Fetch asks the endpoint. Nil means a client that reaches public addresses
	// only.
	Fetch *fetch.Client
}

// Introspection verifies tokens by asking the server that issued them. Answers
// are kept under a hash of the token; many requests with one token make one
// query. When the endpoint does not answer, nothing is let in.
//
// An endpoint that answers 429 or 503 is left alone for as long as Retry-After
// says, at least 1 s and at most 60 s, or 5 s if it does not say; one that
// cannot be reached, for 1 s. Meanwhile tokens without a kept answer are
// refused with [ErrUnavailable]. After that one request at a time asks, until
// one is answered.
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
		return nil, errors.New("protect: introspection needs Audiences: without them it would accept tokens that were meant for others")
	}
	if o.CacheFor == 0 {
		o.CacheFor = defaultCache
	}
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

// ask makes one question to the endpoint, unless it wants to be left alone.
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

// read reads an answer of the endpoint.
func (v *introspector) read(status int, got http.Header, body []byte) (*Identity, error) {
	switch {
	case status == http.StatusBadRequest && unsupported(got, body):
		return nil, invalid("the token is not of a kind that can be verified here")
	case status != http.StatusOK:
		return nil, unavailable(&fetch.StatusError{URL: fetch.Redact(v.opts.Endpoint), Status: status})
	case !fetch.IsJSON(got):
		return nil, unavailable(fmt.Errorf("%s did not answer with JSON", fetch.Redact(v.opts.Endpoint)))
	}
	said, err := readClaims(body)
	if err != nil {
		return nil, unavailable(fmt.Errorf("%s did not answer with a strict JSON object", fetch.Redact(v.opts.Endpoint)))
	}
	return v.judge(said)
}

// unsupported reports whether an endpoint refuses to look at a token, as some do
// with JWTs. That says something about the token and nothing about the endpoint,
// so asking again is of no use.
func unsupported(header http.Header, body []byte) bool {
	if !fetch.IsJSON(header) {
		return false
	}
	said, err := readClaims(body)
	if err != nil {
		return false
	}
	code, _ := said.text("error")
	return code == "unsupported_token_type"
}

// judge says who a token stands for by what the endpoint says about it.
func (v *introspector) judge(said claims) (*Identity, error) {
	if string(said["active"]) != "true" {
		return nil, invalid("the token is not active")
	}
	if _, ok := said["iss"]; ok {
		if issuer, _ := said.text("iss"); issuer != v.opts.Issuer {
			return nil, invalid("the token was issued by somebody else")
		}
	}
	if !v.opts.OnlyOurs {
		if err := said.checkAudience(v.opts.Audiences); err != nil {
			return nil, err
		}
	}
	return said.identity(v.opts.Issuer, v.now())
}

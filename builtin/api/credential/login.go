package credential

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A login waits for the user, who logs in on another page. It outlives the call
// that began it: a later round or a later call of the same caller goes on with it.
type login struct {
	page    string // for the user
	message string
	expires time.Time
	finish  func(ctx context.Context) (*token, error) // waits for the user; errNotYet if ctx ends before
	close   func()
}

// errNotYet says that the wait for the user has ended. The login goes on.
var errNotYet = errors.New("the user has not logged in yet; call the tool again afterwards")

// loginWait is how long one call waits for the user: less than clients and gateways
// wait for a silent server.
const loginWait = 50 * time.Second

// loginUser asks the user to log in and returns the token.
func (c *oauth) loginUser(ctx context.Context, call *mcp.Call, a *account) (*token, error) {
	l := a.login
	if l == nil || time.Now().After(l.expires) {
		if l != nil {
			l.close()
		}
		var err error
		if l, err = c.begin(ctx, a.key); err != nil {
			return nil, err
		}
		l.page, l.message = c.opts.hide(l.page), c.opts.hide(l.message)
		a.login = l
	}
	if err := ask(call, l); err != nil {
		if _, declined := errors.AsType[*server.Declined](err); declined {
			l.close()
			a.login = nil
		}
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	t, err := l.finish(wait)
	if errors.Is(err, errNotYet) {
		return nil, cmp.Or(ctx.Err(), err)
	}
	l.close()
	a.login = nil
	return t, err
}

// ask shows the page to the user: by an elicitation if the client has any, and
// else as the text of the error. Each login has a question of its own, so that the
// answer to an earlier one does not count.
func ask(call *mcp.Call, l *login) error {
	var can *mcp.ElicitationCapability
	if call != nil && call.Caller.Capabilities != nil {
		can = call.Caller.Capabilities.Elicitation
	}
	sum := sha256.Sum256([]byte(l.page + "\x00" + l.message))
	key := "login " + hex.EncodeToString(sum[:8])
	switch {
	case can == nil:
		return fmt.Errorf("%s Tell the user to open %s and call the tool again afterwards", l.message, l.page)
	case can.URL != nil:
		return server.ElicitURL(call, key, l.message, l.page)
	}
	_, err := server.Elicit[finished](call, key, l.message+" Open "+l.page+" and confirm here when you have finished.")
	return err
}

// finished is the form of a login for clients that cannot open pages.
type finished struct {
	Done bool `json:"done" doc:"you have logged in" schema:"title=Done,default=true"`
}

func (c *oauth) begin(ctx context.Context, account string) (*login, error) {
	if c.spec.Grant == "device" {
		return c.beginDevice(ctx, account)
	}
	return c.beginCode(account)
}

// beginDevice starts a device authorization (RFC 8628).
func (c *oauth) beginDevice(ctx context.Context, account string) (*login, error) {
	form := url.Values{"client_id": {c.spec.ClientID}}
	if len(c.spec.Scopes) > 0 {
		form.Set("scope", strings.Join(c.spec.Scopes, " "))
	}
	for name, value := range c.spec.Params {
		form.Set(name, value)
	}
	var res struct {
		Device   string  `json:"device_code"`
		User     string  `json:"user_code"`
		Page     string  `json:"verification_uri"`
		Complete string  `json:"verification_uri_complete"`
		Expires  seconds `json:"expires_in"`
		Interval seconds `json:"interval"`
	}
	if err := post(ctx, c.opts.Client, c.spec.DeviceURL, form, c.basic, &res); err != nil {
		return nil, err
	}
	if res.Device == "" || res.User == "" || !webPage(res.Page) {
		return nil, errors.New("the device authorization has no code or no page")
	}
	page := res.Page
	if webPage(res.Complete) {
		page = res.Complete
	}
	c.opts.learned(account, res.Device)
	every := min(cmp.Or(res.Interval.duration(), 5*time.Second), time.Minute)
	return &login{
		page: page, message: fmt.Sprintf("Log in to %s with the code %s.", c.opts.Service, res.User),
		expires: time.Now().Add(min(max(res.Expires.duration(), time.Minute), time.Hour)), close: func() {},
		finish: func(ctx context.Context) (*token, error) { return c.pollDevice(ctx, account, res.Device, every) },
	}, nil
}

func webPage(page string) bool {
	u, err := url.Parse(page)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// pollDevice requests the token until the user has logged in. A request is not
// cancelled: its response may have the token, which is for one use. The timeout of the
// client applies. A server that is away is asked again, less and less often.
func (c *oauth) pollDevice(ctx context.Context, account, code string, every time.Duration) (*token, error) {
	for {
		t, err := c.request(context.WithoutCancel(ctx), account, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {code}})
		failed, ok := errors.AsType[*tokenError](err)
		away, passes := errors.AsType[passing](err)
		switch {
		case err == nil:
			return t, nil
		case passes:
			every = min(2*every, time.Minute)
		case ok && failed.code == "slow_down":
			every += 5 * time.Second
		case !ok || failed.code != "authorization_pending":
			return nil, err
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			if passes {
				return nil, fmt.Errorf("%w (%w)", errNotYet, away)
			}
			return nil, errNotYet
		}
	}
}

// beginCode starts an authorization code login with PKCE. The callback arrives at
// this machine.
func (c *oauth) beginCode(account string) (*login, error) {
	listener, redirect, err := c.listen()
	if err != nil {
		return nil, fmt.Errorf("wait for the login: %w", err)
	}
	state, verifier := rand.Text(), rand.Text()+rand.Text()
	u, err := url.Parse(c.spec.AuthorizeURL)
	if err != nil {
		listener.Close()
		return nil, errors.New("invalid authorize_url")
	}
	sum := sha256.Sum256([]byte(verifier))
	q := u.Query()
	q.Set("response_type", "code")
	q.Set("client_id", c.spec.ClientID)
	q.Set("redirect_uri", redirect.String())
	q.Set("state", state)
	q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]))
	q.Set("code_challenge_method", "S256")
	if len(c.spec.Scopes) > 0 {
		q.Set("scope", strings.Join(c.spec.Scopes, " "))
	}
	for name, value := range c.spec.Params {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	answer := make(chan url.Values, 1)
	srv := &http.Server{Handler: callback(redirect.Path, state, answer), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10}
	go srv.Serve(listener) // ends with close below
	expire := time.AfterFunc(10*time.Minute, func() { srv.Close() })
	return &login{
		page: u.String(), message: fmt.Sprintf("Log in to %s in the browser.", c.opts.Service), expires: time.Now().Add(10 * time.Minute),
		close: func() { expire.Stop(); srv.Close() },
		finish: func(ctx context.Context) (*token, error) {
			select {
			case got := <-answer:
				if code := got.Get("error"); code != "" {
					return nil, &tokenError{code: code}
				}
				ctx = context.WithoutCancel(ctx) // the code is for one use; the timeout of the client applies
				return c.request(ctx, account, url.Values{"grant_type": {"authorization_code"}, "code": {got.Get("code")}, "redirect_uri": {redirect.String()}, "code_verifier": {verifier}})
			case <-ctx.Done():
				return nil, errNotYet
			}
		},
	}, nil
}

// listen opens the address of the redirect URL.
func (c *oauth) listen() (net.Listener, *url.URL, error) {
	redirect := &url.URL{Scheme: "http", Host: "127.0.0.1:0", Path: "/callback"}
	if c.spec.RedirectURL != "" {
		u, err := url.Parse(c.spec.RedirectURL)
		if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" || u.Port() == "" {
			return nil, nil, errors.New("redirect_url must be like http://127.0.0.1:8765/callback")
		}
		redirect = u
	}
	l, err := net.Listen("tcp4", "127.0.0.1:"+redirect.Port())
	if err == nil && redirect.Port() == "0" {
		redirect.Host = l.Addr().String()
	}
	return l, redirect, err
}

// callback accepts the one response with the right state.
func callback(path, state string, answer chan<- url.Values) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		host, _, _ := net.SplitHostPort(r.Host)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if r.Method != http.MethodGet || r.URL.Path != path || host != "127.0.0.1" && host != "localhost" || len(q["state"]) != 1 ||
			subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 || q.Get("code") == "" && q.Get("error") == "" {
			http.Error(w, "This is not the login that was expected.", http.StatusBadRequest)
			return
		}
		select {
		case answer <- q:
			fmt.Fprintln(w, "You can close this page and go back.")
		default:
			http.Error(w, "This login has been used already.", http.StatusBadRequest)
		}
	})
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/app/weblogin"
	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/auth/tokens/sealed"
	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// gatewayCredentials is what the gateway uses at servers on behalf of its callers:
// the tokens of callers that are exchanged, and the logins of users.
//
// Builtin servers for APIs get the calls themselves, with the principal and the
// token of the caller, and keep the tokens of logins in the store of the gateway.
type gatewayCredentials struct {
	p   *program
	log *slog.Logger

	loop    *loopGuard
	callers callerTokens
	logins  atomic.Bool // users log in to a server
	started bool

	mu         sync.Mutex
	pages      *weblogin.Service // nil until it is known where its pages are
	transports map[string]http.RoundTripper
	opened     lazyLogins
	replica    *cluster.Replica // nil if the gateway is alone
}

// prepare says what the servers of entries need: the tokens of callers, or pages to
// log in at.
// It runs at the start and for each reload.
func (g *gatewayCredentials) prepare(v *gatewayFlags, entries []config.Server) error {
	if !g.started { // the gateway reads it when it begins to serve
		v.keepToken = true // a server, or the file of an API, may exchange it later
	}
	for _, e := range entries {
		switch {
		case e.OAuth.NeedsCallerToken() && v.issuer == "":
			return usagef("server %s exchanges the tokens of callers: serve the gateway with --auth-issuer", e.Name)
		case e.OAuth.NeedsCallerToken():
			g.callers.keepOf(v.issuer)
		case e.OAuth.OnBehalf():
			if _, err := g.store()(); err != nil { // to report a wrong key now
				return err
			}
			g.logins.Store(true)
		}
	}
	g.started = true
	return nil
}

// callerTokens has the last token of each caller, in memory only: a connection to a
// server is made, and its token renewed, outside of the calls that need it.
type callerTokens struct {
	mu     sync.Mutex
	issuer string                 // whose tokens are kept: API keys are not exchanged; empty means none
	known  map[string]callerToken // by [gateway.GrantKey]
}

type callerToken struct {
	text string
	used time.Time
}

const (
	callerTokenLife = time.Hour // since the last call
	maxCallerTokens = 100_000
)

// errNoCallerToken is the error of an exchange for a caller who has not called for
// long, or has no token.
var errNoCallerToken = errors.New("the caller has no token; the gateway needs --auth-issuer")

// keepOf keeps the tokens of an issuer from now on. A reload may call it.
func (t *callerTokens) keepOf(issuer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.issuer = issuer
}

// keep records the token of the caller of a call.
func (t *callerTokens) keep(ctx context.Context, c *mcp.Call) {
	t.record(protect.Token(ctx), c.Caller.Principal)
}

func (t *callerTokens) record(token string, who *mcp.Principal) {
	if token == "" || who == nil {
		return
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if who.Issuer != t.issuer {
		return
	}
	if t.known == nil {
		t.known = map[string]callerToken{}
	}
	if len(t.known) >= maxCallerTokens {
		maps.DeleteFunc(t.known, func(_ string, old callerToken) bool { return now.Sub(old.used) > callerTokenLife })
	}
	t.known[gateway.GrantKey(who)] = callerToken{token, now}
}

// of returns the function that returns the token of a caller.
func (t *callerTokens) of(who *mcp.Principal) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if known, ok := t.known[gateway.GrantKey(who)]; ok && who != nil && time.Since(known.used) < callerTokenLife {
			return known.text, nil
		}
		return "", errNoCallerToken
	}
}

// middleware keeps the tokens of callers. They are there only if the guard keeps
// them.
func (t *callerTokens) middleware(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		t.keep(ctx, c)
		return next.Serve(ctx, c)
	})
}

// transport returns the transport to the server of an entry, which refuses
// addresses that no server has.
func (g *gatewayCredentials) transport(entry config.Server) (http.RoundTripper, error) {
	if entry.URL == "" {
		return nil, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.transports[entry.URL]; t != nil {
		return t, nil
	}
	guarded, err := connect.GuardedTransport(entry.URL)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", entry.Name, err)
	}
	if g.transports == nil {
		g.transports = map[string]http.RoundTripper{}
	}
	t := g.loop.transport(guarded)
	g.transports[entry.URL] = t
	return t, nil
}

// callerScope returns which callers share a connection to a server; empty means
// that all do. Users of a server that the gateway uses on their behalf have
// connections of their own, whatever the entry says.
func callerScope(entry config.Server) gateway.Scope {
	switch {
	case entry.OAuth.NeedsCallerToken() && gateway.Scope(entry.Connection.Scope) != gateway.PerSession:
		return gateway.PerGrant
	case entry.Connection.PerCaller():
		return gateway.Scope(entry.Connection.Scope)
	case entry.OAuth.OnBehalf():
		return gateway.PerUser
	}
	return ""
}

// dial opens the connection of a caller to a server, with guard around it.
func (g *gatewayCredentials) dial(entry config.Server, o *connect.Options, who *mcp.Principal, guard mcp.Middleware) (mcp.Conn, error) {
	switch {
	case entry.OAuth.NeedsCallerToken():
		o.Subject, o.Account = g.callers.of(who), gateway.GrantKey(who)
	case entry.OAuth.OnBehalf():
		return g.dialLogin(entry, o, who, guard)
	}
	return mcp.ChainConn(connect.New(entry, o), guard), nil
}

// dialLogin opens a connection that starts when the user has logged in. The tool to
// log in is the gateway's own, and not subject to guard.
func (g *gatewayCredentials) dialLogin(entry config.Server, o *connect.Options, who *mcp.Principal, guard mcp.Middleware) (mcp.Conn, error) {
	g.mu.Lock()
	pages := g.pages
	g.mu.Unlock()
	if pages == nil {
		return nil, fmt.Errorf("users cannot log in to server %s here", entry.Name)
	}
	given := connect.LoginOptions(entry, o.Proxy)
	given.Base = o.Transport
	own := pages.Of(weblogin.Server{Name: entry.Name, URL: entry.URL, Login: *given}, who)
	o.Tokens, o.Account, o.NoLogin = g.store(), own.Account(), true
	entry.Disabled = true // until there is a login
	s := connect.New(entry, o)
	needsLogin := gateway.RequireLogin(gateway.LoginOptions{Server: entry.Name, Login: own, Connect: s.Restart, Disconnect: s.Disable, Wait: loginWait(entry.Timeout)})
	return mcp.ChainConn(s, needsLogin, guard), nil
}

// loginWait returns how long a call waits for a login: less than the idle timeout of
// calls, so that the client is asked again instead.
func loginWait(timeout time.Duration) time.Duration {
	const usual = 50 * time.Second
	if timeout > 0 && timeout < usual*6/5 {
		return timeout * 5 / 6
	}
	return usual
}

// serveLogins returns the pages at which users log in, by their paths. Guard is
// that of the gateway, nil if it has a single user.
func (g *gatewayCredentials) serveLogins(v *serving, at net.Addr, guard *protect.Guard) (map[string]http.Handler, error) {
	origin := loginOrigin(v, at)
	var id *weblogin.Identity
	if guard != nil {
		id = &weblogin.Identity{Identify: guard.Identify, Resource: cmp.Or(v.audience, v.public, v.scheme()+"://"+at.String()+streamable.Path), Scopes: v.scopes}
		if v.issuer != "" {
			id.Issuers = []string{v.issuer}
		}
	}
	s, err := g.openPages(origin, id)
	if err != nil && !g.logins.Load() { // nobody needs them here, until the configuration changes
		return map[string]http.Handler{}, nil
	}
	if err != nil {
		return nil, err
	}
	return map[string]http.Handler{weblogin.Path: s, weblogin.Path + "/": s}, nil
}

// loginOrigin returns how browsers reach the login pages: --public-url says so. The
// audience of tokens often is the URL of the gateway, but may be any name.
func loginOrigin(v *serving, at net.Addr) string {
	for _, text := range []string{v.public, v.audience} {
		if u, err := url.Parse(text); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
			return u.Scheme + "://" + u.Host
		}
	}
	return v.scheme() + "://" + at.String()
}

// openPages opens the service of login pages. Their store is opened when it is
// needed.
func (g *gatewayCredentials) openPages(origin string, id *weblogin.Identity) (*weblogin.Service, error) {
	settings, err := g.p.gatewayLoginSettings()
	if err != nil {
		return nil, err
	}
	if id != nil && settings.ClientID != "" {
		id.Client = &login.Client{ID: settings.ClientID}
		if settings.ClientSecret != "" {
			if id.Client.Secret, err = g.p.reference(settings.ClientSecret); err != nil {
				return nil, usagef("gateway.logins.clientSecret: %v", err)
			}
		}
	}
	s, err := weblogin.New(&weblogin.Options{Origin: origin, Store: g.store(), Identity: id, ClientName: "Tenon gateway", Replica: g.replica, Log: g.log})
	if err != nil {
		return nil, usageError{err}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages = s
	return s, nil
}

// store returns the store of the logins, which is opened, and its key created, when
// it is first used.
func (g *gatewayCredentials) store() lazyLogins {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = sync.OnceValues(g.p.gatewayLogins)
	}
	return g.opened
}

// openAPI opens a builtin server for an API. The tokens of callers who log in there
// are with the other logins of the gateway's users.
func (g *gatewayCredentials) openAPI(name string, query url.Values) (connect.Builtin, error) {
	s, err := builtin.OpenWith(name, query, builtin.Options{CallerTokens: g.store(), RemoteClients: true})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// lazyLogins is a [tokens.Store] that is opened when it is first used.
type lazyLogins func() (sealed.Store, error)

// Load implements [tokens.Store].
func (open lazyLogins) Load(ctx context.Context, key string) (tokens.Secret, error) {
	s, err := open()
	if err != nil {
		return nil, err
	}
	return s.Load(ctx, key)
}

// Save implements [tokens.Store].
func (open lazyLogins) Save(ctx context.Context, key string, value tokens.Secret) error {
	s, err := open()
	if err != nil {
		return err
	}
	return s.Save(ctx, key, value)
}

// Delete implements [tokens.Store].
func (open lazyLogins) Delete(ctx context.Context, key string) error {
	s, err := open()
	if err != nil {
		return err
	}
	return s.Delete(ctx, key)
}

// Lock implements [tokens.Locker].
func (open lazyLogins) Lock(ctx context.Context, key string) (unlock func(), err error) {
	s, err := open()
	if err != nil {
		return nil, err
	}
	return s.Lock(ctx, key)
}

// servePages serves the login pages of a gateway on standard input and output, at
// an address of this machine. It returns a function that ends it.
func (g *gatewayCredentials) servePages() (end func(), err error) {
	if !g.logins.Load() {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s, err := g.openPages("http://"+l.Addr().String(), nil)
	if err != nil {
		l.Close()
		return nil, err
	}
	web := streamable.NewHTTPServer(s)
	var served sync.WaitGroup
	served.Go(func() { _ = web.Serve(l) }) // until it is closed
	return func() {
		web.Close()
		served.Wait()
	}, nil
}

// close ends logins that are not finished, and idle connections.
func (g *gatewayCredentials) close() {
	g.mu.Lock()
	pages, transports := g.pages, g.transports
	g.mu.Unlock()
	if pages != nil {
		pages.Close()
	}
	for _, t := range transports {
		(&http.Client{Transport: t}).CloseIdleConnections()
	}
}

func (p *program) gatewayLoginSettings() (config.GatewayLogins, error) {
	c, err := p.config()
	if err != nil {
		return config.GatewayLogins{}, err
	}
	return c.Settings().Gateway.Logins, nil
}

// gatewayLogins returns the encrypted store of the logins of the gateway's users.
func (p *program) gatewayLogins() (sealed.Store, error) {
	settings, err := p.gatewayLoginSettings()
	if err != nil {
		return nil, err
	}
	folder, err := p.configDir()
	if err != nil {
		return nil, err
	}
	folder = filepath.Join(folder, "gateway")
	keys, err := p.gatewayLoginKeys(settings, folder)
	if err != nil {
		return nil, err
	}
	if p.shared != nil {
		return &sealed.Cluster{Store: p.shared, Keys: keys}, nil
	}
	return &sealed.Files{Dir: cmp.Or(settings.Dir, filepath.Join(folder, "logins")), Keys: keys}, nil
}

// gatewayTaskKeys returns a function that returns the keys that sign the ids of
// tasks. They are derived from those of the logins, so that gateways that share these
// accept each other's ids. Replicas without such a key derive them from the keys of
// their cluster.
func (p *program) gatewayTaskKeys() func() ([][]byte, error) {
	own := sync.OnceValues(p.loginTaskKeys)
	return func() ([][]byte, error) {
		keys, err := own()
		if shared := p.taskKeys.Load(); shared != nil && keys == nil && err == nil {
			return *shared, nil
		}
		return keys, err
	}
}

// loginTaskKeys returns the keys that are derived from those of the logins. It
// returns none for replicas whose configuration names no key.
func (p *program) loginTaskKeys() ([][]byte, error) {
	settings, err := p.gatewayLoginSettings()
	if err != nil {
		return nil, err
	}
	if p.shared != nil && settings.Key == "" {
		return nil, nil
	}
	folder, err := p.configDir()
	if err != nil {
		return nil, err
	}
	keys, err := p.gatewayLoginKeys(settings, filepath.Join(folder, "gateway"))
	if err != nil {
		return nil, err
	}
	return keys.Derive(taskKeyPurpose)
}

// taskKeyPurpose is what the keys that sign the ids of tasks are derived for.
const taskKeyPurpose = "gateway task owners"

// watchTaskKeys uses the keys of a cluster for the ids of tasks until stop is called,
// also after these were rotated.
func (p *program) watchTaskKeys(r *cluster.Replica) (stop func(), err error) {
	return r.WatchKeys(taskKeyPurpose, func(secrets [][]byte) { p.taskKeys.Store(&secrets) })
}

// gatewayLoginKeys returns the keys of the logins of the gateway's users. Folder is
// where the gateway has its own.
func (p *program) gatewayLoginKeys(settings config.GatewayLogins, folder string) (keys *sealed.Keys, err error) {
	place, name := "", ""
	if settings.Key != "" {
		place, name, _ = config.SplitReference(settings.Key) // was checked when it was read
	}
	switch {
	case place == "" && p.shared != nil:
		return nil, usagef("the logins of users are shared by all replicas, so these need the same key: name it with \"key\" of \"logins\" in \"gateway\" of tenon.json, such as \"file:/etc/tenon/logins.key\"")
	case place == "":
		keys, err = sealed.MakeKeyFile(filepath.Join(folder, "logins.key"))
	case place == "file":
		keys, err = sealed.KeyFile(name)
	default:
		var text string
		if text, err = p.reference(settings.Key); err == nil {
			keys, err = sealed.ParseKeys(text)
		}
	}
	if err != nil {
		return nil, usagef("gateway.logins.key: %v", err)
	}
	return keys, nil
}

// reference returns the secret that a reference such as "env:NAME" leads to.
func (p *program) reference(text string) (string, error) {
	place, name, err := config.SplitReference(text)
	if err != nil {
		return "", err
	}
	value := ""
	switch place {
	case "env":
		value = os.Getenv(name)
	case "keyring":
		value, err = p.keys.server(name)
	case "file":
		value, err = readSecretFile(name)
	}
	if err == nil && value == "" {
		err = errors.New("it is empty, or not there")
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", text, err)
	}
	p.secrets.Add("gateway", value)
	return value, nil
}

// readSecretFile returns the content of a file that only its owner may read.
func readSecretFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("it is accessible to other users (mode %04o); run chmod 600 on it", info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return strings.TrimSpace(string(data)), err
}

package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Login is the login of one user at one server. Its methods are safe for
// concurrent use.
type Login interface {
	// ID returns what identifies the login of the user, and changes when the
	// user logs in again. It is empty if the user is not logged in.
	ID(ctx context.Context) (string, error)
	// Begin returns the page where the user logs in. While the user does so,
	// Begin returns the same page. Last is the URL of the page that the call has
	// asked the user to open before, or empty: if the login there has failed,
	// Begin returns that page again, so that the call fails, too.
	Begin(ctx context.Context, last string) (LoginPage, error)
	// Refused ends the login with this ID, which the server no longer accepts.
	// It does nothing if the user has another one by now.
	Refused(ctx context.Context, id string) error
	// Changed waits until ID may be another one than id. It returns an error
	// only if ctx ends.
	Changed(ctx context.Context, id string) error
}

// A LoginPage is a page where a user logs in.
type LoginPage struct {
	URL string
	// Wait waits until the user has logged in. It returns why the login failed,
	// or the error of ctx.
	Wait func(ctx context.Context) error
}

// LoginOptions configures [RequireLogin].
type LoginOptions struct {
	// Server is the name of the server for users. It is required.
	Server string
	// Login is the login of the user whose calls these are. It is required.
	Login Login
	// Connect is called before the first call with another login than before,
	// and Disconnect when a login has ended. Nil means that the connection needs
	// neither.
	Connect, Disconnect func() error
	// Wait is how long a call waits for the user after the client has agreed to
	// open the page, before it asks again. 0 means 50 s.
	Wait time.Duration
}

// LoginTool is the name of the only tool of a server at which the user is not
// logged in. A call of it asks the user to log in.
const LoginTool = "tenon_log_in"

// loginKey is the key of the input request to log in.
const loginKey = "tenon_login"

// RequireLogin returns middleware for the connection of one user to a server that
// needs a login of that user.
//
// Until the user has logged in, the server has one tool, [LoginTool], and its
// other lists are empty. A call that needs the server asks the user to open the
// login page, by an elicitation with a URL, and goes on when the user has logged
// in. If the client cannot do that, the call fails with an error that has the URL.
// If the server refuses the login, the user is asked again. An error of the
// connection that has a method LoginRequired() bool which returns true says so.
func RequireLogin(o LoginOptions) mcp.Middleware {
	if o.Wait <= 0 {
		o.Wait = 50 * time.Second
	}
	return func(next mcp.Handler) mcp.Handler { return &loginGate{LoginOptions: o, next: next} }
}

// A loginGate is the Handler of [RequireLogin].
type loginGate struct {
	LoginOptions
	next mcp.Handler

	mu   sync.Mutex    // guards used and busy
	used string        // the ID of the login that the connection uses; empty if there is none
	busy chan struct{} // closed when Connect or Disconnect has returned; nil if neither runs
}

// Serve implements [mcp.Handler]. The flow of a call is:
//
//	logged in      forward; if the server refuses the login, as without one
//	not logged in  lists and discovery are those of LoginTool
//	               other calls ask, wait for the login, and start again
func (g *loginGate) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	for range maxLogins {
		id, err := g.Login.ID(ctx)
		if err == nil {
			err = g.switchTo(ctx, id)
		}
		if err != nil {
			return mcp.Result{}, err
		}
		if id == "" {
			res, again, err := g.without(ctx, c)
			if again {
				continue
			}
			return res, err
		}
		if isLoginTool(c) {
			return loginResult(fmt.Sprintf("You are logged in to %s. Its tools are listed now.", g.Server), false)
		}
		res, err := g.next.Serve(ctx, withoutLogin(c))
		if refused, ok := errors.AsType[loginRequired](err); !ok || !refused.LoginRequired() {
			return res, err
		}
		if err := g.Login.Refused(ctx, id); err != nil {
			return mcp.Result{}, err
		}
	}
	return mcp.Result{}, g.errorf("refuses the login right after it was made")
}

// maxLogins bounds the logins that one round of a call tries.
const maxLogins = 3

// loginRequired is the error of a connection whose server requires a login.
type loginRequired interface {
	error
	LoginRequired() bool
}

func (g *loginGate) errorf(format string, args ...any) error {
	return mcp.Errorf(mcp.CodeInternal, "server %s %s", g.Server, fmt.Sprintf(format, args...))
}

// switchTo makes the connection use the login with this ID. Calls that arrive
// meanwhile wait.
func (g *loginGate) switchTo(ctx context.Context, id string) error {
	for {
		g.mu.Lock()
		busy := g.busy
		if busy == nil && g.used == id {
			g.mu.Unlock()
			return nil
		}
		if busy == nil {
			done := make(chan struct{})
			g.used, g.busy = id, done
			g.mu.Unlock()
			return g.reconnect(id, done)
		}
		g.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reconnect calls Connect or Disconnect, and then closes done.
func (g *loginGate) reconnect(id string, done chan struct{}) error {
	change := g.Connect
	if id == "" {
		change = g.Disconnect
	}
	var err error
	if change != nil {
		err = change()
	}
	g.mu.Lock()
	g.busy = nil
	if err != nil {
		g.used = "\x00" // no ID: the next call tries again
	}
	g.mu.Unlock()
	close(done)
	return err
}

// without serves a call of a user who is not logged in. again means that the user
// is now.
func (g *loginGate) without(ctx context.Context, c *mcp.Call) (res mcp.Result, again bool, err error) {
	switch {
	case c.IsNotification || c.Method == mcp.MethodPing:
		return mcp.Result{}, false, nil
	case c.Method == mcp.MethodSubscriptionsListen:
		return mcp.Result{}, false, g.listen(ctx, c)
	case c.Method == mcp.MethodDiscover:
		return mcp.Result{Body: discoveryBeforeLogin}, false, nil
	case c.Method == mcp.MethodToolsList:
		res, err = g.tools()
		return res, false, err
	case lists[c.Method].method != "":
		return mcp.Result{Body: joined(lists[c.Method].member, nil)}, false, nil
	case !protocol.MayRequireInput(c.Method):
		return mcp.Result{}, false, g.errorf("needs you to log in: call its tool %s", LoginTool)
	}
	return g.ask(ctx, c)
}

// discoveryBeforeLogin says that the server may have anything that has a list.
var discoveryBeforeLogin = json.RawMessage(`{"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}}`)

// tools returns the list of a server before the login.
func (g *loginGate) tools() (mcp.Result, error) {
	body, err := mcp.Marshal(mcp.ListToolsResult{Tools: []mcp.Tool{{
		Name:        LoginTool,
		Title:       "Log in to " + g.Server,
		Description: fmt.Sprintf("The user is not logged in to %s, so its tools are not available yet. Call this tool to let the user log in; the tools are listed afterwards.", g.Server),
		InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`),
	}}})
	return mcp.Result{Body: body}, err
}

// listen serves a subscription until the user has logged in. Then it fails, so
// that the subscriber subscribes again, at the server.
func (g *loginGate) listen(ctx context.Context, c *mcp.Call) error {
	if ctx.Err() != nil {
		return ctx.Err() // see [mcp.Call].Detach
	}
	var in mcp.ListenParams
	if err := c.Decode(&in); err != nil {
		return err
	}
	f := in.Notifications
	ack, err := acknowledgement(mcp.SubscriptionFilter{ToolsListChanged: f.ToolsListChanged, PromptsListChanged: f.PromptsListChanged, ResourcesListChanged: f.ResourcesListChanged})
	if err != nil {
		return err
	}
	c.Notify(ack)
	if err := g.Login.Changed(ctx, ""); err != nil {
		return err
	}
	return &mcp.Error{Code: mcp.CodeInternal, Message: "the user has logged in; subscribe again", Local: true}
}

// ask asks the user to log in. If the client has agreed to open the page, ask
// waits for the login, for Wait at most.
func (g *loginGate) ask(ctx context.Context, c *mcp.Call) (res mcp.Result, again bool, err error) {
	if err := c.Refused(loginKey); err != nil {
		return g.fail(c, fmt.Sprintf("Not logged in to %s: the client did not open the login page (%v).", g.Server, err))
	}
	page, err := g.Login.Begin(ctx, lastPage(c))
	if err != nil {
		return mcp.Result{}, false, g.errorf("needs you to log in: %v", err)
	}
	q, err := mcp.ElicitRequest(&mcp.ElicitParams{Mode: mcp.ModeURL, URL: page.URL,
		Message: fmt.Sprintf("%s needs you to log in. Open the page only if you want to use your account at %s here.", g.Server, g.Server)})
	if err != nil {
		return mcp.Result{}, false, err
	}
	if err := c.Caller.CanHandle(q); err != nil {
		return g.fail(c, fmt.Sprintf("%s needs the user to log in. Ask the user to open %s in a browser, and then make this call again.", g.Server, page.URL))
	}
	next := *withoutLogin(c)
	if at, err := json.Marshal(page.URL); err == nil {
		next.Save(loginKey, at)
	}
	need := &mcp.InputRequired{Requests: map[string]mcp.InputRequest{loginKey: q}, State: c.State, PriorResponses: next.InputResponses}
	response, ok := c.InputResponses[loginKey]
	if !ok {
		return mcp.Result{}, false, need
	}
	var said mcp.ElicitResult
	if err := mcp.Unmarshal(response, &said); err != nil {
		return mcp.Result{}, false, mcp.InvalidParams("response to %q: %v", loginKey, err)
	}
	if said.Action != mcp.ActionAccept {
		return g.fail(c, fmt.Sprintf("Not logged in to %s: the user declined.", g.Server))
	}
	return g.await(ctx, c, page, need)
}

// lastPage returns the URL of the page that an earlier round of the call has asked
// the user to open; empty if there is none.
func lastPage(c *mcp.Call) string {
	saved, _ := c.Saved(loginKey)
	at, _ := rawjson.String(saved)
	return at
}

// await waits for the user. need asks again.
func (g *loginGate) await(ctx context.Context, c *mcp.Call, page LoginPage, need *mcp.InputRequired) (mcp.Result, bool, error) {
	limit, cancel := context.WithTimeout(ctx, g.Wait)
	defer cancel()
	err := page.Wait(limit)
	switch {
	case ctx.Err() != nil:
		return mcp.Result{}, false, ctx.Err()
	case limit.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		return mcp.Result{}, false, need
	case err != nil:
		return g.fail(c, fmt.Sprintf("The login at %s failed: %v.", g.Server, err))
	}
	if params, err := mcp.Marshal(mcp.ElicitationCompleteParams{ElicitationID: loginKey}); err == nil {
		c.Notify(mcp.Notification{Method: mcp.NotificationElicitationComplete, Params: params})
	}
	return mcp.Result{}, true, nil
}

// fail ends a call: a call of a tool with a result that the model reads, others
// with an error.
func (g *loginGate) fail(c *mcp.Call, text string) (mcp.Result, bool, error) {
	if c.Method != mcp.MethodToolsCall {
		return mcp.Result{}, false, mcp.Errorf(mcp.CodeInternal, "%s", text)
	}
	res, err := loginResult(text, true)
	return res, false, err
}

func loginResult(text string, failed bool) (mcp.Result, error) {
	body, err := mcp.Marshal(mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}, IsError: failed})
	return mcp.Result{Body: body}, err
}

// isLoginTool reports whether a call is one of [LoginTool].
func isLoginTool(c *mcp.Call) bool {
	return c.Method == mcp.MethodToolsCall && rawjson.EqualString(rawjson.Lookup(c.Params, "name"), LoginTool)
}

// withoutLogin returns the call without the response about the login, which the
// server did not ask for.
func withoutLogin(c *mcp.Call) *mcp.Call {
	if _, ok := c.InputResponses[loginKey]; !ok {
		return c
	}
	onward := *c
	onward.InputResponses = maps.Clone(c.InputResponses)
	delete(onward.InputResponses, loginKey)
	return &onward
}

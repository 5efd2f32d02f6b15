package weblogin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tenon-mcp/tenon/internal/loginpage"
)

// maxForm bounds the forms and queries that are read.
const maxForm = 32 << 10

// ServeHTTP serves the pages at [Path] and the callback below it.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !s.sameHost(r) || len(r.URL.RawQuery) > maxForm:
		refuse(w, "This address is not that of the gateway.")
	case s.forward(w, r):
	case r.URL.Path == Path && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		s.show(w, r)
	case r.URL.Path == Path && r.Method == http.MethodPost:
		s.take(w, r)
	case r.URL.Path == Path+"/callback" && r.Method == http.MethodGet:
		s.receive(w, r)
	default:
		loginpage.Page{Kind: loginpage.Failed, Title: "Not found", Text: "There is no such page."}.Write(w, http.StatusNotFound)
	}
}

func refuse(w http.ResponseWriter, why string) {
	loginpage.Page{Kind: loginpage.Failed, Title: "Request refused", Text: why}.Write(w, http.StatusForbidden)
}

func expired(w http.ResponseWriter) {
	loginpage.Page{Kind: loginpage.Failed, Title: "This page has expired", Text: "Go back to your program and try again: you get a new page there."}.Write(w, http.StatusGone)
}

func (s *Service) find(ticket string) *flow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tickets[ticket]
}

// show says what the login is for. Programs that look at links change nothing.
func (s *Service) show(w http.ResponseWriter, r *http.Request) {
	f := s.find(r.URL.Query().Get("ticket"))
	if f == nil {
		expired(w)
		return
	}
	f.page("").Write(w, http.StatusOK)
}

// page returns the first page of a flow.
func (f *flow) page(problem string) loginpage.Page {
	p := loginpage.Page{Kind: loginpage.Ask, Title: "Log in to " + f.server.Name,
		Text: fmt.Sprintf("A program that uses this gateway wants to use your account at %s. Continue only if you asked for it yourself.", f.server.Name),
		Note: f.server.URL, Form: &loginpage.Form{Hidden: map[string]string{"ticket": f.ticket}, Button: "Continue"}}
	if f.who != nil {
		p.Note = fmt.Sprintf("For %s, at %s", f.who.ID, f.server.URL)
	}
	if f.needsSecret() {
		p.Form.Secret = "Your API key for this gateway, to show that you are the one who asked"
	}
	if problem != "" {
		p.Kind, p.Text = loginpage.Failed, problem
	}
	return p
}

// take binds a flow to the browser and begins an attempt. The first browser wins.
func (s *Service) take(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if r.ParseForm() != nil {
		refuse(w, "The form is not valid.")
		return
	}
	f := s.find(r.PostForm.Get("ticket"))
	if f == nil {
		expired(w)
		return
	}
	if f.needsSecret() && !f.checkSecret(w, r) {
		return
	}
	if !f.bind(w, r) {
		refuse(w, "This page was opened in another browser. Go back to your program and try again.")
		return
	}
	a := f.start(f.atIssuer())
	if a == nil {
		expired(w)
		return
	}
	a.lead(w, r)
}

// checkSecret checks the API key of the user, and shows the page again if it is
// not that of the user who asked. After a few wrong keys the flow ends.
func (f *flow) checkSecret(w http.ResponseWriter, r *http.Request) bool {
	who, err := f.s.opts.Identity.Identify(r.Context(), r.PostForm.Get("secret"), r)
	if err == nil {
		err = f.sameUser(who)
	}
	if err == nil {
		return true
	}
	f.s.mu.Lock()
	f.secrets++
	tooMany := f.secrets >= maxSecrets
	f.s.mu.Unlock()
	if tooMany || errors.Is(err, errOtherUser) {
		f.end(errOtherUser)
		finalPage(errOtherUser).Write(w, http.StatusForbidden)
		return false
	}
	f.page("The key is not valid. Try again.").Write(w, http.StatusForbidden)
	return false
}

// bind gives the browser the cookie of the flow, if it is the first one, and
// reports whether it has it.
func (f *flow) bind(w http.ResponseWriter, r *http.Request) bool {
	f.s.mu.Lock()
	first := !f.taken
	f.taken = true
	f.s.mu.Unlock()
	if !first {
		return f.inBrowser(r)
	}
	c := &http.Cookie{Name: f.cookie, Value: f.browser, Path: Path, MaxAge: int(lifetime / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if f.s.origin.Scheme == "https" {
		c.Secure = true
	}
	http.SetCookie(w, c)
	return true
}

// inBrowser reports whether a request comes from the browser of the flow.
func (f *flow) inBrowser(r *http.Request) bool {
	c, err := r.Cookie(f.cookie)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(f.browser)) == 1
}

// receive takes the response of an authorization server. It is used once, and only
// in the browser that was sent there.
func (s *Service) receive(w http.ResponseWriter, r *http.Request) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(q["state"]) != 1 {
		refuse(w, "This address only accepts the response of a pending login.")
		return
	}
	s.mu.Lock()
	a := s.states[q.Get("state")]
	s.mu.Unlock()
	if a == nil {
		expired(w)
		return
	}
	if !a.f.inBrowser(r) {
		refuse(w, "This login began in another browser. Do not log in with a link that somebody has sent you.")
		return
	}
	s.mu.Lock()
	_, waiting := s.states[q.Get("state")]
	delete(s.states, q.Get("state"))
	s.mu.Unlock()
	callback, err := url.Parse(s.callback())
	if err != nil || !waiting {
		expired(w)
		return
	}
	callback.RawQuery = r.URL.RawQuery
	a.callbacks <- callback // has room: each state is accepted once, and one is open at a time
	a.lead(w, r)
}

// lead sends the browser to the next page, or shows how the login ended.
func (a *attempt) lead(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), stepWait)
	defer cancel()
	select {
	case page := <-a.pages:
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		http.Redirect(w, r, page, http.StatusSeeOther)
	case <-a.f.done:
		a.f.final().Write(w, a.f.status())
	case <-a.ctx.Done():
		// The attempt may have ended the flow.
		select {
		case <-a.f.done:
			a.f.final().Write(w, a.f.status())
		default:
			expired(w)
		}
	case <-ctx.Done():
		loginpage.Page{Kind: loginpage.Failed, Title: "No answer", Text: "The login does not go on. Go back to your program and try again."}.Write(w, http.StatusGatewayTimeout)
	}
}

// final returns the last page of a flow that has ended.
func (f *flow) final() loginpage.Page {
	if f.err != nil {
		return finalPage(f.err)
	}
	return loginpage.Page{Kind: loginpage.Done, Title: "Logged in to " + f.server.Name, Text: "You can close this window and return to your program."}
}

func finalPage(err error) loginpage.Page {
	p := loginpage.Page{Kind: loginpage.Failed, Title: "Login failed", Text: "You can close this window. Your program shows the reason."}
	if errors.Is(err, errOtherUser) {
		p.Text = "You are not the user who asked for this login. If somebody has sent you the link, do not use it."
	}
	return p
}

func (f *flow) status() int {
	switch {
	case f.err == nil:
		return http.StatusOK
	case errors.Is(f.err, errOtherUser):
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}

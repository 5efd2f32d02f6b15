package weblogin

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/mcp"
)

// In a cluster a flow lives at the replica where it began, its owner. A ticket
// begins with the id of the owner, and the store has the owner of each state of a
// callback, so requests of the browser that reach another replica are forwarded.
// The store also has the page of each user's flow, so that a call at another
// replica waits for the same login.

// newTicket returns the name of a flow.
func (s *Service) newTicket() string {
	if s.opts.Replica == nil {
		return rand.Text()
	}
	return s.opts.Replica.ID() + "." + rand.Text()
}

// storeKey returns a key of the cluster's store, which shows no user.
func storeKey(what, of string) string {
	sum := sha256.Sum256([]byte(of))
	return "weblogin " + what + " " + base64.RawURLEncoding.EncodeToString(sum[:])
}

// forward passes a request to the owner of its flow. It reports false if that is
// this replica, or is not known.
func (s *Service) forward(w http.ResponseWriter, r *http.Request) bool {
	if s.opts.Replica == nil || cluster.Forwarded(r.Context()) {
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		return false // the form is read again, and refused
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	owner := s.ownerOf(r, body)
	if owner == "" || owner == s.opts.Replica.ID() {
		return false
	}
	if err := s.opts.Replica.Forward(w, r, body, owner); err != nil {
		s.opts.Log.Warn("a page of a login cannot be forwarded", "error", err)
		expired(w)
	}
	return true
}

// ownerOf returns the replica with the flow of a request, empty if it is not
// known.
func (s *Service) ownerOf(r *http.Request, body []byte) string {
	q := r.URL.Query()
	if r.URL.Path == Path+"/callback" {
		owner, _, err := s.opts.Replica.Store().Get(r.Context(), storeKey("state", q.Get("state")), 0)
		if err != nil {
			s.opts.Log.Warn("the replica of a login cannot be found", "error", err)
		}
		return string(owner)
	}
	ticket := q.Get("ticket")
	if form, err := url.ParseQuery(string(body)); err == nil && r.Method == http.MethodPost {
		ticket = form.Get("ticket")
	}
	owner, _, _ := strings.Cut(ticket, ".")
	return owner
}

// publishState lets other replicas find the flow of a callback.
func (s *Service) publishState(ctx context.Context, state string) error {
	if s.opts.Replica == nil {
		return nil
	}
	_, err := s.opts.Replica.Store().Set(ctx, storeKey("state", state), []byte(s.opts.Replica.ID()), cluster.AnyVersion, lifetime)
	return err
}

// A sharedFlow is what other replicas know of a flow.
type sharedFlow struct {
	Owner string `json:"owner"`
	Page  string `json:"page"`
	Error string `json:"error,omitzero"` // why it failed
}

// publish lets other replicas know of a flow, or why it failed.
func (f *flow) publish(ctx context.Context, failure error) error {
	r := f.s.opts.Replica
	if r == nil {
		return nil
	}
	shared := sharedFlow{Owner: r.ID(), Page: f.s.pageOf(f.ticket)}
	if failure != nil {
		shared.Error = failure.Error()
	}
	data, err := json.Marshal(shared)
	if err == nil {
		_, err = r.Store().Set(ctx, storeKey("flow", f.account), data, cluster.AnyVersion, lifetime)
	}
	return err
}

// unpublish removes a flow that has succeeded.
func (f *flow) unpublish(ctx context.Context) {
	if r := f.s.opts.Replica; r != nil {
		_ = r.Store().Delete(ctx, storeKey("flow", f.account)) // it expires
	}
}

// elsewhere returns the page of a flow of another replica, if there is one: a
// flow that is open, or the one with the page last, which has failed.
func (s *Service) elsewhere(ctx context.Context, server Server, who *mcp.Principal, last string) (page gateway.LoginPage, ok bool, err error) {
	if s.opts.Replica == nil {
		return page, false, nil
	}
	account := accountOf(server, who)
	f, err := s.sharedFlow(ctx, account)
	switch {
	case err != nil:
		return page, false, err
	case f == nil || f.Owner == s.opts.Replica.ID() || f.Error != "" && f.Page != last:
		return page, false, nil
	case f.Error == "" && !s.isAlive(ctx, f.Owner):
		return page, false, nil
	}
	return gateway.LoginPage{URL: f.Page, Wait: func(ctx context.Context) error { return s.waitElsewhere(ctx, account, f) }}, true, nil
}

func (s *Service) sharedFlow(ctx context.Context, account string) (*sharedFlow, error) {
	data, version, err := s.opts.Replica.Store().Get(ctx, storeKey("flow", account), 0)
	if err != nil || version == 0 {
		return nil, err
	}
	f := new(sharedFlow)
	return f, mcp.Unmarshal(data, f)
}

func (s *Service) isAlive(ctx context.Context, replica string) bool {
	all, _ := s.opts.Replica.Members(ctx) // those last known while the store is away
	return slices.ContainsFunc(all, func(m cluster.Member) bool { return m.ID == replica })
}

// waitElsewhere waits for the end of a flow of another replica.
func (s *Service) waitElsewhere(ctx context.Context, account string, f *sharedFlow) error {
	for {
		if f != nil && f.Error != "" {
			return errors.New(f.Error)
		}
		_, err := load(ctx, s.opts.Store, recordKey(account))
		switch {
		case err == nil:
			s.announce()
			return nil
		case !errors.Is(err, tokens.ErrNotFound):
			return err
		case f == nil || !s.isAlive(ctx, f.Owner):
			return errors.New("the gateway at which it began has stopped")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(recheck / 4):
		}
		if f, err = s.sharedFlow(ctx, account); err != nil {
			return err
		}
	}
}

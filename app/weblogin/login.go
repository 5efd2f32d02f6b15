package weblogin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Server is a server that users log in to.
type Server struct {
	// Name is the name of the server for users, and part of what identifies a
	// login.
	Name string
	// URL is the address of the server.
	URL string
	// Login configures the login: Base, Client, ClientIDMetadataURL, Scopes,
	// Resource, Proxy and Fetch. What concerns the user and the store is
	// ignored.
	Login login.Options
}

// A Login is the login of one user at one server. It is a [gateway.Login].
type Login struct {
	s      *Service
	server Server
	who    *mcp.Principal

	mu     sync.Mutex
	id     string
	looked time.Time       // when id was read; zero means never
	seen   <-chan struct{} // Service.changed at that time
}

var _ gateway.Login = (*Login)(nil)

// Of returns the login of a user at a server. A nil principal is the person at
// this machine, for a Service without Identity.
func (s *Service) Of(server Server, who *mcp.Principal) *Login {
	return &Login{s: s, server: server, who: who}
}

// Account returns the Account of [login.Options] for a connection of the user to
// the server, so that it uses the tokens of the login.
func (l *Login) Account() string { return accountOf(l.server, l.who) }

// A Record describes a login in the store.
type Record struct {
	ID      string    `json:"id"`
	Server  string    `json:"server"`
	URL     string    `json:"url"`
	Issuer  string    `json:"issuer,omitempty"`  // of the user; empty for the person at this machine
	Subject string    `json:"subject,omitempty"` // the ID of the user
	At      time.Time `json:"at"`
}

// recordPrefix begins the keys of records in the store.
const recordPrefix = "login "

func recordKey(account string) string { return recordPrefix + account }

// account returns the account of a record.
func (r *Record) account() string {
	var who *mcp.Principal
	if r.Subject != "" {
		who = &mcp.Principal{ID: r.Subject, Issuer: r.Issuer}
	}
	return accountOf(Server{Name: r.Server}, who)
}

// ID implements [gateway.Login]. It reads the store at most every 2 seconds, so
// that a login that another process has ended does not last.
func (l *Login) ID(ctx context.Context) (string, error) {
	l.s.mu.Lock()
	now := l.s.changed
	l.s.mu.Unlock()
	l.mu.Lock()
	id, fresh := l.id, l.seen == now && time.Since(l.looked) < recheck
	l.mu.Unlock()
	if fresh {
		return id, nil
	}
	r, err := load(ctx, l.s.opts.Store, recordKey(l.Account()))
	switch {
	case errors.Is(err, tokens.ErrNotFound):
		id = ""
	case err != nil:
		return "", fmt.Errorf("look up the login at %s: %w", l.server.Name, err)
	case r.URL != l.server.URL: // the entry has changed
		id = ""
	default:
		id = r.ID
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id, l.looked, l.seen = id, time.Now(), now
	return id, nil
}

func load(ctx context.Context, store tokens.Store, key string) (*Record, error) {
	data, err := store.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := mcp.Unmarshal(data, r); err != nil || r.ID == "" {
		return nil, tokens.ErrNotFound
	}
	return r, nil
}

// Begin implements [gateway.Login].
func (l *Login) Begin(ctx context.Context, last string) (gateway.LoginPage, error) {
	if page, ok, err := l.s.elsewhere(ctx, l.server, l.who, last); ok || err != nil {
		return page, err
	}
	f, isNew, err := l.s.begin(l.server, l.who, last)
	if err != nil {
		return gateway.LoginPage{}, err
	}
	if isNew {
		if err := f.publish(ctx, nil); err != nil {
			f.end(err)
			return gateway.LoginPage{}, err
		}
	}
	return gateway.LoginPage{URL: l.s.pageOf(f.ticket), Wait: f.wait}, nil
}

// Refused implements [gateway.Login].
func (l *Login) Refused(ctx context.Context, id string) error {
	r, err := load(ctx, l.s.opts.Store, recordKey(l.Account()))
	switch {
	case errors.Is(err, tokens.ErrNotFound):
		l.s.announce()
		return nil
	case err != nil:
		return err
	case r.ID != id:
		return nil
	}
	l.s.opts.Log.Info("a login is no longer accepted", "server", l.server.Name)
	err = Remove(ctx, l.s.opts.Store, r)
	l.s.announce()
	return err
}

// Changed implements [gateway.Login].
func (l *Login) Changed(ctx context.Context, id string) error {
	tick := time.NewTicker(recheck) // another process may change it
	defer tick.Stop()
	for {
		now, err := l.ID(ctx)
		if err == nil && now != id {
			return nil
		}
		l.mu.Lock()
		seen := l.seen
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-seen: // never if it is nil
		case <-tick.C:
		}
	}
}

// save stores the record of a login that has succeeded.
func (f *flow) save(ctx context.Context) error {
	r := Record{ID: rand.Text(), Server: f.server.Name, URL: f.server.URL, At: time.Now().UTC().Truncate(time.Second)}
	if f.who != nil {
		r.Issuer, r.Subject = f.who.Issuer, f.who.ID
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = f.s.opts.Store.Save(ctx, recordKey(f.account), data)
	}
	if err != nil {
		return fmt.Errorf("store the login: %w", err)
	}
	return nil
}

// Remove deletes a login and its tokens from a store. It does not revoke them at
// the authorization server. A gateway that runs notices it within 2 seconds.
func Remove(ctx context.Context, store tokens.Store, r *Record) error {
	account := r.account()
	if err := store.Delete(ctx, recordKey(account)); err != nil {
		return err
	}
	return login.New(&login.Options{Store: store, Account: account}).Forget(ctx, r.URL)
}

// Records returns the logins in a store of which these are all keys, sorted by
// server and user.
func Records(ctx context.Context, store tokens.Store, keys []string) ([]*Record, error) {
	var all []*Record
	for _, key := range keys {
		if !strings.HasPrefix(key, recordPrefix) {
			continue
		}
		r, err := load(ctx, store, key)
		if errors.Is(err, tokens.ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, compareRecords)
	return all, nil
}

func compareRecords(a, b *Record) int {
	return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Issuer, b.Issuer), cmp.Compare(a.Subject, b.Subject))
}

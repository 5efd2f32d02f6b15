package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/choose"
	"github.com/tenon-mcp/tenon/app/web"
)

// providers lists the providers that the page can connect.
func (m *modelRegistry) providers(ctx context.Context) []web.Provider {
	found := map[string]string{}
	for _, f := range choose.Survey(ctx, m.p.modelOptions()) {
		if f.Problem == "" {
			found[f.Provider] = f.Where
		}
	}
	var all []web.Provider
	for _, k := range choose.Known() {
		one := web.Provider{Name: k.Name, URL: k.BaseURL, Key: !k.Local && !k.Keyless, Found: found[k.Name]}
		if len(k.KeyVariables) > 0 {
			one.Variable = k.KeyVariables[0]
		}
		all = append(all, one)
	}
	return all
}

// connect connects a model with a key, and stores the key in the keyring once the
// provider has accepted it. Note says where the key is.
func (m *modelRegistry) connect(ctx context.Context, q web.Connection) (model llm.Model, note string, err error) {
	i := slices.IndexFunc(choose.Known(), func(k choose.Provider) bool { return k.Name == q.Provider })
	if i < 0 {
		return nil, "", fmt.Errorf("unknown provider %q", q.Provider)
	}
	if q.URL != "" {
		if err := config.CheckModelURL(q.URL); err != nil {
			return nil, "", fmt.Errorf("the address %w", err)
		}
	}
	with := m.p.reuseKey(choose.Provider{Key: q.Key, BaseURL: q.URL}, choose.Known()[i])
	o := m.p.modelOptionsWith(q.Provider, with)
	name := q.Provider
	if q.Model != "" {
		name += "/" + q.Model
		if _, err := choose.Models(ctx, q.Provider, o); llm.KindOf(err) == llm.ErrAuth {
			return nil, "", err
		}
	}
	c, err := choose.Model(ctx, name, o)
	if err != nil {
		return nil, "", err
	}
	m.p.connecting.Lock()
	if m.p.connected == nil {
		m.p.connected = map[string]choose.Provider{}
	}
	m.p.connected[q.Provider] = with
	m.p.connecting.Unlock()
	return c.Model, m.p.storeModelKey(q, choose.Known()[i]), m.use(c)
}

// reuseKey returns a connection with the key that was entered before for the same
// host, if it has none itself.
func (p *program) reuseKey(with, k choose.Provider) choose.Provider {
	p.connecting.Lock()
	defer p.connecting.Unlock()
	old := p.connected[k.Name]
	if with.Key == "" && sameHost(cmp.Or(with.BaseURL, k.BaseURL), cmp.Or(old.BaseURL, k.BaseURL)) {
		with.Key = old.Key
	}
	return with
}

func sameHost(a, b string) bool {
	u, err := url.Parse(a)
	v, err2 := url.Parse(b)
	return err == nil && err2 == nil && u.Scheme == v.Scheme && strings.EqualFold(u.Host, v.Host)
}

// storeModelKey stores a key, and says where it is.
func (p *program) storeModelKey(q web.Connection, k choose.Provider) string {
	address := ""
	if q.URL != "" && q.URL != k.BaseURL {
		address = " The address is used until tenon ends."
		if k.URLVariable != "" {
			address += fmt.Sprintf(" Set %s to keep it.", k.URLVariable)
		}
	}
	if q.Key == "" {
		return "Connected." + address
	}
	err := errors.New("no keyring is available here")
	if hasKeyring() {
		at, _ := choose.Lookup(q.Provider, p.modelOptionsWith(q.Provider, choose.Provider{BaseURL: q.URL}))
		err = p.keys.setModel(at.KeyringEntry(), q.Key)
	}
	if err == nil {
		return "Connected. The key is in your keyring." + address
	}
	how := ""
	if len(k.KeyVariables) > 0 {
		how = fmt.Sprintf(" Set %s to keep it.", k.KeyVariables[0])
	}
	return fmt.Sprintf("Connected until tenon ends: the key was not stored, because %v.%s%s", err, how, address)
}

package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/servercard"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// publish returns the server card and the catalog that lists it, by their paths;
// nil without --card.
func (v *serving) publish(ctx context.Context, name string, s mcp.Handler, at net.Addr) (map[string]http.Handler, error) {
	if v.card == "" {
		return nil, nil
	}
	here := cmp.Or(v.public, v.scheme()+"://"+at.String()+streamable.Path)
	if u, err := url.Parse(here); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, usagef("--public-url must be a URL such as https://example.com/mcp")
	}
	found, err := client.New(s, nil).Discover(ctx)
	if err != nil {
		return nil, err
	}
	card := v.cardFor(name, here, found.Server)
	document, err := servercard.NewHandler(card)
	if err != nil {
		return nil, usageError{err}
	}
	catalog, err := servercard.NewCatalogHandler(&servercard.Catalog{Entries: []servercard.Entry{card.Entry(strings.TrimSuffix(here, "/") + servercard.CardSuffix)}})
	if err != nil {
		return nil, usageError{err}
	}
	return map[string]http.Handler{streamable.Path + servercard.CardSuffix: document, servercard.CatalogPath: catalog}, nil
}

// cardFor returns the card of a builtin server at a URL. It has no title: that of
// sql contains the place of the database, and everybody can read a card.
func (v *serving) cardFor(name, here string, info *mcp.Implementation) *servercard.Card {
	if info == nil {
		info = &mcp.Implementation{Version: "unknown"}
	}
	about := name
	if i := slices.IndexFunc(builtin.Kinds(), func(k builtin.Kind) bool { return k.Name == name }); i >= 0 {
		about = builtin.Kinds()[i].About
	}
	remote := servercard.Remote{Type: servercard.StreamableHTTP, URL: here}
	all := mcp.Revisions()
	for _, r := range all[:len(all)-1] { // the oldest has another transport
		remote.SupportedProtocolVersions = append(remote.SupportedProtocolVersions, string(r))
	}
	if v.token != "" {
		value := "Bearer {token}"
		remote.Headers = []servercard.NamedInput{{
			Name: "Authorization", Input: servercard.Input{IsRequired: true, IsSecret: true, Value: &value},
			Variables: map[string]servercard.Input{"token": {Description: "The token of the server", IsRequired: true, IsSecret: true}},
		}}
	}
	return &servercard.Card{
		Name: v.card, Version: info.Version, Description: visible.Shorten(cmp.Or(info.Description, about), 97),
		WebsiteURL: info.WebsiteURL, Icons: info.Icons, Remotes: []servercard.Remote{remote},
	}
}

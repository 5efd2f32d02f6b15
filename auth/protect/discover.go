package protect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// discoverKeySet returns the key set URL from the metadata of an issuer. The
// metadata must have exactly that issuer.
func discoverKeySet(ctx context.Context, client *fetch.Client, issuer string) (string, error) {
	var failures []error
	for _, at := range metadataOf(issuer) {
		var doc struct {
			Issuer string `json:"issuer"`
			KeySet string `json:"jwks_uri"`
		}
		if err := client.GetJSON(ctx, at, &doc); err != nil {
			failures = append(failures, err)
			continue
		}
		switch {
		case doc.Issuer != issuer:
			return "", fmt.Errorf("the metadata of %s is for issuer %q", fetch.Redact(issuer), fetch.Redact(doc.Issuer))
		case doc.KeySet == "":
			return "", fmt.Errorf("the metadata of %s has no key set (jwks_uri)", fetch.Redact(issuer))
		}
		return doc.KeySet, nil
	}
	return "", errors.Join(failures...)
}

// metadataOf returns the possible metadata URLs of an issuer, in the order
// in which clients try them.
func metadataOf(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	origin := u.Scheme + "://" + u.Host
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	all := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		all = append(all, origin+path+"/.well-known/openid-configuration")
	}
	return all
}

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// keyFlags holds the flags of tenon gateway keys add.
type keyFlags struct {
	groups, scopes []string
	expires        string
}

func (p *program) gatewayKeysCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Manage the API keys of the gateway",
		Long: `Manage the API keys that clients send as bearer tokens to tenon gateway. Only
their hashes are stored, in gateway-keys.json of your configuration folder or the
file that "keys" of "gateway" in tenon.json names, or with --redis in Redis, for all
replicas. Once there is a key, the gateway requires authorization over HTTP. Changes
apply to a running gateway, unless it was started before the first key.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	shared := p.sharedFlags(c, "API keys", func(g *config.Gateway) bool { return !keysAreShared(g) })
	shared.addSecret(c.PersistentFlags())
	var v keyFlags
	add := &cobra.Command{
		Use:     "add NAME",
		Short:   "Create a key, and print it once",
		Example: "  tenon gateway keys add build --group ci\n  tenon gateway keys add ada --group dev --scope notes:write --expires 90d",
		Args:    oneKeyName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withKeys(cmd.Context(), shared, func(k keyStore) error { return p.addGatewayKey(k, args[0], &v) })
		},
	}
	f := add.Flags()
	f.StringSliceVar(&v.groups, "group", nil, "a `group` of the key (repeatable)")
	f.StringSliceVar(&v.scopes, "scope", nil, "a `scope` of the key (repeatable)")
	f.StringVar(&v.expires, "expires", "", "when the key stops working: a `time` from now such as 12h or 90d, or a date such as 2027-01-31 (default: never)")
	c.AddCommand(add, p.rotateCommand(shared), p.importKeysCommand(shared), &cobra.Command{
		Use:   "list",
		Short: "List the keys, without their secrets",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withKeys(cmd.Context(), shared, p.listGatewayKeys)
		},
	}, &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a key: it stops working at once",
		Args:  oneKeyName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withKeys(cmd.Context(), shared, func(k keyStore) error { return removeGatewayKey(k, args[0]) })
		},
	})
	return c
}

// oneKeyName checks that there is one argument.
func oneKeyName(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("missing NAME of the key")
	}
	return noArgs(cmd, args[1:])
}

func (p *program) addGatewayKey(store keyStore, name string, v *keyFlags) error {
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`*?"\`, r) }) {
		return usagef("the name of a key has 1 to 64 characters, without spaces, quotes and *?")
	}
	expires, err := expiry(v.expires, time.Now())
	if err != nil {
		return err
	}
	secret := protect.NewKey()
	hash, err := protect.HashKey(secret)
	if err != nil {
		return err
	}
	key := protect.StoredKey{Name: name, Hash: hash, Groups: v.groups, Scopes: v.scopes, Created: time.Now().UTC().Round(time.Second), Expires: expires}
	err = store.update(func(keys []protect.StoredKey) ([]protect.StoredKey, error) {
		if slices.ContainsFunc(keys, func(k protect.StoredKey) bool { return k.Name == name }) {
			return nil, usagef("there is a key %q already: remove it first", name)
		}
		return append(keys, key), nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, secret)
	h := hostConfigs{url: "http://" + gatewayAddress + streamable.Path, shellToken: secret, fileToken: secret, stdio: []string{"gateway", "--stdio"}}
	p.note("This is the only time that the key is shown. Clients send it in the header Authorization: Bearer KEY. If the gateway is at %s:\n%s", gatewayAddress, h)
	return nil
}

// expiry reads the time at which a key expires; zero means never.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if date, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil && date.After(now) {
		return date.UTC(), nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && 0 < n && n <= 36500 {
			return now.AddDate(0, 0, n).UTC().Round(time.Second), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d).UTC(), nil
	}
	return time.Time{}, usagef("--expires must be a time from now such as 12h or 90d, or a later date such as 2027-01-31, not %q", text)
}

func removeGatewayKey(store keyStore, name string) error {
	return store.update(func(keys []protect.StoredKey) ([]protect.StoredKey, error) {
		left := slices.DeleteFunc(slices.Clone(keys), func(k protect.StoredKey) bool { return k.Name == name })
		if len(left) == len(keys) {
			return nil, usagef("there is no key %q: see tenon gateway keys list", name)
		}
		return left, nil
	})
}

func (p *program) listGatewayKeys(store keyStore) error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	keys, err := store.list()
	if err != nil {
		return err
	}
	if out.Format != show.Text {
		list := []map[string]any{}
		for _, k := range keys {
			list = append(list, map[string]any{"name": k.Name, "groups": append([]string{}, k.Groups...), "scopes": append([]string{}, k.Scopes...), "created": dateOf(k.Created), "expires": dateOf(k.Expires)})
		}
		return out.Value(list)
	}
	for _, k := range keys {
		fmt.Fprintln(p.out, visible.Line(describeKey(&k, time.Now())))
	}
	if len(keys) == 0 {
		p.note("There are no keys. Create one with \"tenon gateway keys add NAME\".")
	}
	return nil
}

// describeKey returns a line about a key.
func describeKey(k *protect.StoredKey, now time.Time) string {
	line := k.Name
	if len(k.Groups) > 0 {
		line += "  groups " + strings.Join(k.Groups, ", ")
	}
	if len(k.Scopes) > 0 {
		line += "  scopes " + strings.Join(k.Scopes, ", ")
	}
	switch {
	case k.Expires.IsZero():
	case k.Expires.After(now):
		line += "  expires " + dateOf(k.Expires)
	default:
		line += "  expired " + dateOf(k.Expires)
	}
	return line
}

// dateOf returns a time for people; "" if there is none.
func dateOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

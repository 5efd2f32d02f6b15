package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/internal/safefile"
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
file that "keys" of "gateway" in tenon.json names. Once that file exists, the
gateway requires authorization over HTTP. Changes apply to a running gateway,
unless it was started before the file existed.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var v keyFlags
	add := &cobra.Command{
		Use:     "add NAME",
		Short:   "Create a key, and print it once",
		Example: "  tenon gateway keys add build --group ci\n  tenon gateway keys add ada --group dev --scope notes:write --expires 90d",
		Args:    oneKeyName,
		RunE:    func(_ *cobra.Command, args []string) error { return p.addGatewayKey(args[0], &v) },
	}
	f := add.Flags()
	f.StringSliceVar(&v.groups, "group", nil, "a `group` of the key (repeatable)")
	f.StringSliceVar(&v.scopes, "scope", nil, "a `scope` of the key (repeatable)")
	f.StringVar(&v.expires, "expires", "", "when the key stops working: a `time` from now such as 12h or 90d, or a date such as 2027-01-31 (default: never)")
	c.AddCommand(add, p.rotateCommand(), &cobra.Command{
		Use:   "list",
		Short: "List the keys, without their secrets",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return p.listGatewayKeys() },
	}, &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a key: it stops working at once",
		Args:  oneKeyName,
		RunE:  func(_ *cobra.Command, args []string) error { return p.removeGatewayKey(args[0]) },
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

func (p *program) addGatewayKey(name string, v *keyFlags) error {
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
	err = p.editGatewayKeys(func(keys []protect.StoredKey) ([]protect.StoredKey, error) {
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

func (p *program) removeGatewayKey(name string) error {
	return p.editGatewayKeys(func(keys []protect.StoredKey) ([]protect.StoredKey, error) {
		left := slices.DeleteFunc(slices.Clone(keys), func(k protect.StoredKey) bool { return k.Name == name })
		if len(left) == len(keys) {
			return nil, usagef("there is no key %q: see tenon gateway keys list", name)
		}
		return left, nil
	})
}

// editGatewayKeys changes the file of keys.
func (p *program) editGatewayKeys(edit func([]protect.StoredKey) ([]protect.StoredKey, error)) error {
	file, err := p.configuredKeyFile()
	if err != nil {
		return err
	}
	return safefile.Update(file, 0o600, func(old []byte) ([]byte, error) {
		var keys []protect.StoredKey
		if len(bytes.TrimSpace(old)) > 0 {
			var err error
			if keys, err = protect.DecodeKeys(old); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		keys, err := edit(keys)
		if err != nil {
			return nil, err
		}
		return protect.EncodeKeys(keys)
	})
}

func (p *program) configuredKeyFile() (string, error) {
	c, err := p.config()
	if err != nil {
		return "", err
	}
	g := c.Settings().Gateway
	return p.gatewayKeyFile(&g)
}

func (p *program) listGatewayKeys() error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	file, err := p.configuredKeyFile()
	if err != nil {
		return err
	}
	var keys []protect.StoredKey
	switch data, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if keys, err = protect.DecodeKeys(data); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
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

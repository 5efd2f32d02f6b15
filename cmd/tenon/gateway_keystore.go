package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/auth/protect/clusterkeys"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/safefile"
)

// keysInRedis is the value of "keys" in "gateway" for keys that the replicas share and
// without which none of them starts.
const keysInRedis = "redis"

// keysAreShared reports whether replicas with this configuration share their API keys.
func keysAreShared(s *config.Gateway) bool { return s.Keys == "" || s.Keys == keysInRedis }

// A keyStore has the API keys of a gateway.
type keyStore interface {
	list() ([]protect.StoredKey, error)
	update(change func([]protect.StoredKey) ([]protect.StoredKey, error)) error
}

// withKeys calls f with the API keys that the flags and the configuration name.
func (p *program) withKeys(ctx context.Context, v *clusterFlags, f func(keyStore) error) error {
	c, err := p.config()
	if err != nil {
		return err
	}
	s := c.Settings().Gateway
	if p.shared != nil && keysAreShared(&s) {
		secret, err := p.checkSecret(ctx, v)
		if err != nil {
			return err
		}
		return f(&redisKeys{ctx, p.shared, &clusterkeys.Options{Secret: secret}})
	}
	if s.Keys == keysInRedis {
		return usagef("\"keys\" of gateway in tenon.json is %q: name that Redis with --redis or %s", keysInRedis, redisEnv)
	}
	file, err := p.gatewayKeyFile(&s)
	if err != nil {
		return err
	}
	return f(keyFile(file))
}

// gatewayKeyFile returns the path of the file of API keys.
func (p *program) gatewayKeyFile(s *config.Gateway) (string, error) {
	return p.besideConfig(cmp.Or(s.Keys, "gateway-keys.json"))
}

// keyFile is a keyStore in a file.
type keyFile string

func (file keyFile) list() ([]protect.StoredKey, error) {
	data, err := os.ReadFile(string(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return file.decode(data)
}

func (file keyFile) decode(data []byte) ([]protect.StoredKey, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	keys, err := protect.DecodeKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return keys, nil
}

func (file keyFile) update(change func([]protect.StoredKey) ([]protect.StoredKey, error)) error {
	return safefile.Update(string(file), 0o600, func(old []byte) ([]byte, error) {
		keys, err := file.decode(old)
		if err != nil {
			return nil, err
		}
		if keys, err = change(keys); err != nil {
			return nil, err
		}
		return protect.EncodeKeys(keys)
	})
}

// redisKeys is a keyStore in the store of replicas.
type redisKeys struct {
	ctx     context.Context
	store   cluster.Store
	options *clusterkeys.Options
}

func (r *redisKeys) list() ([]protect.StoredKey, error) {
	keys, err := clusterkeys.List(r.ctx, r.store, r.options)
	if errors.Is(err, clusterkeys.ErrNone) {
		return nil, nil
	}
	return keys, err
}

func (r *redisKeys) update(change func([]protect.StoredKey) ([]protect.StoredKey, error)) error {
	return clusterkeys.Update(r.ctx, r.store, r.options, change)
}

// importKeysCommand returns tenon gateway keys import.
func (p *program) importKeysCommand(v *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Add the keys of a file, such as one of a gateway without Redis",
		Long: `Add the keys of a file that "tenon gateway keys add" has made on this or another
machine, so that they go on working when a gateway becomes one of many replicas,
which share their keys in Redis.`,
		Example: "  tenon gateway keys import ~/.config/tenon/gateway-keys.json --redis redis://10.0.0.5:6379/0",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("missing FILE with the keys")
			}
			if err := noArgs(cmd, args[1:]); err != nil {
				return err
			}
			return p.withKeys(cmd.Context(), v, func(k keyStore) error { return p.importKeys(k, args[0]) })
		},
	}
}

func (p *program) importKeys(store keyStore, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return usage(err)
	}
	more, err := keyFile(file).decode(data)
	if err != nil {
		return usage(err)
	}
	added := 0
	err = store.update(func(keys []protect.StoredKey) ([]protect.StoredKey, error) {
		added = 0
		for _, k := range more {
			i := slices.IndexFunc(keys, func(other protect.StoredKey) bool { return other.Name == k.Name })
			switch {
			case i < 0:
				keys, added = append(keys, k), added+1
			case keys[i].Hash != k.Hash:
				return nil, usagef("there is another key %q already: remove one of them first", k.Name)
			}
		}
		return keys, nil
	})
	if err == nil {
		p.note("Added %d of %d keys; the others were there already.", added, len(more))
	}
	return err
}

// openKeys returns what verifies API keys: nil if there are none.
func (g *gatewayRun) openKeys(ctx context.Context) (protect.Verifier, error) {
	c, err := g.p.config()
	if err != nil {
		return nil, err
	}
	s := c.Settings().Gateway
	if g.cluster != nil && keysAreShared(&s) {
		return g.openSharedKeys(ctx, &s)
	}
	if s.Keys == keysInRedis {
		return nil, usagef("\"keys\" of gateway in tenon.json is %q: this needs --redis", keysInRedis)
	}
	file, err := g.p.gatewayKeyFile(&s)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && s.Keys == "" {
		return nil, nil
	}
	keys, err := protect.OpenKeyFile(file, &protect.KeyFileOptions{GroupClaim: s.GroupClaim, Log: g.log})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("%s does not exist, but \"keys\" of gateway names it: create a key with \"tenon gateway keys add NAME\"", file)
	}
	if err != nil {
		return nil, usage(err)
	}
	return keys, nil
}

// openSharedKeys returns what verifies the keys of all replicas: nil if there are
// none. A file of keys on this machine that is not in Redis is an error, so that a
// gateway that required authorization does not serve everybody.
func (g *gatewayRun) openSharedKeys(ctx context.Context, s *config.Gateway) (protect.Verifier, error) {
	file, err := g.p.gatewayKeyFile(&config.Gateway{})
	if err != nil {
		return nil, err
	}
	_, err = os.Stat(file)
	local := err == nil
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	keys, err := clusterkeys.Open(ctx, g.cluster.store, &clusterkeys.Options{Secret: g.cluster.secret, GroupClaim: s.GroupClaim, Log: g.log})
	switch none := errors.Is(err, clusterkeys.ErrNone); {
	case none && local:
		return nil, usagef("%[1]s has API keys, and Redis has none: replicas share theirs in Redis. Run \"tenon gateway keys import %[1]s\" with the same --redis and --cluster-secret, or name the file with \"keys\" of gateway in tenon.json to keep it for this machine", file)
	case none && s.Keys == keysInRedis:
		return nil, usagef("\"keys\" of gateway in tenon.json is %q, and Redis has no API keys: create one with \"tenon gateway keys add NAME\"", keysInRedis)
	case none:
		g.cluster.keyless = true
		return nil, nil
	case err != nil:
		return nil, explainSecret(err)
	case local:
		g.log.Warn("the file of API keys is not used: the replicas share theirs in Redis", "file", file)
	}
	g.cluster.keys = keys
	return keys, nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/safefile"
)

// redisOff is the value of --redis for what is on this machine, whatever the
// environment says.
const redisOff = "off"

// sharedFlags adds --redis to a command and its subcommands, for what the replicas of
// a gateway share. What names it. Local reports whether it is in a file all the same,
// because the configuration or a flag says so; nil means never.
func (p *program) sharedFlags(c *cobra.Command, what string, local func(*config.Gateway) bool) *clusterFlags {
	v := new(clusterFlags)
	c.PersistentFlags().Var(v.redisValue(), "redis", "use what the replicas of a gateway share in the Redis at this `URL`; "+redisEnv+" is used if the flag is missing, and "+redisOff+" means the files of this machine")
	c.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if up := cmd.Root().PersistentPreRunE; up != nil {
			if err := up(cmd, args); err != nil {
				return err
			}
		}
		if v.url() == "" {
			return p.checkLocal(v, what, local)
		}
		store, err := v.open(cmd.Context(), slog.New(slog.DiscardHandler))
		if store != nil {
			p.shared = store // run closes it
		}
		return err
	}
	return v
}

// checkLocal returns an error if a command would use the files of this machine, and
// the gateway of this configuration shares what they have in Redis.
func (p *program) checkLocal(v *clusterFlags, what string, local func(*config.Gateway) bool) error {
	if v.redis == redisOff {
		return nil
	}
	file, err := p.redisFile()
	if err != nil {
		return err
	}
	at, err := os.ReadFile(file)
	if err != nil {
		return nil // no gateway with Redis has used this folder, or not as this user
	}
	c, err := p.config()
	if err != nil {
		return err
	}
	if g := c.Settings().Gateway; local != nil && local(&g) {
		return nil
	}
	return usagef("the gateway of this configuration shares its %s in Redis, at %s: name it with --redis or %s, with its password if it has one. --redis %s uses the files of this machine, which that gateway does not", what, strings.TrimSpace(string(at)), redisEnv, redisOff)
}

// redisFile returns the file that says at which Redis the gateway of this
// configuration folder was started last. It does not exist if that used none.
func (p *program) redisFile() (string, error) {
	dir, err := p.configDir()
	return filepath.Join(dir, "gateway", "redis"), err
}

// recordRedis makes commands notice that this gateway uses Redis, or no more. A
// folder that cannot be written is no error: they need it on their own machine only.
func (p *program) recordRedis(v *clusterFlags) {
	file, err := p.redisFile()
	if err != nil {
		return
	}
	if v.url() == "" {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			slog.Debug("remove the note about Redis", "error", err)
		}
		return
	}
	if os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		err = safefile.WritePath(file, []byte(redisPlace(v.url())+"\n"), 0o600)
	}
	if err != nil {
		slog.Debug("note that the gateway uses Redis", "error", err)
	}
}

// redisPlace returns the URL of a Redis without its secrets.
func redisPlace(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an invalid URL"
	}
	u.User = nil
	q := u.Query()
	for name := range q {
		switch name {
		case "addr", "cluster", "master", "prefix":
		default:
			q.Del(name)
		}
	}
	u.RawQuery = q.Encode()
	return cmp.Or(u.String(), "an empty URL")
}

// checkSecret reads the cluster secret of a command that changes what is stored with
// it, and returns an error if it is not that of the replicas.
func (p *program) checkSecret(ctx context.Context, v *clusterFlags) ([]byte, error) {
	secret, err := p.clusterSecret(v)
	if err != nil || p.shared == nil {
		return nil, err
	}
	if err := cluster.CheckSecret(ctx, p.shared, secret); err != nil {
		return nil, explainSecret(err)
	}
	return secret, nil
}

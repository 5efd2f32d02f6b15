package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/auth/protect/clusterkeys"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/redis"
)

// clusterFlags holds the flags of a gateway that is one of many replicas.
type clusterFlags struct {
	redis, addr, advertise, secret string
}

// The environment variables that stand in for flags whose values other users of
// the machine could see.
const (
	redisEnv  = "TENON_REDIS"
	secretEnv = "TENON_CLUSTER_SECRET"
)

func (v *clusterFlags) add(f *pflag.FlagSet) {
	f.Var(v.redisValue(), "redis", "be one of many replicas, which share the Redis at this `URL`, such as redis://10.0.0.5:6379/0; "+redisEnv+" is used if the flag is missing, and "+redisOff+" means none")
	v.addSecret(f)
}

func (v *clusterFlags) addSecret(f *pflag.FlagSet) {
	f.Var(filled{&v.secret, "leave the flag out if there is none"}, "cluster-secret", "a `reference` to a secret of all replicas, such as file:/etc/tenon/cluster, which encrypts their keys in Redis; "+secretEnv+" is used if the flag is missing")
}

func (v *clusterFlags) addReplica(f *pflag.FlagSet) {
	v.add(f)
	f.StringVar(&v.addr, "cluster-addr", "", "the `address` for other replicas; without it only replicas on this machine reach this one")
	f.StringVar(&v.advertise, "cluster-advertise", "", "the `address` at which other replicas reach --cluster-addr, if it is another")
}

func (v *clusterFlags) redisValue() pflag.Value {
	return filled{&v.redis, redisOff + " means none"}
}

// filled is the value of a flag that must not be empty: a variable of a script that
// is not set must not make a replica a gateway that is alone, or store its keys
// without encryption.
type filled struct {
	value *string
	hint  string
}

func (f filled) Set(s string) error {
	if s == "" {
		return fmt.Errorf("it is empty; %s", f.hint)
	}
	*f.value = s
	return nil
}

func (f filled) String() string {
	if f.value == nil { // pflag makes one to compare defaults with
		return ""
	}
	return *f.value
}

func (filled) Type() string { return "string" }

// url returns the URL of Redis; empty means no cluster.
func (v *clusterFlags) url() string {
	if v.redis == redisOff {
		return ""
	}
	return cmp.Or(v.redis, os.Getenv(redisEnv))
}

// clusterSecret returns the secret of the replicas; nil means none.
func (p *program) clusterSecret(v *clusterFlags) ([]byte, error) {
	secret := os.Getenv(secretEnv)
	if v.secret != "" {
		var err error
		if secret, err = p.reference(v.secret); err != nil {
			return nil, usagef("--cluster-secret: %v", err)
		}
	} else if secret == "" {
		return nil, nil
	}
	secret = strings.TrimSpace(secret)
	if len(secret) < 16 {
		return nil, usagef("the cluster secret has %d bytes: it needs at least 16, such as those of \"openssl rand -base64 32\"", len(secret))
	}
	return []byte(secret), nil
}

// open connects to Redis. It returns nil if the flags name none.
func (v *clusterFlags) open(ctx context.Context, log *slog.Logger) (*redis.Store, error) {
	if v.url() == "" {
		return nil, nil
	}
	store, err := redis.Open(ctx, v.url(), &redis.Options{Log: log})
	if err != nil {
		return nil, explainRedis(v.url(), err)
	}
	return store, nil
}

// explainRedis returns an error that says what is wrong with a Redis and what to do.
// It is one of usage if another command line would help.
func explainRedis(url string, err error) error {
	if !errors.Is(err, cluster.ErrUnavailable) {
		return usageError{fmt.Errorf("--redis or %s: %w", redisEnv, err)}
	}
	at, cause := redisPlace(url), err.Error()
	if _, after, ok := strings.Cut(cause, cluster.ErrUnavailable.Error()+": "); ok {
		cause = strings.TrimRight(after, ".")
	}
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(cause, w) })
	}
	switch {
	case says("WRONGPASS", "invalid password", "NOAUTH") && strings.Contains(at, "master="):
		return usagef("Redis or one of its sentinels at %s does not accept the password, or needs one. In --redis or %s, that of the sentinels is the parameter sentinel_password, and that of Redis is before the host, after a colon", at, redisEnv)
	case says("WRONGPASS", "invalid password"):
		return usagef("Redis at %s does not accept the user or the password. Check both in --redis or %s; special characters are percent-encoded, such as %%40 for @", at, redisEnv)
	case says("NOAUTH"):
		return usagef("Redis at %s needs a password. Put it into %s, or before the host in --redis, after a colon", at, redisEnv)
	case says("without any password configured"):
		return usagef("Redis at %s has no password, and --redis or %s names one. Leave it out, or set requirepass there", at, redisEnv)
	case says("NOPERM"):
		return usagef("Redis at %s: %s. Its user needs all keys and channels that begin with the prefix (\"tenon:\" if the URL names none), and all commands", at, cause)
	case says("DB index"):
		return usagef("Redis at %s: %s. The path of the URL is the number of a database", at, cause)
	case says("tls:", "x509:"):
		return usagef("no TLS connection to Redis at %s: %s. Use redis:// for a server without TLS, and ca, cert and key in the URL for certificates", at, cause)
	case says("no answer in time", "i/o timeout", "deadline exceeded"):
		return fmt.Errorf("no answer from Redis at %s. Check whether it hangs (redis-cli ping), whether a firewall is between, and whether it uses TLS as the URL says (rediss://) or not (redis://)", at)
	}
	return fmt.Errorf("no connection to Redis at %s: %s. Start it, or correct --redis or %s", at, cause, redisEnv)
}

// explainJoin is explainRedis for an error of [cluster.Join].
func explainJoin(url string, err error) error {
	if errors.Is(err, cluster.ErrUnavailable) {
		return explainRedis(url, err)
	}
	return usageError{fmt.Errorf("%w (see --cluster-addr, --cluster-advertise and --cluster-secret or %s)", err, secretEnv)}
}

// explainSecret returns an error about the keys of a cluster that says what to do.
func explainSecret(err error) error {
	if errors.Is(err, cluster.ErrUnavailable) {
		return err
	}
	return usageError{fmt.Errorf("%w (see --cluster-secret or %s)", err, secretEnv)}
}

// join connects to Redis and joins the cluster. It returns nil if the flags name
// no Redis. The caller closes it.
func (p *program) join(ctx context.Context, v *clusterFlags, log *slog.Logger) (*gatewayCluster, error) {
	if v.url() == "" && (v.addr != "" || v.advertise != "" || v.secret != "") {
		return nil, usagef("--cluster-addr, --cluster-advertise and --cluster-secret are for replicas: name their Redis with --redis")
	}
	if v.advertise != "" && v.addr == "" {
		return nil, usagef("--cluster-advertise needs --cluster-addr, the address at which this replica listens for others")
	}
	secret, err := p.clusterSecret(v)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	store, err := v.open(ctx, log)
	if store == nil {
		return nil, err
	}
	name, _ := os.Hostname()
	replica, err := cluster.Join(ctx, store, &cluster.Options{Addr: v.addr, Advertise: v.advertise, Name: name, Secret: secret, Logger: log})
	if err != nil {
		store.Close()
		return nil, explainJoin(v.url(), err)
	}
	return &gatewayCluster{store: store, replica: replica, secret: secret}, nil
}

// share makes the replicas share what each would keep for itself otherwise.
func (g *gatewayRun) share() error {
	if g.cluster == nil {
		return nil
	}
	g.p.shared = g.cluster.store
	g.p.onBehalf.replica = g.cluster.replica
	g.access.counts = gateway.NewClusterLimits(g.cluster.store)
	_, err := g.p.watchTaskKeys(g.cluster.replica) // until the replica is closed
	return err
}

// keepsSessions reports whether a session must stay at one replica, because a
// server has a connection for each session.
func (g *gatewayRun) keepsSessions() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.servers {
		if callerScope(s.entry) == gateway.PerSession {
			return true
		}
	}
	return false
}

// joinTimeout bounds the time to connect to Redis and join.
const joinTimeout = 15 * time.Second

// A gatewayCluster is a gateway's membership in a cluster. Nil means none.
type gatewayCluster struct {
	store   *redis.Store
	replica *cluster.Replica
	secret  []byte            // of the replicas; nil means none
	keys    *clusterkeys.Keys // nil if the replicas share no API keys
	keyless bool              // the replicas could share API keys, and had none at the start
}

// member returns the replica; nil without a cluster.
func (c *gatewayCluster) member() *cluster.Replica {
	if c == nil {
		return nil
	}
	return c.replica
}

// status returns the cluster as this replica sees it; nil without a cluster.
func (c *gatewayCluster) status() *cluster.Status {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	s := c.replica.Status(ctx)
	return &s
}

// close leaves the cluster.
func (c *gatewayCluster) close() {
	if c == nil {
		return
	}
	if c.keys != nil {
		c.keys.Close()
	}
	c.replica.Close()
	c.store.Close()
}

// rotateCommand returns tenon gateway keys rotate.
func (p *program) rotateCommand(v *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Make a new key for what the replicas of a gateway seal",
		Long: `Make a new key for what the replicas of a gateway seal: session ids, the state of
calls that wait for input, and their certificates for each other. The replicas at
the Redis of --redis use it within seconds, and nobody notices: what an older key
has sealed is still accepted for a day. The API keys of clients stay as they are.`,
		Example: "  tenon gateway keys rotate --redis redis://10.0.0.5:6379/0",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if v.url() == "" {
				return usagef("name the Redis of the replicas with --redis or %s", redisEnv)
			}
			return p.rotateKeys(cmd.Context(), v)
		},
	}
}

func (p *program) rotateKeys(ctx context.Context, v *clusterFlags) error {
	c, err := p.join(ctx, v, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.replica.RotateKeys(ctx); err != nil {
		return fmt.Errorf("rotate the keys: %w", err)
	}
	keys := c.status().Keys
	fmt.Fprintf(p.out, "The replicas seal with key %s now; %d keys are accepted.\n", keys[0].ID, len(keys))
	return nil
}

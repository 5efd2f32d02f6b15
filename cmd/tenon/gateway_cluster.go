package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenon-mcp/tenon/app/gateway"
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
	f.StringVar(&v.redis, "redis", "", "be one of many replicas, which share the Redis at this `URL`, such as redis://10.0.0.5:6379/0; "+redisEnv+" is used if the flag is missing")
	f.StringVar(&v.secret, "cluster-secret", "", "a `reference` to a secret of all replicas, such as file:/etc/tenon/cluster, which encrypts their keys in Redis; "+secretEnv+" is used if the flag is missing")
}

func (v *clusterFlags) addReplica(f *pflag.FlagSet) {
	v.add(f)
	f.StringVar(&v.addr, "cluster-addr", "", "the `address` for other replicas; without it only replicas on this machine reach this one")
	f.StringVar(&v.advertise, "cluster-advertise", "", "the `address` at which other replicas reach --cluster-addr, if it is another")
}

// url returns the URL of Redis; empty means no cluster.
func (v *clusterFlags) url() string { return cmp.Or(v.redis, os.Getenv(redisEnv)) }

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
		return nil, usageError{fmt.Errorf("--redis: %w", err)}
	}
	return store, nil
}

// join connects to Redis and joins the cluster. It returns nil if the flags name
// no Redis. The caller closes it.
func (p *program) join(ctx context.Context, v *clusterFlags, log *slog.Logger) (*gatewayCluster, error) {
	if v.url() == "" && (v.addr != "" || v.advertise != "" || v.secret != "") {
		return nil, usagef("--cluster-addr, --cluster-advertise and --cluster-secret are for replicas: name their Redis with --redis")
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
		return nil, usageError{fmt.Errorf("%w (see --cluster-addr and --cluster-secret)", err)}
	}
	return &gatewayCluster{store: store, replica: replica}, nil
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

// authorized is the group of replicas that require authorization. A member is in it
// for authorizedTTL, and counts while it lives.
const (
	authorizedGroup = "gateway authorization"
	authorizedTTL   = time.Hour
)

// agree returns an error if this replica would serve everybody where others require
// authorization, as without the file of API keys that those have. If it is the
// other way round, it logs a warning.
func (c *gatewayCluster) agree(ctx context.Context, guarded bool, log *slog.Logger) error {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	live, err := c.replica.Members(ctx)
	if err != nil {
		return err
	}
	with, err := c.store.Members(ctx, authorizedGroup)
	if err != nil {
		return err
	}
	for _, m := range live {
		_, requires := with[m.ID]
		switch {
		case m.ID == c.replica.ID():
		case requires && !guarded:
			return usagef("the replica at %s requires authorization, and this one would serve everybody: give it the same --auth-issuer or --auth-token, or a copy of the file of API keys", m.Addr)
		case !requires && guarded:
			log.Warn("another replica requires no authorization, and this one does", "replica", m.Addr)
		}
	}
	if !guarded {
		return nil
	}
	return c.register(ctx)
}

// register records that this replica requires authorization, now and while it runs.
func (c *gatewayCluster) register(ctx context.Context) error {
	register := func(ctx context.Context) error {
		return c.store.Register(ctx, authorizedGroup, c.replica.ID(), nil, authorizedTTL)
	}
	if err := register(ctx); err != nil {
		return err
	}
	c.ended = make(chan struct{})
	go func() { // until close
		tick := time.NewTicker(authorizedTTL / 4)
		defer tick.Stop()
		for {
			select {
			case <-c.ended:
				return
			case <-tick.C:
				register(context.Background()) // has a deadline; the next time is soon enough if it fails
			}
		}
	}()
	return nil
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

// shareWith gives a command and its subcommands the flag --redis, for what the
// replicas of a gateway share.
func (p *program) shareWith(c *cobra.Command) {
	var v clusterFlags
	c.PersistentFlags().StringVar(&v.redis, "redis", "", "use what the replicas of a gateway share in the Redis at this `URL`; "+redisEnv+" is used if the flag is missing")
	c.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if up := cmd.Root().PersistentPreRunE; up != nil {
			if err := up(cmd, args); err != nil {
				return err
			}
		}
		store, err := v.open(cmd.Context(), slog.New(slog.DiscardHandler))
		if store != nil {
			p.shared = store // ends with the process
		}
		return err
	}
}

// joinTimeout bounds the time to connect to Redis and join.
const joinTimeout = 15 * time.Second

// A gatewayCluster is a gateway's membership in a cluster. Nil means none.
type gatewayCluster struct {
	store   *redis.Store
	replica *cluster.Replica
	ended   chan struct{} // closed by close; nil if nothing waits for it
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
	if c.ended != nil {
		close(c.ended)
	}
	c.replica.Close()
	c.store.Close()
}

// rotateCommand returns tenon gateway keys rotate.
func (p *program) rotateCommand() *cobra.Command {
	var v clusterFlags
	c := &cobra.Command{
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
			return p.rotateKeys(cmd.Context(), &v)
		},
	}
	v.add(c.Flags())
	return c
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

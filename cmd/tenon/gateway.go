package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/gcfloor"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// gatewayAddress is where a gateway is unless --addr says another address.
const gatewayAddress = "127.0.0.1:7070"

// gatewayFlags holds the flags of tenon gateway.
type gatewayFlags struct {
	serving
	servers   []string
	stdio     bool
	names     string
	set       string
	search    bool
	from      string
	logFormat string
	logLevel  string
	ops       string
	page      string
	drain     time.Duration
	cluster   clusterFlags
}

func (p *program) gatewayCommand() *cobra.Command {
	var v gatewayFlags
	c := &cobra.Command{
		Use:   "gateway",
		Short: "Show all your servers as one, to clients of every revision",
		Long: `Connect to the configured servers and serve them as one server: over HTTP until
interrupted, or with --stdio on standard input and output until the input ends.
Clients and servers may be of any protocol revision.

Tools and prompts are named server__name, resources server+uri. With --names plain
a single server keeps its names. tenon.json can rename and hide tools, and define
sets: selections with a URL of their own, such as /mcp/dev. With --search clients
get two tools, search and invoke, instead of all. --from uses the servers of another
program's configuration.

Without authorization it serves this machine only. --auth-issuer accepts the tokens
of an OAuth authorization server, --auth-token one fixed token, and API keys are
made with "tenon gateway keys". Rules and limits in tenon.json say who may use what.
Behind a proxy that ends TLS, --public-url is the URL that clients use.

The configuration is read again when its files change or on SIGHUP, without an
effect on open calls. On SIGTERM open calls have the time of --drain to end. An
interrupt ends the gateway at once.

With --redis any number of gateways behind a load balancer serve the same clients,
of every revision, without sticky sessions.`,
		Example: "  tenon gateway\n  tenon gateway --from claude\n  tenon gateway --addr 127.0.0.1:8080 -s notes -s builtin:calc\n  tenon gateway --stdio\n  tenon gateway status",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := v.checkStdio(cmd.Flags()); err != nil {
				return err
			}
			return p.gateway(cmd.Context(), &v)
		},
	}
	f := c.Flags()
	f.StringVar(&v.http, "addr", gatewayAddress, "the `address` to serve at")
	f.BoolVar(&v.stdio, "stdio", false, "serve on standard input and output instead")
	f.StringVar(&v.names, "names", "server", "how names look: `server` puts the server's name before them, plain leaves those of a single server as they are")
	f.StringVar(&v.set, "set", "", "with --stdio: serve only this `set` of tenon.json")
	f.BoolVar(&v.search, "search", false, "show the tools search and invoke instead of all tools")
	f.StringArrayVarP(&v.servers, "server", "s", nil, "use this `server` (a name, URL or builtin:NAME) instead of the configured ones (repeatable)")
	f.StringVar(&v.from, "from", "", "use the servers of this `program`: claude (both), "+strings.Join(config.Apps, ", "))
	f.StringVar(&v.logFormat, "log-format", "text", "the format of the log on standard error: `text` or json")
	f.StringVar(&v.logLevel, "log-level", "info", "the least important messages to log: `debug` (also each call), info, warn or error")
	f.StringVar(&v.ops, "ops-addr", "", "serve /metrics, /status, /healthz and /readyz at this `address`, instead of beside the servers")
	f.DurationVar(&v.drain, "drain", 30*time.Second, "how long open calls may take to end after SIGTERM")
	f.StringVar(&v.page, "page", pageAuto, "the loopback `address` of a page that shows callers, servers and calls; auto has one if you run it in a terminal, off none")
	v.cluster.addReplica(f)
	v.httpFlags(f)
	f.Lookup("public-url").Usage = "the `URL` at which clients reach the gateway, if a proxy is before it (default: the address it listens on)"
	c.AddCommand(p.gatewayLoginsCommand(), p.gatewayStatusCommand(), p.gatewayPinsCommand(), p.gatewayKeysCommand())
	return c
}

// checkStdio returns an error if --stdio is used with a flag for HTTP.
func (v *gatewayFlags) checkStdio(set *pflag.FlagSet) (err error) {
	if !v.stdio {
		return nil
	}
	http := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(serving).httpFlags(http)
	new(clusterFlags).addReplica(http)
	set.Visit(func(f *pflag.Flag) {
		if err == nil && (f.Name == "addr" || http.Lookup(f.Name) != nil) {
			err = usagef("--stdio does not work with --%s", f.Name)
		}
	})
	return err
}

func (p *program) gateway(ctx context.Context, v *gatewayFlags) error {
	gcfloor.Set(32 << 20)
	if v.names != "server" && v.names != "plain" {
		return usagef("--names must be server or plain, not %q", v.names)
	}
	if n := len(gatewayPath()); n >= maxDepth {
		return usagef("this gateway is behind %d others: an entry of the configuration leads back to the gateway. Remove it", n)
	}
	if err := v.usePublic(); err != nil {
		return err
	}
	if err := p.useFrom(v.from); err != nil {
		return err
	}
	log, err := p.gatewayLog(v.logFormat, v.logLevel)
	if err != nil {
		return err
	}
	if v.logFormat == "json" {
		p.log = log
	}
	g, err := newGatewayRun(p, v, log)
	if err != nil {
		return err
	}
	defer g.close()
	if !v.stdio { // TENON_REDIS is for gateways over HTTP
		if g.cluster, err = p.join(ctx, &v.cluster, log); err != nil {
			return err
		}
	}
	defer g.cluster.close()
	if err := g.share(); err != nil {
		return err
	}
	page, err := g.listenPage()
	if err != nil {
		return err
	}
	defer page.close()
	if !v.stdio {
		p.recordRedis(&v.cluster)
		if g.keys, err = g.openKeys(ctx); err != nil {
			return err
		}
		v.keys = g.keys
		if err := v.listen(); err != nil {
			return err
		}
		defer v.listener.Close()
	}
	if err := g.apply(ctx); err != nil {
		return err
	}
	if v.stdio {
		end, err := p.onBehalf.servePages()
		if err != nil {
			return err
		}
		defer end()
		page.serve("standard input and output")
		defer g.follow(ctx)()
		return stdio.Serve(context.WithoutCancel(ctx), g.onStdio(), nil)
	}
	return g.serve(ctx, page)
}

// chain puts the links of the gateway before h, in the order of a call: limits of
// all calls, audit, policy, limits of what is used, guard. Search comes before them,
// so that what a client finds and invokes with it passes them too: see searching.
// Names says whose the names in calls are.
func (g *gatewayRun) chain(c *config.Config, guard *gatewayGuard, h mcp.Handler, names gateway.Resolver) (mcp.Handler, error) {
	s := c.Settings().Gateway
	audit, err := g.access.audit(&s, names)
	if err != nil {
		return nil, err
	}
	limitAll, limitAllowed := g.access.limit(&s, names)
	return mcp.Chain(h, g.access.notifications, limitAll, g.access.subscriptions, audit, g.access.policy.Middleware, limitAllowed, g.access.owners, g.p.onBehalf.callers.middleware, guard.results), nil
}

// errNoCaller is the response to an input request of a server that belongs to no
// call, so that there is no client to ask.
var errNoCaller = errors.New("a gateway can ask a client only during its calls")

// gatewayOptions returns the options of a connection that serves many clients.
// The gateway declares all capabilities: which of them a call may use depends on
// its client.
func (p *program) gatewayOptions(ctx context.Context, entry config.Server) (*connect.Options, error) {
	o, err := p.connectOptions(ctx, entry)
	if err != nil {
		return nil, err
	}
	if o.Transport, err = p.onBehalf.transport(entry); err != nil {
		return nil, err
	}
	o.Once, o.NoLogin, o.KeepTrying, o.Pace = false, true, true, true
	if entry.Builtin == "notes" && entry.Query.Has("grants") {
		return nil, usagef("server %s: grants of builtin:notes need to know who calls, which a server inside the gateway does not: run tenon serve notes with --auth-issuer, and use its URL here", entry.Name)
	}
	if builtin.WrapsAPI(entry.Builtin) { // callers may have accounts of their own there
		o.Direct, o.Builtin = true, p.onBehalf.openAPI
	}
	o.Client = client.Options{
		Client:    mcp.Implementation{Name: "tenon-gateway", Version: version.String()},
		Elicit:    func(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) { return nil, errNoCaller },
		ElicitURL: func(context.Context, *client.Elicitation) (*mcp.ElicitResult, error) { return nil, errNoCaller },
		//lint:ignore SA1019 servers of older revisions use it
		Sampling: &client.Sampling{Tools: true, Create: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return nil, errNoCaller
		}},
		//lint:ignore SA1019 servers of older revisions use it
		Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil },
		Warn: func(warning string) {
			if !client.IsDeprecation(warning) { // the gateway declares them for its clients
				p.note("warning: %s: %s", entry.Name, warning)
			}
		},
	}
	return o, nil
}

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/version"
)

// What a replica says about itself to the others: its version, the digest of its
// configuration, and those of the parts of it.
const (
	infoVersion = "version"
	infoConfig  = "config"
	infoPart    = "config " // before the name of a part
)

// The parts of a configuration that replicas compare.
const (
	partServers  = "servers"
	partSettings = `"gateway" of tenon.json`
	partFlags    = "flags"
)

// describe returns what this replica says about itself.
func (g *gatewayRun) describe(c *config.Config, next map[string]*gatewayServer) map[string]string {
	info := map[string]string{infoVersion: version.String(), infoAuthorization: authorizationNone,
		infoPart + partServers:  digestServers(next),
		infoPart + partSettings: digestSettings(c.Settings().Gateway),
		infoPart + partFlags:    g.v.digest(),
	}
	if g.v.guarded() {
		info[infoAuthorization] = authorizationRequired
	}
	all := sha256.New()
	for _, part := range slices.Sorted(maps.Keys(info)) {
		if strings.HasPrefix(part, infoPart) {
			fmt.Fprintln(all, part, info[part])
		}
	}
	info[infoConfig] = hex.EncodeToString(all.Sum(nil))[:digestLength]
	return info
}

// digestLength is the number of hexadecimal digits of a digest that people compare.
const digestLength = 12

// digestOf returns a digest of a value that has strings, numbers, lists and maps.
func digestOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		text = fmt.Append(nil, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:digestLength]
}

// digestServers returns a digest of the entries of servers without secrets: of
// variables and headers it has the names only.
func digestServers(next map[string]*gatewayServer) string {
	entries := []config.Server{}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		e := next[name].entry
		hidden := strings.NewReplacer(hide(e.Secrets)...)
		e.Source, e.Secrets = config.Source{}, nil
		e.Env, e.Headers = names(e.Env), names(e.Headers)
		e.Command, e.URL, e.Args = hidden.Replace(e.Command), hidden.Replace(e.URL), slices.Clone(e.Args)
		for i := range e.Args {
			e.Args[i] = hidden.Replace(e.Args[i])
		}
		e.Query = maps.Clone(e.Query)
		for option, values := range e.Query {
			e.Query[option] = []string{hidden.Replace(strings.Join(values, "\n"))}
		}
		if e.OAuth != nil {
			o := *e.OAuth
			o.ClientSecret, o.IDPClientSecret, o.Proxy = "", "", hidden.Replace(o.Proxy)
			e.OAuth = &o
		}
		entries = append(entries, e)
	}
	return digestOf(entries)
}

// hide returns the arguments of a replacer that removes secrets, the longest first.
func hide(secrets []string) (pairs []string) {
	for _, s := range slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		if s != "" {
			pairs = append(pairs, s, "")
		}
	}
	return pairs
}

// names returns a map without its values.
func names(m map[string]string) map[string]string {
	only := map[string]string{}
	for name := range m {
		only[name] = ""
	}
	return only
}

// digestSettings returns a digest of the settings of a gateway. References to secrets
// are in it, and where rules are in their file is not.
func digestSettings(s config.Gateway) string {
	s.Rules, s.Limits = slices.Clone(s.Rules), slices.Clone(s.Limits)
	for i := range s.Rules {
		s.Rules[i].Line = 0
	}
	for i := range s.Limits {
		s.Limits[i].Line = 0
	}
	return digestOf(s)
}

// digest returns a digest of the flags that must be the same for all replicas.
func (v *gatewayFlags) digest() string {
	return digestOf([]any{v.names, v.search, v.issuer, v.audience, v.scopes, v.token, v.public, v.hosts, v.origins, v.cors, v.sse, v.card})
}

// publish tells the other replicas which version and configuration this one has.
func (c *gatewayCluster) publish(ctx context.Context, info map[string]string, log *slog.Logger) {
	if c == nil {
		return
	}
	if err := c.replica.SetInfo(ctx, info); err != nil { // sent again with the next renewal
		log.Debug("publish the configuration", "error", err)
	}
}

// compare logs a warning about each live replica with another version or
// configuration.
func (c *gatewayCluster) compare(log *slog.Logger) {
	if c == nil {
		return
	}
	for _, text := range differences(c.status()) {
		log.Warn("the replicas differ; that is normal only while they are being replaced", "difference", text)
	}
}

// differences says how other replicas differ from this one.
func differences(s *cluster.Status) (all []string) {
	if s == nil {
		return nil
	}
	own := s.Self.Info
	for _, m := range s.Members {
		if m.ID == s.Self.ID || m.Info == nil { // a replica that has just joined
			continue
		}
		who := fmt.Sprintf("replica %s (%s)", m.ID, cmp.Or(m.Name, m.Addr))
		if m.Info[infoVersion] != own[infoVersion] {
			all = append(all, fmt.Sprintf("%s has version %s, and this one %s", who, m.Info[infoVersion], own[infoVersion]))
		}
		if m.Info[infoConfig] == own[infoConfig] {
			continue
		}
		var parts []string
		for part, digest := range own {
			if name, ok := strings.CutPrefix(part, infoPart); ok && m.Info[part] != digest {
				parts = append(parts, name)
			}
		}
		slices.Sort(parts)
		all = append(all, fmt.Sprintf("%s has another configuration: %s", who, cmp.Or(strings.Join(parts, ", "), "parts that this version does not know")))
	}
	return all
}

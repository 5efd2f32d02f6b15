package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
)

// The paths for operators, beside healthPath.
const (
	readyPath   = "/readyz"
	metricsPath = "/metrics"
	statusPath  = "/status"
)

// mountOps adds the endpoints for operators. Without details there are neither
// metrics nor a status, and readiness does not name servers: names of servers and
// tools are not for everybody.
func (g *gatewayRun) mountOps(mux *http.ServeMux, details bool) {
	mux.HandleFunc("GET "+readyPath, func(w http.ResponseWriter, r *http.Request) { g.serveReady(w, details && g.isLocal(r)) })
	if !details {
		return
	}
	mux.Handle("GET "+metricsPath, g.local(g.serveMetrics))
	mux.Handle("GET "+statusPath, g.local(g.serveStatus))
}

// local refuses requests for other hosts than this machine: a page of another
// site whose name leads here must not read them.
func (g *gatewayRun) local(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.isLocal(r) {
			http.Error(w, fmt.Sprintf("unknown host %q: use an IP address or localhost, or start tenon gateway with --host and that name", textclip.Clip(hostOf(r), 200)), http.StatusForbidden)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		h(w, r)
	})
}

func (g *gatewayRun) isLocal(r *http.Request) bool {
	name := hostOf(r)
	if ip := net.ParseIP(strings.Trim(name, "[]")); ip != nil {
		return true // a page's host is a name
	}
	return name == "localhost" || slices.Contains(g.v.hosts, name)
}

// hostOf returns the host of a request without its port.
func hostOf(r *http.Request) string {
	if name, _, err := net.SplitHostPort(r.Host); err == nil {
		return name
	}
	return r.Host
}

// serveReady answers with 200 if the gateway takes calls: its servers are
// connected or have failed, calls can be recorded, and it does not end. A server
// that failed does not make the gateway unready.
func (g *gatewayRun) serveReady(w http.ResponseWriter, details bool) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	var starting, down []string
	for _, s := range g.serverStatus() {
		switch {
		case connect.Phase(s.State) == connect.Starting:
			starting = append(starting, s.Name)
		case !s.available():
			down = append(down, s.Name)
		}
	}
	refuses, _ := g.access.auditError()
	switch {
	case g.draining.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "ending\n")
		return
	case refuses:
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "the audit log cannot be written\n")
	case len(starting) > 0 && time.Since(g.started) < readyLimit:
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "starting\n")
	default:
		io.WriteString(w, "ready\n")
	}
	if details && len(starting) > 0 {
		fmt.Fprintf(w, "starting: %s\n", strings.Join(starting, ", "))
	}
	if details && len(down) > 0 {
		fmt.Fprintf(w, "not available: %s\n", strings.Join(down, ", "))
	}
}

// readyLimit is how long after its start a gateway may be unready because of
// servers that are starting.
const readyLimit = 30 * time.Second

// A gatewayStatus is the answer at statusPath.
type gatewayStatus struct {
	Version  string                 `json:"version"`
	PID      int                    `json:"pid"`
	Started  time.Time              `json:"started"`
	State    string                 `json:"state"` // running or ending
	InFlight int                    `json:"callsInFlight"`
	Waiting  int                    `json:"callsWaiting"` // for input, while their servers keep them open
	Reloads  int64                  `json:"reloads"`
	Refused  int64                  `json:"reloadsRefused"`
	Sessions int                    `json:"sessions"` // of legacy clients over HTTP
	Servers  []gatewayServerStatus  `json:"servers"`
	Callers  []gateway.CallerStatus `json:"callers"`
	Cluster  *cluster.Status        `json:"cluster,omitempty"`
	Warnings []string               `json:"warnings,omitempty"` // about the configuration, the audit log and other replicas
}

type gatewayServerStatus struct {
	Name     string       `json:"name"`
	State    string       `json:"state"`
	Why      string       `json:"why,omitempty"`
	Since    time.Time    `json:"since"`
	Kind     string       `json:"kind"`
	Revision mcp.Revision `json:"revision,omitempty"`
	Tools    *int         `json:"tools,omitempty"`    // missing: see noTools
	HeldBack int          `json:"heldBack,omitempty"` // definitions that wait for approval
	Starts   int          `json:"starts"`
	// Connections is the number of open connections. Users is the number of users
	// that have connections of their own; missing if all share one.
	Connections int  `json:"connections"`
	Users       *int `json:"users,omitempty"`
	// Calls are those of clients, Errors those without a response.
	Calls  int64 `json:"calls"`
	Errors int64 `json:"errors"`
}

// onDemand is the state of a server to which each caller has a connection of its
// own.
const onDemand = "on demand"

// available reports whether calls can be made.
func (s gatewayServerStatus) available() bool {
	return s.State == onDemand || connect.State{Phase: connect.Phase(s.State)}.Usable()
}

// serverStatus returns how the servers are, sorted by name.
func (g *gatewayRun) serverStatus() []gatewayServerStatus {
	all := []gatewayServerStatus{}
	g.mu.Lock()
	servers := slices.Collect(maps.Values(g.servers))
	g.mu.Unlock()
	routed := map[string]gateway.ServerStatus{}
	if g.router != nil {
		for _, s := range g.router.Status() {
			routed[s.Name] = s
		}
	}
	held := map[string]int{}
	if pins := g.pins.Load(); pins != nil {
		for _, pin := range pins.List() {
			if pin.Held != nil {
				held[pin.Server]++
			}
		}
	}
	for _, one := range servers {
		s := connect.State{Server: one.entry.Name, Kind: one.entry.Kind, Phase: onDemand, Since: g.started}
		if one.conn != nil {
			s = one.conn.State()
		}
		status := g.statusOf(s, routed[s.Server])
		if one.conn == nil {
			users := routed[s.Server].Users
			status.Users = &users
		}
		status.HeldBack = held[s.Server]
		all = append(all, status)
	}
	slices.SortFunc(all, func(a, b gatewayServerStatus) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// countSessions returns the number of sessions of legacy clients.
func (g *gatewayRun) countSessions() int {
	if f := g.sessions.Load(); f != nil {
		return (*f)()
	}
	return 0
}

// statusOf returns how a server is, by its connection and by the router, which
// also knows whether the server responds.
func (g *gatewayRun) statusOf(s connect.State, routed gateway.ServerStatus) gatewayServerStatus {
	if (s.Usable() || s.Phase == onDemand) && routed.Why != "" {
		s.Phase, s.Why = connect.Failed, routed.Why
	}
	one := gatewayServerStatus{Name: s.Server, State: string(s.Phase), Why: g.p.cleanLine(s.Why), Since: s.Since, Kind: string(s.Kind), Revision: s.Revision, Starts: s.Starts, Calls: int64(s.Calls), Errors: int64(s.Errors)}
	if s.Usable() {
		one.Connections = 1
	}
	if routed.Name == "" { // with --names plain
		return one
	}
	if routed.Tools >= 0 {
		one.Tools = &routed.Tools
	}
	one.Connections, one.Calls, one.Errors = routed.Connections, routed.Calls, routed.Failures
	return one
}

func (g *gatewayRun) status() gatewayStatus {
	s := gatewayStatus{Version: version.String(), PID: os.Getpid(), Started: g.started, State: "running", InFlight: g.head.InFlight(),
		Reloads: g.reloads.Load(), Refused: g.refused.Load(), Sessions: g.countSessions(), Servers: g.serverStatus(), Callers: g.observer.Callers(), Cluster: g.cluster.status(), Warnings: g.statusWarnings()}
	s.Warnings = append(s.Warnings, differences(s.Cluster)...)
	if g.router != nil {
		s.Waiting = g.router.Waiting()
	}
	if g.draining.Load() {
		s.State = "ending"
	}
	return s
}

func (g *gatewayRun) serveStatus(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(g.status()) // a client that has gone needs no error
}

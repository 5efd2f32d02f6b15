package main

import (
	"net/http"

	"github.com/tenon-mcp/tenon/app/telemetry"
)

func (g *gatewayRun) serveMetrics(w http.ResponseWriter, r *http.Request) { g.tel.ServeHTTP(w, r) }

// addGauges adds what the gateway knows besides calls to the metrics.
func (g *gatewayRun) addGauges() {
	servers := func(value func(gatewayServerStatus) float64) func() []telemetry.Value {
		return func() (all []telemetry.Value) {
			for _, s := range g.serverStatus() {
				all = append(all, telemetry.Value{Labels: []string{"server", s.Name}, Value: value(s)})
			}
			return all
		}
	}
	g.tel.AddGauge(telemetry.Gauge{Name: "tenon_gateway_server_up", Help: "Whether a server is available.", Values: servers(func(s gatewayServerStatus) float64 {
		if s.available() {
			return 1
		}
		return 0
	})})
	g.tel.AddGauge(telemetry.Gauge{Name: "tenon_gateway_server_starts_total", Help: "How often a server was connected.", Counter: true, Values: servers(func(s gatewayServerStatus) float64 { return float64(s.Starts) })})
	g.tel.AddGauge(telemetry.Gauge{Name: "tenon_gateway_held_back", Help: "Definitions of a server that wait for approval.", Values: servers(func(s gatewayServerStatus) float64 { return float64(s.HeldBack) })})
	g.tel.AddGauge(telemetry.Gauge{Name: "tenon_gateway_sessions", Help: "Sessions of clients of older revisions.", Values: func() []telemetry.Value {
		return []telemetry.Value{{Value: float64(g.countSessions())}}
	}})
	g.tel.AddGauge(telemetry.Gauge{Name: "tenon_gateway_reloads_total", Help: "How often the configuration was read again.", Counter: true, Values: func() []telemetry.Value {
		return []telemetry.Value{{Labels: []string{"result", "used"}, Value: float64(g.reloads.Load())}, {Labels: []string{"result", "refused"}, Value: float64(g.refused.Load())}}
	}})
}

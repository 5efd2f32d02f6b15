package page

import (
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/web"
)

// The pictures of Learn show a moment of what was played: each diagram is stopped
// at a step.
func TestLearnPictures(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t), add: &web.Proposal{}})
	h.ready(t, "calc", "files", "notes", "shop")
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	views := []struct{ name, hash, play, step string }{
		{"anatomy", "#/", "Play a tool call", "Request"},
		{"primitives", "#/learn/primitives", "Play all three", "Server answers"},
		{"messages", "#/learn/messages/kinds", "Play one of each", "Request"},
		{"sequence", "#/learn/messages/call", "Play a call", "Host to you"},
		{"lifecycle", "#/learn/messages/lifecycle", "Play both", "Client"},
		{"transport", "#/learn/transport", "Play the same call three times", "stdio"},
	}
	for _, l := range all4 {
		p.resize(l.screen)
		for _, v := range views {
			eval[string](p, "location.hash = "+quote(v.hash))
			p.clickText(v.play)
			step := `[...document.querySelectorAll('.player:not([hidden]) .step')].find((e) => e.querySelector('strong').innerText.endsWith(` + quote(v.step) + `))`
			p.until(step)
			eval[bool](p, step+`.click() ?? true`) // stops there
			p.until(step + `.getAttribute('aria-current') === 'step'`)
			eval[bool](p, `document.querySelectorAll('.canvas, .split, .scroll-page').forEach((e) => e.scrollTo(0, 0)) ?? true`)
			keep(t, v.name+l.suffix, p)
		}
	}
	for _, l := range all4 {
		p.resize(l.screen)
		p.at("#/servers", `document.querySelectorAll('.server-row .offer.tools').length === 4`)
		keep(t, "servers"+l.suffix, p)
	}
}

// The anatomy of a host with a server that fails and one that is not approved.
func TestProblemPictures(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{
		servers: append(samples(t), config.Server{Name: "weather", Kind: config.Stdio, Command: "/nonexistent/weather-server"}),
		pending: []web.Pending{{Name: "tickets", File: ".mcp.json", Command: "npx -y ticket-server --project tenon", Pin: "x"}},
	})
	p := open(t, h.address(), wideDesk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	p.until(`document.querySelector('[data-part="server/weather"]').closest('.connection-row').classList.contains('bad')`)
	keep(t, "anatomy-problems", p)
}

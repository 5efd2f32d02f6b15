package page

import (
	"net/url"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/web"
)

// query runs a query in the shop.
func (p *tab) query(sql string) {
	p.t.Helper()
	p.at("#/drive/shop/tools/run_query", `document.querySelector('.detail h2')?.innerText === 'Run a query' && document.querySelector('.raw')`)
	before := eval[int](p, `document.querySelectorAll('.run-chip').length`)
	eval[bool](p, `(() => { const r = document.querySelector('.raw'); r.value = JSON.stringify({sql: `+quote(sql)+`}); r.dispatchEvent(new Event('input')); return true; })()`)
	p.clickText("Run")
	p.until(`document.querySelectorAll('.run-chip').length > ` + string(text(before)) + ` || document.querySelectorAll('.run-chip').length === 10`)
	p.until(`!document.querySelector('.run-chip.wait') && !document.querySelector('.runbar .primary').disabled`)
}

// serverFixture has the samples and a server with broken definitions.
func serverFixture(t *testing.T) *fixture {
	t.Helper()
	h := newFixture(t, setup{
		eras: true, servers: append(samples(t), builtinServer("odd", "odd", nil), config.Server{
			Name: "backup", Kind: config.Stdio, Command: "/bin/sh",
			Args: []string{"-c", `printf '%b\n' 'backup 1.4 on /srv/data' '\033[32mok\033[0m    1204 files unchanged' '\033[33mwarn\033[0m  photos/2024 is larger than 2 GB' '\033[31merror\033[0m mail.db is locked, trying again in 30 s' '\033[32mok\033[0m    mail.db' >&2; exec "$0" serve calc`, tenon(t)},
		}),
		builtin: func(name string, q url.Values) (connect.Builtin, error) {
			if name == "odd" {
				return odd{}, nil
			}
			return builtins(name, q)
		},
		add: &web.Proposal{
			Server: "everything", Name: "everything", Kind: string(config.Stdio), Runs: "npx -y @modelcontextprotocol/server-everything", File: "~/.config/tenon/tenon.json", Pin: "x",
			Writes:   "{\n  \"command\": \"npx\",\n  \"args\": [\"-y\", \"@modelcontextprotocol/server-everything\"]\n}",
			Warnings: []string{"npx runs a package from the network, whose contents can change"},
		},
	})
	h.ready(t, "shop", "odd", "calc", "notes", "backup")
	return h
}

// serverViews are the parts of the view of a server, and what is added to it.
var serverViews = []struct{ name, hash, ready string }{
	{"server-messages", "#/drive/shop/tools/run_query", `document.querySelectorAll('.run-chip').length > 0`},
	{"server-broken", "#/drive/odd/tools/~0", `document.querySelector('.detail .json')`},
	{"server-problems", "#/drive/odd/problems", `document.querySelectorAll('.problems section').length > 1`},
	{"server-request", "#/drive/calc/request", `document.querySelector('#send-method')`},
	{"", "#/drive/odd/tools/doubtful", `document.querySelector('.schema-warnings')`},
	{"", "#/drive/shop/skills", `document.querySelector('.problem-list')`},
	{"", "#/drive/shop/tasks", `document.querySelector('.aboutbox')`},
	{"server-about", "#/drive/calc/about", `document.querySelector('#roots')`},
	{"server-resources", "#/drive/notes/resources", `document.querySelector('.list li')`},
	{"server-prompts", "#/drive/shop/prompts/explore_schema", `document.querySelector('.list li')`},
	{"server-logs", "#/drive/backup/logs", `document.querySelectorAll('.logs .log').length > 3`},
	{"add", "#/add", `document.querySelector('.proposal')`},
	{"connect", "#/connect", `document.querySelector('#model-key')`},
}

// axe judges each of them in both themes and at three widths, and none is wider
// than the window.
func TestServerViewsAreAccessible(t *testing.T) {
	t.Parallel()
	code := axe(t)
	p := open(t, serverFixture(t).address(), desk)
	p.query("select name from no_such_table")
	p.query("select name, kind from product limit 3")
	for _, l := range []screen{{width: 1440, height: 900}, {width: 1024, height: 768, dark: true}, {width: 390, height: 844}} {
		p.resize(l)
		for _, v := range serverViews {
			p.serverView(v.name, v.hash, v.ready)
			p.accessible(code, v.hash, l)
			if wide := eval[int](p, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
				t.Errorf("%s is %d pixels wider than %d", v.hash, wide, l.width)
			}
			if tall := eval[int](p, `document.documentElement.scrollHeight - innerHeight`); tall > 0 {
				t.Errorf("%s scrolls %d pixels into a void at %d", v.hash, tall, l.width)
			}
		}
	}
}

func (p *tab) serverView(name, hash, ready string) {
	p.t.Helper()
	eval[string](p, "location.hash = "+quote(hash))
	switch name {
	case "server-messages":
		p.until(ready)
		p.click(`.segments button:nth-child(2)`)
		p.until(`document.querySelector('.segments button:nth-child(2)').getAttribute('aria-selected') === 'true'`)
		p.until(`document.querySelectorAll('.run-message').length === 2`)
		if !eval[bool](p, `document.querySelector('.run-message').open`) {
			p.click(`.run-message summary`)
		}
		p.until(`document.querySelector('.run-message .json')`)
	case "server-resources":
		p.until(ready)
		p.click(`.list li:nth-child(2) a`)
		p.until(`document.querySelector('.detail h2') && document.querySelector('.list [aria-current]')`)
	case "server-prompts":
		p.until(`document.querySelector('.detail .primary')`)
		p.clickText("Preview")
		p.until(`document.querySelector('.detail').innerText.includes('Tell me what this database is about')`)
	case "add":
		p.paste("npx -y @modelcontextprotocol/server-everything")
	}
	p.until(ready)
}

// The pictures of the view of a server.
func TestServerPictures(t *testing.T) {
	t.Parallel()
	p := open(t, serverFixture(t).address(), wideDesk)
	p.query("select nme from product")
	p.query("select name, kind, price_cents from product order by price_cents desc limit 4")
	p.query("select name, kind, price_cents from product order by price_cents desc limit 5")
	for _, v := range serverViews {
		if v.name != "" {
			p.serverView(v.name, v.hash, v.ready)
			p.rest()
			keep(t, v.name, p)
		}
	}
	p.at("#/drive/shop/tools/run_query", `document.querySelectorAll('.run-chip').length === 3`)
	eval[bool](p, `(() => { const s = document.querySelector('.run-chips select'); s.value = s.options[1].value; s.dispatchEvent(new Event('change')); return true; })()`)
	p.until(`document.querySelector('.run-compare mark')`)
	keep(t, "server-compare", p)
}

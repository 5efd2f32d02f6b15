package page

import (
	"net/http/httptest"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// Over HTTP, a message stands beside the exchange that carried it, and can be
// taken along as a curl command. When the server goes away its connection is red.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	s, err := calc.New(calc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	served, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	far := httptest.NewServer(served)
	defer far.Close()
	h := newFixture(t, setup{servers: []config.Server{{Name: "far", Kind: config.HTTP, URL: far.URL}, builtinServer("calc", "calc", nil)}})
	h.ready(t, "far")
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 2`)
	p.until(`document.querySelector('[data-part="connection/far"]').innerText.includes('HTTP')`)
	call := eval[string](p, `(async () => '#/wire/' + (await (await fetch('/api/v1/wire?method=tools/list&server=far&kind=request')).json()).messages[0].seq)()`)
	eval[string](p, "location.hash = "+quote(call))
	p.until(`document.querySelector('.http')?.innerText.includes('POST ` + far.URL + `')`)
	p.until(`document.querySelector('.http .answer')?.innerText === '200'`)
	p.until(`[...document.querySelectorAll('.message button')].some((b) => b.innerText === 'curl')`)
	far.CloseClientConnections()
	far.Close()
	eval[string](p, `location.hash = '#/drive/far/tools/average'`)
	p.clickText("Run")
	p.until(`document.querySelector('.run-meta .state.bad')`)
	p.clickText("Learn")
	p.until(`document.querySelector('.connection-row.bad')?.getAttribute('aria-label') === 'far'`)
	if n := eval[int](p, `document.querySelectorAll('.connection-row.bad').length`); n != 1 {
		t.Errorf("%d connections are red", n)
	}
}

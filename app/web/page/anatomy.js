// The anatomy: you, the host with its model, one client for each server, and the
// servers with what they offer. Other hosts whose servers run through tenon tap
// are drawn below. A call travels along the drawing with its name.

import { h, s, fill, icon } from './dom.js';
import { count, millis } from './format.js';
import { badge } from './links.js';
import { follow, steps } from './calls.js';
import { fly, Player } from './travel.js';
import { hosts } from './hosts.js';
import { flaws, names, news, offers } from './offers.js';
import { phase, tone } from './phases.js';
import { state, on, detail } from './store.js';
import { explain } from './explain.js';
import { playButton } from './controls.js';
import { playable } from './playable.js';
import { transports, usable } from './servers.js';

let view;

export function show(parts, signal, frame) {
  view = new Anatomy(signal, frame);
  view.open(parts);
  return view.el;
}

// move opens another part without redrawing the picture.
export function move(parts) { view.open(parts); }

class Anatomy {
  constructor(signal, { head, tools }) {
    this.signal = signal;
    this.connections = new Map();
    this.others = [];
    this.picture = h('div', { class: 'picture' });
    this.side = h('div', { class: 'side-panel' });
    this.label = h('span', { class: 'travel', 'aria-hidden': 'true' });
    this.player = new Player({ label: 'The latest call', signal, show: (step, animate) => this.step(step, animate), reset: () => this.clear() });
    this.hint = h('p', { class: 'soft play-hint', role: 'status' });
    tools.append(playButton('Play a tool call', () => this.play()), this.hint);
    this.el = h('div', { class: 'split open' }, h('div', { class: 'canvas' }, head, this.picture, this.player.el), this.side);
    this.sized = new ResizeObserver(() => this.wire());
    signal.addEventListener('abort', () => this.sized.disconnect());
    this.draw();
    on('servers', () => this.changed(), signal);
    for (const topic of ['pending', 'model']) on(topic, () => this.draw(), signal);
    on('asks', () => this.approval(), signal);
    on('wire', (pieces) => { for (const name of new Set(pieces.flat().map((m) => m.server))) this.connections.get(name)?.numbers(); }, signal);
    follow((call) => this.passed(call), signal);
    hosts((list) => { this.others = list; this.draw(); }, signal);
    document.addEventListener('shut', () => { if (this.parts?.[0] && this.parts[0] !== 'learn') location.hash = '#/'; }, { signal });
  }

  // changed redraws the servers that have changed.
  changed() {
    if (state.servers.size !== this.connections.size || [...state.servers.keys()].some((n) => !this.connections.has(n))) this.draw();
    else for (const j of this.connections.values()) j.draw();
    this.refresh?.();
  }

  draw() {
    this.connections.clear();
    const all = [...state.servers.values()].sort((a, b) => a.name.localeCompare(b.name));
    const n = all.length + state.pending.length;
    this.picture.className = 'picture' + (n > 8 ? ' dense' : n > 4 ? ' snug' : '');
    this.you = part('you', '', h('strong', null, 'You'));
    this.model = part('model', '');
    this.gate = part('approval', '');
    this.host = part('host', '', h('strong', null, 'Host'), h('span', { class: 'soft' }, 'the program you use'));
    const box = h('div', { class: 'hostbox' }, this.host, h('div', { class: 'inner' }, this.model, this.gate));
    const list = h('div', { class: 'connections' }, all.map((one) => { const j = new Connection(one.name); this.connections.set(one.name, j); return j.el; }), state.pending.map(waiting),
      !n && h('div', { class: 'empty' }, h('p', null, 'No servers yet.'), h('p', { class: 'soft' }, state.can.add ? [h('a', { to: '/add' }, 'Add a server'), '.'] : ['Add one with ', h('code', null, 'tenon config add'), ' and start tenon up again.'], ' The other three diagrams bring their own.')));
    this.lines = s('svg', { class: 'wires', 'aria-hidden': 'true' });
    fill(this.picture, this.lines, h('div', { class: 'youbox' }, this.you), box, list, this.others.length ? h('div', { class: 'others' }, h('h2', null, 'Other hosts on this machine'), h('p', { class: 'soft' }, 'Their servers run through tenon tap, so their messages are seen here.'), this.others.map((o) => this.other(o))) : null);
    fill(this.model, h('strong', null, 'Model'), state.model && state.model.provider !== 'none' ? h('span', { class: 'soft' }, state.model.name) : h('span', { class: 'soft' }, 'none connected; keywords decide'));
    this.approval();
    this.mark();
    this.sized.disconnect();
    for (const el of [this.picture, list, ...list.children]) this.sized.observe(el); // cards grow when their lists arrive
  }

  approval() {
    const n = [...state.asks.values()].length;
    this.gate.classList.toggle('waits', n > 0);
    fill(this.gate, h('strong', null, 'Your approval'), h('span', { class: n ? 'waiting' : 'soft' }, n ? 'waiting for you' : 'before anything is called'));
  }

  // other draws a host that is not ours: its client, its connection, its server.
  other(o) {
    const j = { el: null, client: part('tap', String(o.conn), h('strong', null, o.host?.title || o.host?.name || 'some host'), h('span', { class: 'soft' }, 'host and client')), server: part('tapped', String(o.conn)) };
    const { main, sub } = names(o.server, o.info);
    fill(j.server, h('span', { class: 'title' }, h('strong', null, main), sub && h('span', { class: 'soft own' }, sub)), h('span', { class: 'soft' }, o.ended ? 'ended' : 'running', ` · ${count(o.calls, 'call')}`, o.errors ? `, ${count(o.errors, 'error')}` : ''));
    j.el = h('div', { class: 'connection-row tapped' + (o.ended ? ' off' : ''), role: 'group', 'aria-label': main }, j.client, h('span', { class: 'connection plainline' }, h('span', { class: 'over' }, 'stdio', o.revision && ' · ' + o.revision), strand(), h('span', { class: 'under' }, 'through tenon tap')), j.server);
    this.connections.set('tap ' + o.conn, j);
    j.numbers = j.draw = () => {};
    return j.el;
  }

  // wire draws the lines between you, the parts of the host and its clients.
  wire() {
    const frame = this.picture.getBoundingClientRect();
    if (!frame.width || getComputedStyle(this.lines).display === 'none') return;
    const at = (el) => { const r = el.getBoundingClientRect(); return { l: r.left - frame.left, r: r.right - frame.left, t: r.top - frame.top, b: r.bottom - frame.top, x: r.left - frame.left + r.width / 2, y: r.top - frame.top + r.height / 2 }; };
    const you = at(this.you), box = at(this.host.parentElement), model = at(this.model), gate = at(this.gate);
    const paths = [`M${you.r} ${you.y}H${box.l}`, `M${model.x} ${model.b}V${gate.t}`];
    for (const j of this.connections.values()) if (j.client?.isConnected && !j.el.classList.contains('tapped')) { const c = at(j.client); paths.push(`M${gate.r} ${gate.y}C${gate.r + 36} ${gate.y} ${c.l - 36} ${c.y} ${c.l} ${c.y}`); }
    fill(this.lines, paths.map((d) => s('path', { d })));
  }

  // play makes a real call; follow sees it pass.
  async play() {
    this.hint.textContent = '';
    this.paused = false;
    try { this.hint.textContent = await playable(); } catch (e) { this.hint.textContent = e.message; }
  }

  passed(call) {
    if (this.player.playing || this.player.at >= 0 && this.player.at < this.player.steps.length - 1) { fill(this.player.caption, `${call.name} has passed meanwhile.`); return; }
    this.call = call;
    this.player.load(steps(call), [`${call.name} took ${millis(call.response.ms)}; shown slowly. `, h('a', { to: '/wire/' + call.request.seq }, 'Its messages')]);
    this.player.play();
  }

  connection() { return this.connections.get(this.call.server) ?? this.connections.get('tap ' + this.call.conn); }

  step(step, animate) {
    this.clear();
    const j = this.connection();
    if (!j) return null;
    const parts = { you: this.you, model: this.model, approval: this.gate, client: j.client, server: j.server };
    if (step.part) { parts[step.part].classList.add('active'); return null; }
    j.el.classList.add('busy');
    parts[step.to].classList.add('active');
    fill(this.label, step.back ? '← ' : '', step.label, step.back ? '' : ' →');
    this.label.className = 'travel' + (step.bad ? ' bad' : '') + (step.back ? ' result' : '');
    if (!animate) j.el.scrollIntoView({ block: 'nearest' });
    return fly(this.picture, this.label, parts[step.from], parts[step.to], animate, j.el.querySelector('.over'));
  }

  clear() {
    this.label.remove();
    for (const el of this.picture.querySelectorAll('.active, .busy')) el.classList.remove('active', 'busy');
  }

  open(parts) {
    const was = this.parts;
    this.parts = parts;
    const chosen = parts[0] && parts[0] !== 'learn';
    const shown = explain(parts, this.signal, this.others);
    this.refresh = shown.refresh;
    this.el.classList.toggle('chosen', !!chosen);
    fill(this.side, shown.el);
    this.mark();
    if (chosen) { shown.el.querySelector('h2')?.focus(); this.last = this.picture.querySelector('[aria-expanded=true]'); } else if (was?.[0]) this.last?.focus();
  }

  mark() {
    const [kind, name = ''] = this.parts ?? [];
    for (const el of this.picture.querySelectorAll('[data-part]')) el.setAttribute('aria-expanded', String(el.dataset.part === (name ? `${kind}/${name}` : kind)));
  }
}

// aside returns text for screen readers only.
const aside = (text) => h('span', { class: 'unseen' }, text);

const to = (...parts) => () => { location.hash = '#/' + parts.filter(Boolean).map(encodeURIComponent).join('/'); };

function part(kind, name, ...children) {
  const b = h('button', { type: 'button', class: 'part ' + kind, onclick: to(kind, name) }, children);
  b.dataset.part = name ? `${kind}/${name}` : kind;
  return b;
}

const strand = () => s('svg', { class: 'strand', 'aria-hidden': 'true' }, s('line', { x1: 0, x2: '100%', y1: 8, y2: 8 }));

// A Connection draws a client, its connection and its server.
class Connection {
  constructor(name) {
    this.name = name;
    this.client = part('client', name, h('span', null, 'Client', aside(' of ' + name)));
    this.above = h('span', { class: 'over' });
    this.below = h('span', { class: 'under' });
    this.connection = part('connection', name, aside(`Connection to ${name}: `), this.above, strand(), this.below);
    this.server = part('server', name);
    this.el = h('div', { class: 'connection-row', role: 'group', 'aria-label': name }, this.client, this.connection, this.server);
    this.draw();
  }

  draw() {
    const one = state.servers.get(this.name);
    if (!one) return;
    const busy = this.el.classList.contains('busy');
    this.el.className = `connection-row ${tone(one.phase)}` + (busy ? ' busy' : '');
    const { main, sub } = names(this.name, this.info);
    fill(this.server, aside('Server '), h('span', { class: 'title' }, this.face, h('strong', null, main), sub && h('span', { class: 'soft own' }, sub), phase(one.phase)), this.parts ?? (usable(one) ? null : one.why && h('span', { class: 'soft why' }, one.why)));
    this.numbers();
    if (usable(one)) this.load();
    else { this.parts = this.face = null; this.loaded = ''; }
  }

  async load() {
    const asked = detail(this.name);
    if (this.loaded === asked) return;
    this.loaded = asked;
    try {
      const d = await asked;
      if (this.loaded !== asked) return;
      if (this.d && this.parts && news(d, this.d)) return; // keep the last complete lists
      this.d = d;
      const all = offers(d);
      this.parts = h('span', { class: 'counts' }, all.length ? all.map((o) => h('span', { class: 'offer ' + o.kind }, h('strong', null, o.text), h('span', { class: 'soft' }, o.list.slice(0, 12).join(', ')))) : h('span', { class: 'soft' }, 'nothing offered'), flaws(d));
      this.face = badge(d.server?.icons);
      this.info = d.server;
      this.draw();
    } catch { /* the panel says why */ }
  }

  // numbers draws the transport, protocol version, latency and errors.
  numbers() {
    const one = state.servers.get(this.name);
    if (!one) return;
    fill(this.above, h('span', null, transports[one.kind] ?? one.kind), one.revision && [h('span', { class: 'dot' }, ' · '), h('span', null, one.revision)]);
    const bits = [one.latencyMs !== undefined ? millis(one.latencyMs) : '', one.errors ? count(one.errors, 'error') : ''].filter(Boolean);
    this.below.textContent = bits.join(' · ') || ' ';
    this.below.className = 'under' + (one.errors ? ' bad' : '');
  }
}

// waiting draws a server of a project that is not approved yet.
function waiting(p) {
  const server = part('pending', p.name, aside('Server '), h('span', { class: 'title' }, h('strong', null, p.name), h('span', { class: 'state wait' }, icon(p.refused ? 'bad' : 'ask'), p.refused ? 'cannot be approved' : 'waiting for approval')), h('code', { class: 'cmd' }, p.command));
  return h('div', { class: 'connection-row pending', role: 'group', 'aria-label': p.name }, h('span', { class: 'gap line' }), server);
}

// The picture: the host in the middle, one client for each server, and a line
// for each connection. A dot travels along the line for each message.

import { h, s, fill, icon } from './dom.js';
import { count, millis } from './format.js';
import { badge } from './links.js';
import { phase, tone } from './phases.js';
import { state, on, detail } from './store.js';
import { panel } from './panel.js';

export const name = 'anatomy';
export const title = 'Anatomy';

let view;

export function show(parts, signal) {
  view = new Anatomy(signal);
  view.open(parts);
  return view.el;
}

// move opens another part without redrawing the picture.
export function move(parts) {
  view.open(parts);
  return true;
}

const still = matchMedia('(prefers-reduced-motion: reduce)');

class Anatomy {
  constructor(signal) {
    this.signal = signal;
    this.joints = new Map();
    this.picture = h('div', { class: 'picture' });
    this.side = h('div', { class: 'side-panel', hidden: true });
    this.el = h('div', { class: 'split' }, h('div', { class: 'canvas' }, h('h1', { class: 'unseen' }, 'Host, clients and servers'), this.picture), this.side);
    this.draw();
    on('servers', () => this.changed(), signal);
    on('pending', () => this.draw(), signal);
    on('model', () => this.draw(), signal);
    on('wire', (pieces) => this.travel(pieces.flat()), signal);
    document.addEventListener('shut', () => { if (!this.side.hidden) { location.hash = '#/'; } }, { signal });
  }

  // changed redraws the servers that have changed.
  changed() {
    if (state.servers.size !== this.joints.size || [...state.servers.keys()].some((n) => !this.joints.has(n))) this.draw();
    else for (const j of this.joints.values()) j.draw();
    this.refresh?.();
  }

  draw() {
    this.joints.clear();
    const all = [...state.servers.values()].sort((a, b) => a.name.localeCompare(b.name));
    const items = [...all.map((one) => ({ server: one.name })), ...state.pending.map((p) => ({ pending: p }))];
    const right = items.slice(0, Math.ceil(items.length / 2));
    const left = items.slice(Math.ceil(items.length / 2));
    if (items.length <= 2) { right.push(...left.splice(0)); }
    const rows = Math.max(left.length, right.length, 1);
    this.picture.className = 'picture' + (left.length ? '' : ' one-sided') + (items.length > 12 ? ' dense' : items.length <= 6 ? ' roomy' : '');
    this.picture.style.setProperty('--rows', rows);
    const host = h('button', { class: 'part host', type: 'button', onclick: () => { location.hash = '#/host'; } },
      h('span', { class: 'role' }, 'Host'), h('strong', null, 'Tenon'),
      h('span', { class: 'soft' }, count(all.length, 'client')),
      state.model && h('span', { class: 'model' }, state.model.name, state.model.label && h('em', null, state.model.label)));
    const cells = [h('div', { class: 'hostbox' }, host)];
    const place = (list, side) => list.forEach((item, i) => {
      const j = item.server ? new Joint(item.server, side, this) : waiting(item.pending);
      if (item.server) this.joints.set(item.server, j);
      const row = item.server ? j.el : j;
      row.classList.add(side);
      row.style.setProperty('--row', Math.floor((rows - list.length) / 2) + i + 1);
      cells.push(row);
    });
    place(right, 'right');
    place(left, 'left');
    if (!items.length) cells.push(h('div', { class: 'empty' }, h('p', null, 'No servers yet.'), h('p', { class: 'soft' }, 'Add one with ', h('code', null, 'tenon config add'), ' and start tenon up again.')));
    fill(this.picture, cells);
    this.mark();
  }

  // travel animates a dot for each new message.
  travel(messages) {
    const seen = new Set();
    for (const m of messages) {
      const j = this.joints.get(m.server);
      if (!j || seen.has(m.server + m.sent)) continue;
      seen.add(m.server + m.sent);
      j.pass(!!m.sent, m.kind === 'error');
    }
    for (const name of new Set(messages.map((m) => m.server))) this.joints.get(name)?.numbers();
  }

  open(parts) {
    this.parts = parts;
    const shown = panel(parts, this.signal);
    const was = this.side.hidden;
    this.side.hidden = !shown;
    this.refresh = shown?.refresh;
    this.el.classList.toggle('open', !!shown);
    fill(this.side, shown?.el);
    this.mark();
    if (shown && (was || this.focused)) shown.el.querySelector('h2')?.focus();
    if (!shown && !was) this.last?.focus();
    if (shown) this.last = document.querySelector('.picture [aria-expanded=true]');
  }

  mark() {
    const [kind, name] = this.parts ?? [];
    for (const el of this.picture.querySelectorAll('[data-part]')) el.setAttribute('aria-expanded', String(el.dataset.part === `${kind}/${name}`));
    this.picture.querySelector('.host')?.setAttribute('aria-expanded', String(kind === 'host'));
  }
}

// aside returns text for screen readers only.
const aside = (text) => h('span', { class: 'unseen' }, text);

const to = (...parts) => () => { location.hash = '#/' + parts.map(encodeURIComponent).join('/'); };

function part(kind, name, ...children) {
  const b = h('button', { type: 'button', class: 'part ' + kind, onclick: to(kind, name) }, children);
  b.dataset.part = `${kind}/${name}`;
  return b;
}

// A Joint draws a client, its connection and its server.
class Joint {
  constructor(name, side, view) {
    this.name = name;
    this.side = side;
    this.view = view;
    this.client = part('client', name, h('span', null, 'client', aside(' of ' + name)));
    this.dot = s('circle', { r: 4, cx: 0, cy: 8, class: 'dot' });
    this.line = s('svg', { class: 'strand', 'aria-hidden': 'true' }, s('line', { x1: 0, x2: '100%', y1: 8, y2: 8 }), this.dot);
    this.above = h('span', { class: 'over' });
    this.below = h('span', { class: 'under' });
    this.joint = part('joint', name, aside(`Connection to ${name}: `), this.above, this.line, this.below);
    this.server = part('server', name);
    this.el = h('div', { class: 'jointrow', role: 'group', 'aria-label': name }, this.client, this.joint, this.server);
    this.draw();
  }

  draw() {
    const one = state.servers.get(this.name);
    if (!one) return;
    this.el.className = `jointrow ${this.side} ${tone(one.phase)}`;
    fill(this.server, aside('Server '), h('span', { class: 'title' }, h('strong', null, one.name), this.face), phase(one.phase), this.parts ?? (one.phase === 'ready' || one.phase === 'degraded' ? null : one.why && h('span', { class: 'soft why' }, one.why)));
    this.numbers();
    if (one.phase === 'ready' || one.phase === 'degraded') this.load(one);
    else { this.parts = this.face = null; this.counts = ''; this.loaded = ''; }
  }

  async load(one) {
    const asked = detail(this.name);
    if (this.loaded === asked) return;
    this.loaded = asked;
    try {
      const d = await asked;
      if (this.loaded !== asked) return;
      if (d.problems.length && this.parts) return; // keep the last complete lists
      this.counts = [d.tools.length && count(d.tools.length, 'tool'), (d.resources.length + d.templates.length) && count(d.resources.length + d.templates.length, 'resource'), d.prompts.length && count(d.prompts.length, 'prompt')].filter(Boolean).join(', ');
      this.parts = [h('span', { class: 'soft counts' }, this.counts || 'nothing offered'), h('span', { class: 'soft names' }, d.tools.slice(0, 12).map((t) => t.name).join(', '))];
      this.face = badge(d.server?.icons);
      this.draw();
    } catch { /* the panel says why */ }
  }

  // numbers draws the transport, protocol version, latency and errors.
  numbers() {
    const one = state.servers.get(this.name);
    if (!one) return;
    const kind = { builtin: 'in memory', http: 'HTTP', sse: 'HTTP+SSE' }[one.kind] ?? one.kind;
    this.above.textContent = kind + (one.revision ? ' · ' + one.revision : '');
    const bits = [one.latencyMs !== undefined ? millis(one.latencyMs) : '', one.errors ? count(one.errors, 'error') : ''].filter(Boolean);
    this.below.textContent = bits.join(' · ') || ' ';
    this.below.className = 'under' + (one.errors ? ' bad' : '');
  }

  pass(sent, failed) {
    const now = performance.now();
    const key = sent ? 'out' : 'in';
    this.times ??= {};
    if (now - (this.times[key] ?? -1e9) < 180 || document.hidden) return;
    this.times[key] = now;
    if (still.matches) {
      this.el.classList.add('flash');
      setTimeout(() => this.el.classList.remove('flash'), 400);
      return;
    }
    const width = this.line.clientWidth;
    const outward = this.side === 'right' ? [0, width] : [width, 0];
    const [a, b] = sent ? outward : outward.reverse();
    const dot = this.dot.cloneNode();
    dot.classList.add('moving');
    if (failed) dot.classList.add('failed');
    this.line.append(dot);
    const run = dot.animate([{ transform: `translateX(${a}px)`, opacity: 0 }, { opacity: 1, offset: 0.15 }, { opacity: 1, offset: 0.85 }, { transform: `translateX(${b}px)`, opacity: 0 }], { duration: 650, easing: 'ease-in-out', delay: sent ? 0 : 260, fill: 'both' });
    run.onfinish = run.oncancel = () => dot.remove();
  }
}

// waiting draws a server of a project that is not approved yet.
function waiting(p) {
  const server = part('pending', p.name, aside('Server '),
    h('span', { class: 'title' }, h('strong', null, p.name)), h('span', { class: 'state wait' }, icon(p.refused ? 'bad' : 'ask'), p.refused ? 'cannot be approved' : 'waiting for approval'), h('code', { class: 'cmd' }, p.command));
  return h('div', { class: 'jointrow pending', role: 'group', 'aria-label': p.name }, h('span', { class: 'gap' }), h('span', { class: 'gap line' }), server);
}

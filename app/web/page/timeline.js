// The timeline above the table: a lane for each server, a bar for each call, one
// scale for all of them. Where nothing happens the axis is cut, and the cut says
// how long: no call lies across a cut, so all lengths can be compared.

import { h, fill } from './dom.js';
import { clock, millis } from './format.js';
import { status } from './status.js';
import { rows, state } from './store.js';

const cut = 34;      // pixels of a cut
const names = 104;   // pixels of the names of the lanes
const axis = 18;     // pixels of the axis
const latest = 10_000; // messages that are drawn
const most = 4;      // calls of a server that are drawn above each other
const steps = [1, 2, 5].flatMap((n) => [n, n * 10, n * 100, n * 1e3, n * 1e4, n * 1e5, n * 1e6, n * 1e7, n * 1e8]).concat(15e6, 30e6, 60e6, 300e6, 900e6, 3600e6, 4 * 3600e6, 86400e6).sort((a, b) => a - b);

export class Timeline {
  constructor(onpick, signal) {
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.box = h('div', { class: 'sight' });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.el = h('div', { class: 'timeline', onclick: (e) => { const hit = this.hit(e); if (hit) onpick(hit.seq); }, onmousemove: (e) => this.point(e), onmouseleave: () => { this.tip.hidden = true; } }, this.canvas, this.box, this.tip,
      this.inks = h('span', { hidden: true }, ['ok', 'bad', 'wait', 'off', 'note', 'text', 'line'].map((n) => h('i', { class: 'ink-' + n }))));
    document.addEventListener('theme', () => this.later(), { signal });
    new ResizeObserver(() => this.later()).observe(this.el);
    this.list = [];
    this.bars = [];
  }

  // draw shows the calls and messages of a list.
  draw(list) { this.list = list; this.later(); }

  later() {
    if (this.due) return;
    this.due = setTimeout(() => { this.due = 0; requestAnimationFrame(() => this.paint()); }, this.list.length > 20000 ? 1000 : 150);
  }

  // items returns what is drawn: [message, begin, end] in microseconds.
  items() {
    const now = Date.now() * 1000;
    const out = [];
    for (const m of this.list.length > latest ? this.list.slice(-latest) : this.list) {
      if (m.kind === 'request' || m.kind === 'batch') {
        if (m.method === 'subscriptions/listen' && !m.outcome) out.push([m, m.at, m.at]);
        else if (m.outcome) out.push([m, m.at, m.at + (m.ms ?? 0) * 1000]);
        else if (rows.open(m, state.servers)) { out.push([m, m.at, Math.max(m.at, now)]); this.moving = true; } else out.push([m, m.at, m.at]);
      } else if (!m.joins || m.problems || m.kind === 'notification') out.push([m, m.at, m.at]);
    }
    return out.sort((a, b) => a[1] - b[1]);
  }

  // scale cuts the time into parts in which something happens, and spreads them
  // over the width.
  scale(items, width) {
    let gap = 1e6;
    for (;;) {
      this.parts = [];
      let last = null;
      for (const [, from, to] of items) {
        if (!last || from - last.to > gap) this.parts.push(last = { from, to });
        else if (to > last.to) last.to = to;
      }
      if ((this.parts.length - 1) * cut < width / 2.5) break;
      gap *= 4;
    }
    const total = Math.max(this.parts.reduce((sum, p) => sum + p.to - p.from, 0), 1000);
    const room = Math.max(40, width - names - 16 - (this.parts.length - 1) * cut);
    this.k = room / total;
    let x = names + 4;
    for (const p of this.parts) { p.x = x; x += (p.to - p.from) * this.k + cut; p.end = x - cut; }
  }

  x(at) {
    let low = 0, high = this.parts.length - 1;
    while (low < high) { const mid = (low + high + 1) >> 1; if (this.parts[mid].from <= at) low = mid; else high = mid - 1; }
    const p = this.parts[low];
    return p ? p.x + Math.max(0, Math.min(at, p.to) - p.from) * this.k : names;
  }

  // lanes gives each server a lane, and each call of it a line on which no
  // other is at the same time.
  lanes(items) {
    const lanes = new Map();
    for (const item of items) {
      const m = item[0];
      if (!lanes.has(m.server)) { if (lanes.size >= 12) continue; lanes.set(m.server, { ends: [] }); }
      const lane = lanes.get(m.server);
      const until = Math.max(item[2], item[1] + 2 / this.k);
      let line = lane.ends.findIndex((end) => end <= item[1]);
      if (line < 0) line = lane.ends.length < most ? lane.ends.push(0) - 1 : most - 1;
      lane.ends[line] = Math.max(lane.ends[line], until);
      item[3] = line;
    }
    return lanes;
  }

  paint() {
    const w = this.el.clientWidth;
    if (!w || !this.el.isConnected) return;
    this.moving = false;
    const items = this.items();
    this.scale(items, w);
    const lanes = this.lanes(items);
    const lines = [...lanes.values()].reduce((n, l) => n + Math.max(1, l.ends.length), 0);
    const thick = lines > 16 ? 4 : lines > 8 ? 6 : 9;
    let y = 6;
    for (const name of [...lanes.keys()].sort()) { const l = lanes.get(name); l.y = y; l.high = Math.max(12, l.ends.length * thick); y += l.high + 5; }
    const height = Math.max(44, y + axis);
    this.el.style.height = height + 'px';
    const c = this.#canvas(w, height);
    this.#axis(c, w, height);
    this.bars = [];
    const last = new Map();
    for (const [m, from, to, line] of items) {
      const lane = lanes.get(m.server);
      if (!lane) continue;
      const ink = this.#ink(m);
      const x = this.x(from), wide = Math.max(m.kind === 'notification' ? 1 : 2, this.x(to) - x);
      const top = lane.y + (line ?? 0) * thick;
      const key = `${top} ${ink}`;
      if (this.bars.length < 20_000) this.bars.push({ m, x, wide, top, high: thick });
      if (x + wide <= (last.get(key) ?? -1)) continue; // already dark there
      last.set(key, x + wide);
      c.fillStyle = this.colour[ink];
      c.fillRect(x, top + 1, wide, thick - 2);
    }
    this.#labels(c, lanes);
    if (this.list.length > latest) { c.fillStyle = this.colour.text; c.fillText(`latest ${latest.toLocaleString('en')}`, 12, height - axis / 2); }
    this.window(...(this.range ?? []));
    if (this.moving) { clearTimeout(this.tick); this.tick = setTimeout(() => this.later(), 1000); }
  }

  #ink(m) {
    if (m.kind === 'notification') return m.problems ? 'bad' : 'note';
    const tone = status(m)[1];
    return m.problems && tone === 'ok' ? 'bad' : tone === '' ? 'note' : tone;
  }

  #canvas(w, height) {
    const ratio = devicePixelRatio || 1;
    this.canvas.width = w * ratio;
    this.canvas.height = height * ratio;
    const c = this.canvas.getContext('2d');
    c.scale(ratio, ratio);
    this.colour = Object.fromEntries([...this.inks.children].map((i) => [i.className.slice(4), getComputedStyle(i).color]));
    c.font = '11px ' + getComputedStyle(this.el).fontFamily;
    c.textBaseline = 'middle';
    return c;
  }

  #axis(c, w, height) {
    const y = height - axis + 0.5;
    const step = steps.find((s) => s * this.k >= 84) ?? steps.at(-1);
    let free = names;
    const label = (x, text) => { const wide = c.measureText(text).width; if (x < free || x + wide > w - 4) return; c.fillStyle = this.colour.text; c.fillText(text, x, y + 9); free = x + wide + 10; };
    const line = (x) => { c.strokeStyle = this.colour.line; c.beginPath(); c.moveTo(Math.round(x) + 0.5, 4); c.lineTo(Math.round(x) + 0.5, y); c.stroke(); };
    c.strokeStyle = this.colour.line;
    c.beginPath(); c.moveTo(names, y); c.lineTo(w, y); c.stroke();
    this.parts.forEach((p, i) => {
      line(p.x);
      label(p.x, clock(p.from).slice(0, step < 1e6 ? 12 : 8));
      for (let t = step; t <= p.to - p.from && t < step * 500; t += step) { line(p.x + t * this.k); label(p.x + t * this.k + 2, '+' + span(t)); }
      if (i < this.parts.length - 1) this.#cut(c, p.end, y, span(this.parts[i + 1].from - p.to));
    });
  }

  // #cut draws where silence is left out.
  #cut(c, x, y, text) {
    c.fillStyle = this.colour.line;
    c.globalAlpha = 0.35;
    c.fillRect(x + 3, 4, cut - 6, y - 4);
    c.globalAlpha = 1;
    c.fillStyle = this.colour.text;
    c.save();
    c.translate(x + cut / 2, (y + 4) / 2);
    if (c.measureText(text).width > cut - 8) c.rotate(-Math.PI / 2);
    c.textAlign = 'center';
    c.fillText(text, 0, 0);
    c.restore();
  }

  #labels(c, lanes) {
    c.fillStyle = this.colour.text;
    for (const [name, l] of lanes) {
      let text = name.replace(/[^\x20-\x7e\u00a1-\u02ff\u0370-\u058f\u3040-\u9fff]/g, '?');
      while (text.length > 1 && c.measureText(text).width > names - 20) text = text.slice(0, -2) + '…';
      c.fillText(text, 12, l.y + l.high / 2);
    }
  }

  hit(e) {
    const r = this.el.getBoundingClientRect();
    const x = e.clientX - r.left, y = e.clientY - r.top;
    let best = null, near = 5;
    for (const b of this.bars) {
      if (y < b.top - 1 || y > b.top + b.high + 1) continue;
      const far = x < b.x ? b.x - x : x > b.x + b.wide ? x - b.x - b.wide : 0;
      if (far < near || far === near && far === 0) { best = b.m; near = far; }
    }
    return best;
  }

  point(e) {
    const m = this.hit(e);
    this.tip.hidden = !m;
    this.el.style.cursor = m ? 'pointer' : 'default';
    if (!m) return;
    const [word, tone] = status(m);
    fill(this.tip, h('strong', null, m.method || m.kind, m.about && ' ' + m.about), h('span', null, m.server), h('span', { class: 'state ' + (tone || 'off') }, word), m.ms ? h('span', null, millis(m.ms)) : null, h('span', { class: 'soft' }, clock(m.at)));
    const r = this.el.getBoundingClientRect();
    this.tip.style.left = Math.max(4, Math.min(e.clientX - r.left + 12, r.width - this.tip.offsetWidth - 4)) + 'px';
    this.tip.style.top = e.clientY - r.top + 16 + 'px';
  }

  // window marks the part of the time that the table shows.
  window(a, b) {
    this.range = [a, b];
    if (!a || !b || !this.parts?.length) { this.box.hidden = true; return; }
    const from = this.x(a.at), to = this.x(b.at);
    this.box.hidden = false;
    this.box.style.left = from - 2 + 'px';
    this.box.style.width = Math.max(4, to - from + 4) + 'px';
  }
}

function span(us) {
  if (us < 1000) return us + ' µs';
  if (us < 1e6) return +(us / 1e3).toPrecision(3) + ' ms';
  if (us < 60e6) return +(us / 1e6).toPrecision(3) + ' s';
  if (us < 3600e6) return Math.round(us / 60e6) + ' min';
  if (us < 86400e6) return Math.round(us / 3600e6) + ' h';
  return Math.round(us / 86400e6) + ' d';
}

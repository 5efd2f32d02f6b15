// The timeline above the table: a bar for each call, a lane for each server.
// Idle time is shortened.

import { h } from './dom.js';

const quiet = 400_000; // longest idle time in microseconds

export class Timeline {
  constructor(onpick) {
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.box = h('div', { class: 'sight' });
    this.el = h('div', { class: 'timeline', title: 'Calls over time; click to go there', onclick: (e) => this.pick(e, onpick) }, this.canvas, this.box, this.inks = h('span', { hidden: true }, h('i', { class: 'ink-ok' }), h('i', { class: 'ink-bad' }), h('i', { class: 'ink-note' })));
    document.addEventListener('theme', () => this.later());
    new ResizeObserver(() => this.later()).observe(this.el);
    this.list = [];
  }

  draw(list) { this.list = list; this.later(); }

  later() {
    if (this.due) return;
    this.due = setTimeout(() => { this.due = 0; requestAnimationFrame(() => this.paint()); }, this.list.length > 20000 ? 700 : 120);
  }

  // scale maps time to positions, with idle time shortened.
  scale() {
    const at = new Float64Array(this.list.length);
    let x = 0, last = this.list[0]?.at ?? 0;
    this.list.forEach((m, i) => { const step = m.at - last; x += Math.max(0, Math.min(step, quiet)); if (m.at > last) last = m.at; at[i] = x; });
    this.x = at;
    this.total = Math.max(x, 1000);
  }

  paint() {
    const w = this.el.clientWidth, height = this.el.clientHeight;
    if (!w || !this.el.isConnected) return;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = w * ratio;
    this.canvas.height = height * ratio;
    const c = this.canvas.getContext('2d');
    c.scale(ratio, ratio);
    this.scale();
    const [ok, bad, note] = [...this.inks.children].map((i) => getComputedStyle(i).color);
    const colour = { ok, bad, note };
    const lanes = [...new Set(this.list.slice(-20000).map((m) => m.server))].sort();
    const lane = Math.max(2, Math.min(10, (height - 8) / Math.max(1, lanes.length)));
    const y = new Map(lanes.map((n, i) => [n, 4 + i * ((height - 8) / lanes.length)]));
    const k = (w - 8) / this.total;
    let filled = new Map();
    this.list.forEach((m, i) => {
      const top = y.get(m.server);
      if (top === undefined) return;
      const at = 4 + this.x[i] * k;
      if (m.kind === 'request') {
        const wide = Math.max(2, Math.min((m.took ?? 0) * 1000, this.total) * k);
        const key = top + (m.failed ? 'x' : '');
        if (at + wide <= (filled.get(key) ?? -1)) return; // already dark there
        filled.set(key, at + wide);
        c.fillStyle = m.failed ? colour.bad : colour.ok;
        c.fillRect(at, top, wide, Math.max(2, lane - 2));
      } else if (m.problems || m.kind === 'error') { c.fillStyle = colour.bad; c.fillRect(at, top, 2, Math.max(2, lane - 2)); }
      else if (m.kind === 'notification') { const key = top + 'n'; if (at < (filled.get(key) ?? -1)) return; filled.set(key, at + 1); c.fillStyle = colour.note; c.fillRect(at, top, 1, Math.max(2, lane - 2)); }
    });
    this.window(...(this.range ?? []));
  }

  // window marks the visible part of the table.
  window(a, b) {
    this.range = [a, b];
    if (!a || !b || !this.x || this.x.length !== this.list.length) { this.box.hidden = !a; return; }
    const k = (this.el.clientWidth - 8) / this.total;
    const i = this.find(a.seq), j = this.find(b.seq);
    this.box.hidden = false;
    this.box.style.left = 4 + this.x[i] * k + 'px';
    this.box.style.width = Math.max(3, (this.x[j] - this.x[i]) * k) + 'px';
  }

  find(seq) {
    let low = 0, high = this.list.length - 1;
    while (low < high) { const mid = (low + high) >> 1; if (this.list[mid].seq < seq) low = mid + 1; else high = mid; }
    return low;
  }

  pick(e, onpick) {
    if (!this.x?.length) return;
    const x = (e.clientX - this.el.getBoundingClientRect().left - 4) / (this.el.clientWidth - 8) * this.total;
    let low = 0, high = this.x.length - 1;
    while (low < high) { const mid = (low + high) >> 1; if (this.x[mid] < x) low = mid + 1; else high = mid; }
    onpick(this.list[low].seq);
  }
}

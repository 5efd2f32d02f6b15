// The anatomy of a gateway: its callers, the gateway, and the servers behind it,
// with the latest call of each caller on its line.

import { h, s, fill, icon } from './dom.js';
import { count } from './format.js';
import { phase, tone } from './phases.js';

const most = 12; // of callers and of servers

const el = h('div', { class: 'gatepicture' });
let redraw = () => {};
new ResizeObserver(() => redraw()).observe(el);

// gatePicture draws the state of a gateway and returns the drawing.
export function gatePicture(now) {
  const callers = now.callers.slice(0, most), servers = now.servers.slice(0, most);
  const lines = s('svg', { class: 'wires', 'aria-hidden': 'true' });
  const gate = h('div', { class: 'gate' }, h('strong', null, 'Gateway'), h('span', { class: 'soft' }, 'a server to its callers, a client to its servers'));
  const left = callers.map((c) => {
    const last = now.calls.find((k) => k.client === c.client && k.principal === c.principal);
    return { busy: c.open > 0, server: last?.server, el: h('li', { class: 'box' }, h('strong', null, c.client || 'unnamed client'), c.principal && h('span', { class: 'soft' }, 'as ' + c.principal), h('span', { class: 'soft' }, `${c.revision ?? ''} · ${count(c.calls, 'call')}`, c.errors ? `, ${count(c.errors, 'error')}` : ''), last && h('span', { class: 'last' }, icon('to'), h('code', null, last.name || last.method))) };
  });
  const right = servers.map((v) => ({ name: v.name, el: h('li', { class: 'box ' + tone(v.state) }, h('strong', null, v.name), phase(v.state), h('span', { class: 'soft' }, v.tools === undefined ? '' : count(v.tools, 'tool'), v.calls ? ` · ${count(v.calls, 'call')}` : '')) }));
  const rest = (list, what) => list.length > most && h('li', { class: 'soft' }, `and ${list.length - most} more ${what}`);
  fill(el, lines, h('ul', { 'aria-label': 'Callers' }, left.map((x) => x.el), rest(now.callers, 'callers'), !left.length && h('li', { class: 'soft' }, 'No client has used the gateway yet.')), gate, h('ul', { 'aria-label': 'Servers' }, right.map((x) => x.el), rest(now.servers, 'servers')));
  redraw = () => {
    const frame = el.getBoundingClientRect();
    if (!frame.width) return;
    const at = (e) => { const r = e.getBoundingClientRect(); return { l: r.left - frame.left, r: r.right - frame.left, y: r.top - frame.top + r.height / 2 }; };
    const g = at(gate);
    const path = (x1, y1, x2, y2, busy) => s('path', { d: `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`, class: busy ? 'busy' : '' });
    fill(lines, left.map((x) => { const c = at(x.el); return path(c.r, c.y, g.l, g.y, x.busy); }), right.map((x) => { const v = at(x.el); return path(g.r, g.y, v.l, v.y, left.some((c) => c.busy && c.server === x.name)); }));
  };
  requestAnimationFrame(() => redraw());
  return el;
}

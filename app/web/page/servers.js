// The list of servers: what each is, its state, and what it offers.

import { h, fill, icon } from './dom.js';
import { count, millis } from './format.js';
import { badge } from './links.js';
import { chip, flaws, names, offers } from './offers.js';
import { phase, tone } from './phases.js';
import { state, on, detail } from './store.js';

export const name = 'servers';
export const title = 'Servers';

export const transports = { builtin: 'in memory', stdio: 'stdio', http: 'HTTP', sse: 'HTTP+SSE' };
export const usable = (one) => one.phase === 'ready' || one.phase === 'degraded';

export function show(parts, signal) {
  const list = h('ul', { class: 'server-list' });
  const summary = h('p', { class: 'soft' });
  const draw = () => {
    const all = [...state.servers.values()].sort((a, b) => a.name.localeCompare(b.name));
    const bad = all.filter((one) => tone(one.phase) === 'bad').length;
    fill(summary, all.length ? `${all.filter((one) => one.phase === 'ready').length} of ${all.length} ready` : '', bad ? `, ${bad} with a problem` : '', state.pending.length ? `, ${state.pending.length} waiting for your approval` : '');
    fill(list, all.map((one) => row(one, signal)), state.pending.map(pendingRow),
      !all.length && !state.pending.length && h('li', { class: 'empty' }, h('p', null, 'No servers yet.'), h('p', { class: 'soft' }, state.can.add ? 'Add one, or use ' : 'Add one with ', h('code', null, 'tenon config add'), state.can.add ? '.' : ' and start tenon up again.')));
  };
  draw();
  on('servers', draw, signal);
  on('pending', draw, signal);
  return h('div', { class: 'page scroll-page' }, h('div', { class: 'page-head' }, h('h1', null, 'Servers'), summary, state.can.add && h('div', { class: 'actions' }, h('a', { class: 'button primary', to: '/add' }, icon('plus'), 'Add a server'))), list);
}

function row(one, signal) {
  const name = h('span', { class: 'title' }, h('strong', null, one.name));
  const chips = h('span', { class: 'chips' }, !usable(one) && one.why ? h('span', { class: 'soft why' }, one.why) : null);
  if (usable(one)) describe(one.name, name, chips, signal);
  const numbers = [one.calls ? count(one.calls, 'call') : '', one.errors ? count(one.errors, 'error') : '', one.latencyMs !== undefined ? millis(one.latencyMs) : ''].filter(Boolean).join(' · ');
  return h('li', null, h('a', { class: 'server-row ' + tone(one.phase), to: (usable(one) ? '/drive/' : '/server/') + encodeURIComponent(one.name) },
    h('span', { class: 'who' }, name, phase(one.phase)), chips,
    h('span', { class: 'facts-line soft' }, (transports[one.kind] ?? one.kind) + (one.revision ? ' · ' + one.revision : ''), numbers && h('span', { class: 'block' }, numbers)),
    icon('right')));
}

async function describe(server, name, chips, signal) {
  try {
    const d = await detail(server);
    if (signal.aborted) return;
    const { main, sub } = names(server, d.server);
    fill(name, badge(d.server?.icons), h('strong', null, main), sub && h('span', { class: 'soft own' }, sub));
    const all = offers(d);
    fill(chips, all.length ? all.map(chip) : h('span', { class: 'soft' }, 'nothing offered'), flaws(d));
  } catch { /* the server's own view says why */ }
}

function pendingRow(p) {
  return h('li', null, h('a', { class: 'server-row pending', to: '/pending/' + encodeURIComponent(p.name) },
    h('span', { class: 'who' }, h('span', { class: 'title' }, h('strong', null, p.name)), h('span', { class: 'state wait' }, icon(p.refused ? 'bad' : 'ask'), p.refused ? 'cannot be approved' : 'waiting for approval')),
    h('code', { class: 'cmd' }, p.command), h('span', { class: 'facts-line soft' }, 'not started'), icon('right')));
}

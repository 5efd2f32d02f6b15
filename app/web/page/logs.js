// The log messages and the standard error of a server: the newest in view, by
// level and text, with the colours of terminals, and saved as a file.

import { h, button, fill } from './dom.js';
import { ansi, bare } from './ansi.js';
import * as api from './api.js';
import { clock } from './format.js';
import { save } from './links.js';
import { on, remember } from './store.js';

export const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const tone = (l) => levels.indexOf(l.level) >= 4 ? 'bad' : l.level === 'warning' ? 'wait' : '';
const written = (l) => `${new Date(l.at / 1000).toISOString()} ${l.source === 'stderr' ? 'stderr' : l.level}${l.logger ? ' ' + l.logger : ''} ${bare(l.text)}`;

// logLine shows one line.
export const logLine = (l) => h('li', { class: 'log ' + tone(l) }, h('time', null, clock(l.at)), h('span', { class: 'level' }, l.source === 'stderr' ? 'stderr' : l.level), h('span', { class: 'wrap' }, l.logger && h('em', null, l.logger + ' '), ansi(l.text.slice(0, 5000)), l.text.length > 5000 && h('a', { to: '/wire/' + l.seq }, ` … all ${l.text.length} characters`)));

// logs returns the view of the lines of a server. Since and until, in
// microseconds since 1970, select the lines of a span of time.
export function logs(server, signal, { since = 0, until = Infinity } = {}) {
  const list = h('ol', { class: 'logs', tabindex: 0, 'aria-label': 'Log lines' });
  const level = h('select', { 'aria-label': 'Lowest level', onchange: () => { remember('logs.level', level.value); draw(); } }, levels.map((l) => h('option', { value: l, selected: l === (remember('logs.level') ?? 'debug') }, l === 'debug' ? 'All levels' : l + ' and above')));
  const find = h('input', { type: 'search', placeholder: 'Search in the log', 'aria-label': 'Search in the log', 'data-search': true, oninput: () => draw() });
  const newest = button('Newest', { class: 'small', hidden: true, onclick: () => { list.scrollTop = list.scrollHeight; } });
  const number = h('span', { class: 'soft', role: 'status' });
  let lines = [], shown = [], follow = true;
  const matches = (l) => {
    const low = levels.indexOf(level.value);
    const q = find.value.trim().toLowerCase();
    return (l.source === 'stderr' || !levels.includes(l.level) || levels.indexOf(l.level) >= low) && l.at >= since && l.at <= until && (!q || `${l.logger ?? ''} ${bare(l.text)}`.toLowerCase().includes(q));
  };
  const draw = () => {
    shown = lines.filter(matches);
    fill(list, shown.length ? shown.slice(-500).map(logLine) : h('li', { class: 'empty' }, lines.length ? 'No line matches.' : 'No log lines yet. Log messages and standard error appear here.'));
    number.textContent = shown.length > 500 ? `the last 500 of ${shown.length} lines` : shown.length === lines.length ? '' : `${shown.length} of ${lines.length} lines`;
    if (follow) list.scrollTop = list.scrollHeight;
  };
  list.addEventListener('scroll', () => { follow = list.scrollTop + list.clientHeight >= list.scrollHeight - 24; newest.hidden = follow; });
  new ResizeObserver(() => { if (follow) list.scrollTop = list.scrollHeight; }).observe(list);
  const load = async () => { try { lines = (await api.get(api.server(server) + '/logs')).lines; if (!signal.aborted) draw(); } catch (e) { fill(list, h('li', null, e.message)); } };
  let due;
  on('wire', (pieces) => { if (!due && pieces.flat().some((m) => m.server === server && (m.kind === 'stderr' || m.method === 'notifications/message'))) due = setTimeout(() => { due = 0; load(); }, 400); }, signal);
  load();
  return h('div', { class: 'logbox' },
    h('div', { class: 'bar' }, find, level, button('Save', { class: 'small', title: 'Save the shown lines', onclick: () => save(`${server}.log`, 'text/plain', shown.map(written).join('\n') + '\n') }), newest, number), list);
}

// The page of tenon gateway: who uses it, the servers behind it, the latest
// calls, and the definitions that wait for approval.

import { h, fill, button, icon, announce, copyButton } from './dom.js';
import * as api from './api.js';
import { ago, clock, count, millis } from './format.js';
import { gatePicture } from './gatepicture.js';
import { phase } from './phases.js';
import { mark, word } from './words.js';

const main = document.getElementById('main');
const line = h('span', { class: 'pill line', role: 'status' });
const parts = { head: h('section'), picture: h('section', { 'aria-label': 'Who uses what' }), held: h('section'), callers: h('section', { id: 'callers' }), servers: h('section', { id: 'servers' }), calls: h('section', { id: 'calls' }) };
const failed = new Map(); // errors of approvals by digest
let shown = '';           // the held definitions that are drawn

const outcomes = { open: 'waiting', tool_error: 'failed', input_required: 'input' };

const outcome = (c) => mark(word(outcomes[c.outcome] ?? c.outcome, c.code, Date.parse(c.start)));

function table(name, heads, rows, none) {
  return [h('h2', null, name), h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': name }, rows.length
    ? h('table', null, h('thead', null, h('tr', null, heads.map((t) => h('th', { scope: 'col' }, t)))), h('tbody', null, rows.map((r) => h('tr', null, r))))
    : h('p', { class: 'none' }, none))];
}

const cell = (...all) => h('td', null, ...all);
const number = (n) => h('td', { class: 'number' }, n);
const who = (c) => [c.client || h('em', null, 'unnamed client'), c.principal && h('span', { class: 'soft' }, ' as ' + c.principal)];

function draw(now) {
  fill(parts.head, h('h1', null, 'Gateway'),
    h('p', null, h('code', null, now.url), ' ', copyButton(now.url, 'Copy the address'), h('span', { class: 'soft' }, ` running for ${ago(now.started)}, ${now.pinned ? count(now.pins, 'definition') + ' pinned' : 'definitions are not pinned'}`)));
  drawHeld(now.held);
  fill(parts.picture, gatePicture(now));
  fill(parts.callers, table('Callers', ['Client', 'Revision', 'Since', 'Calls', 'Errors', 'Open', 'Subscriptions'],
    now.callers.map((c) => [cell(who(c), c.version && h('span', { class: 'soft' }, ' ' + c.version)), cell(c.revision), cell(ago(c.since)), number(c.calls), number(c.errors), number(c.open), number(c.subscriptions)]),
    'No client has used the gateway yet.'));
  fill(parts.servers, table('Servers', ['Server', 'State', 'Revision', 'Tools', 'Connections', 'Users', 'Calls', 'Failed', 'Problem'],
    now.servers.map((s) => [cell(s.name), cell(phase(s.state)), cell(s.revision), number(s.tools ?? ''), number(s.connections), number(s.users ?? ''), number(s.calls), number(s.errors), cell(s.why)]), 'No server.'));
  fill(parts.calls, table('Calls', ['Time', 'Client', 'What', 'Server', 'Took', 'Outcome'],
    now.calls.map((c) => [cell(clock(new Date(c.start) * 1000)), cell(who(c)), cell(c.name ? h('code', null, c.name) : c.method), cell(c.server), number(c.outcome === 'open' ? '' : millis(c.ms)), cell(outcome(c), c.error && h('span', { class: 'bad block' }, c.error))]),
    'No call yet.'));
}

// drawHeld draws the held definitions if they have changed: a button must not
// slip away under a finger, and the focus must stay.
function drawHeld(held) {
  const key = JSON.stringify([held, [...failed]]);
  if (key === shown) return;
  shown = key;
  parts.held.hidden = !held.length;
  fill(parts.held, h('h2', null, 'Waiting for approval'), h('p', { class: 'soft' }, 'Clients neither see nor can call these. Approve a definition only if you know why the server has it.'), held.map(card));
}

function card(p) {
  const what = [p.server, p.kind, p.name].filter((x) => x).join('/');
  const yes = button('Approve', { class: 'small', 'aria-label': 'Approve ' + what, onclick: async () => {
    yes.disabled = true;
    try {
      await api.post('gateway/approve', { server: p.server, kind: p.kind, name: p.name, digest: p.digest });
      failed.delete(p.digest);
      announce('Approved ' + what);
    } catch (e) {
      failed.set(p.digest, e.message);
      announce(e.message);
    }
    refresh();
  } }, 'ok');
  return h('article', { class: 'held', 'aria-label': what }, h('h3', null, what, h('span', { class: 'soft' }, p.new ? ' is new' : ' has changed')),
    p.new ? h('dl', null, h('div', null, h('dd', null, h('ins', null, p.text)))) : h('dl', null, p.changes.map((c) => h('div', null, h('dt', null, c.what), h('dd', null, h('del', null, '− ' + c.before), h('ins', null, '+ ' + c.after))))),
    p.warnings.length > 0 && h('ul', { class: 'warnings' }, p.warnings.map((w) => h('li', null, icon('warn'), ' ', w))),
    failed.has(p.digest) && h('p', { class: 'bad', role: 'alert' }, failed.get(p.digest)),
    h('div', { class: 'actions' }, yes));
}

let running = false;
let again = false;

// refresh gets the state and draws it, one request at a time.
async function refresh() {
  if (running) { again = true; return; }
  running = true;
  try {
    do { again = false; draw(await api.get('gateway')); } while (again);
  } catch (e) {
    if (e.status === 401) closed(e.message);
  } finally {
    running = false;
  }
}

function closed(text) {
  fill(document.getElementById('top'));
  fill(main, h('section', { class: 'closed' }, h('h1', null, 'This page is closed'), h('p', null, text),
    h('p', { class: 'soft' }, 'The address works once, in one browser. Press Enter in the terminal where Tenon runs, and open the address that it prints.')));
}

function online(is) {
  line.className = 'pill line ' + (is ? 'ok' : 'bad');
  fill(line, icon(is ? 'ok' : 'warn'), h('span', null, is ? 'Live' : 'Not connected'));
  fill(document.getElementById('banner'), !is && h('p', null, icon('warn'), 'Connection to the gateway lost. Reconnecting; what you see may be out of date.'));
}

async function start() {
  try { await api.login(); draw(await api.get('gateway')); } catch (e) { closed(e.message); return; }
  fill(document.getElementById('top'), h('span', { class: 'brand' }, 'Tenon'),
    h('nav', { 'aria-label': 'Parts' }, h('a', { to: 'callers' }, 'Callers'), h('a', { to: 'servers' }, 'Servers'), h('a', { to: 'calls' }, 'Calls')), h('div', { class: 'side' }, line));
  fill(main, h('div', { class: 'gateway' }, parts.head, parts.picture, parts.held, parts.callers, parts.servers, parts.calls));
  let stream;
  const listen = () => { // a hidden tab leaves the connections of the browser to the others
    stream?.close();
    if (document.hidden) return;
    stream = new EventSource('/api/v1/gateway/events');
    stream.addEventListener('changed', () => { online(true); refresh(); });
    stream.onerror = () => online(false);
  };
  document.addEventListener('visibilitychange', listen);
  listen();
}

start();

// The entry point: log in, load the state, open the event stream, and show the
// view that the address names.

import { h, button, fill, icon, announce } from './dom.js';
import * as api from './api.js';
import { state, on, emit, load, listen, remember } from './store.js';
import { day } from './format.js';
import { keys, help } from './keys.js';
import { tray } from './asks.js';
import { tasks } from './tasks.js';
import * as learn from './learn.js';
import * as servers from './servers.js';
import * as drive from './server.js';
import * as add from './add.js';
import * as connect from './connect.js';
import * as wire from './wire.js';
import * as chat from './chat.js';

// A view by the first part of its address. The parts of the anatomy have
// addresses of their own, so that other views can link to them.
const views = { '': learn, learn, host: learn, client: learn, connection: learn, server: learn, pending: learn, servers, drive, add, wire, chat, connect };
const tabs = { learn, servers, wire, chat };
const main = document.getElementById('main');
let current = { view: null, end: null };

// route shows the view of the address: #/view/part/part
function route() {
  const parts = location.hash.replace(/^#\/?/, '').split('/').map((p) => { try { return decodeURIComponent(p); } catch { return p; } });
  const view = views[parts[0]] ?? learn;
  const tab = view === drive || view === add ? servers : view === connect ? chat : view;
  for (const a of document.querySelectorAll('nav a')) {
    if (tabs[a.dataset.view] === tab) a.setAttribute('aria-current', 'page'); else a.removeAttribute('aria-current');
  }
  if (current.view === view && view.move?.(parts)) return;
  current.end?.abort();
  const end = new AbortController();
  current = { view, end };
  main.className = 'view-' + view.name;
  fill(main, view.show(parts, end.signal));
  document.title = view.title + ' – Tenon';
  window.scrollTo(0, 0);
}

function go(...parts) { location.hash = '#/' + parts.map(encodeURIComponent).join('/'); }

function top() {
  const theme = button('Light or dark', { bare: true, onclick: () => setTheme(dark() ? 'light' : 'dark') });
  const model = h('a', { class: 'pill model-badge', to: state.can.connect ? '/connect' : '/chat' });
  const asks = button('Questions', { class: 'pill asks', onclick: () => document.querySelector('#tray .ask')?.focus() });
  const noticed = button('Notices', { class: 'notices', onclick: showNotices });
  const line = h('span', { class: 'pill line', role: 'status' });
  fill(document.querySelector('#top .side'), noticed, tasks(), asks, model, line, theme, button('Keyboard and help', { bare: true, class: 'help', onclick: help }, 'ask'));
  const drawLine = () => { line.className = 'pill line ' + (state.online ? 'ok' : 'bad'); fill(line, icon(state.online ? 'ok' : 'warn'), h('span', null, state.online ? 'Live' : 'Not connected')); };
  const drawAsks = () => { const n = state.asks.size; asks.hidden = n === 0; fill(asks, icon('ask'), h('span', null, n === 1 ? '1 question' : n + ' questions')); };
  const drawTheme = () => { fill(theme, icon(dark() ? 'sun' : 'moon')); };
  const drawNotices = () => { const n = state.notices.length; noticed.hidden = !n; fill(noticed, icon('warn'), h('span', null, n === 1 ? '1 notice' : n + ' notices')); };
  const drawModel = () => { const m = state.model; fill(model, m && m.provider !== 'none' ? [h('span', { class: 'unseen' }, 'Model: '), m.name] : state.can.connect ? 'No model connected · Connect' : 'No model connected'); };
  on('model', drawModel);
  drawModel();
  on('notices', drawNotices);
  drawNotices();
  document.addEventListener('shut', () => fill(document.getElementById('notice')));
  on('online', drawLine);
  on('asks', drawAsks);
  document.addEventListener('theme', drawTheme);
  drawLine(); drawAsks(); drawTheme();
}

const dark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  remember('theme', name);
  document.dispatchEvent(new Event('theme'));
}

function banner(text) {
  fill(document.getElementById('banner'), text && h('p', null, icon('warn'), text));
}

const textOf = (e) => e.server && !e.text.startsWith(e.server) ? `${e.server}: ${e.text}` : e.text;

// notice adds a message that needs no answer to the list of notices. It does
// not move the layout: a button must not slip away under a finger.
function notice(e) {
  if (state.notices.some((n) => n.seq >= e.seq)) return; // it was in the state
  state.notices.push(e);
  if (state.notices.length > 50) state.notices.shift();
  announce(textOf(e));
  emit('notices', null);
}

function showNotices() {
  const place = document.getElementById('notice');
  if (place.childElementCount) { fill(place); return; }
  const clear = () => { state.notices = []; fill(place); emit('notices', null); api.post('notices/clear').catch((e) => announce(e.message)); };
  fill(place, h('h2', { tabindex: -1 }, 'Notices'), h('ul', null, state.notices.toReversed().map((n) => h('li', null, h('time', { class: 'soft' }, day(n.at)), h('span', { class: 'wrap' }, textOf(n))))),
    h('div', { class: 'actions' }, button('Clear', { class: 'small', onclick: clear }), button('Close', { class: 'small', onclick: () => fill(place) })));
  place.firstChild.focus();
}

// closed shows why the browser is not logged in, and how to log in.
function closed(text) {
  document.getElementById('top').replaceChildren();
  banner('');
  fill(main, h('section', { class: 'closed' }, h('h1', null, 'This page is closed'),
    h('p', null, text),
    h('p', { class: 'soft' }, 'The address works once, in one browser. Press Enter in the terminal where Tenon runs, and open the address that it prints.')));
}

async function start() {
  let now;
  try { await api.login(); now = await load(); } catch (e) { closed(e.status === 401 ? 'This browser is not logged in.' : e.message); return; }
  top();
  tray();
  keys(go);
  on('online', () => banner(state.online ? '' : 'Connection to tenon lost. Reconnecting; what you see may be out of date.'));
  on('out', () => closed('Tenon was started again, or the login of this page has ended.'));
  on('fault', (list) => announce(list.at(-1)));
  on('notice', (list) => list.forEach(notice));
  if (state.only && (!location.hash || location.hash === '#/')) history.replaceState(null, '', '#/drive/' + encodeURIComponent(state.only));
  document.querySelector('.skip').addEventListener('click', (e) => { e.preventDefault(); main.focus(); });
  addEventListener('hashchange', route);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => document.dispatchEvent(new Event('theme')));
  listen(now);
  route();
}

start();

// The entry point: log in, load the state, open the event stream, and show the
// view that the address names.

import { h, s, button, fill, icon, announce } from './dom.js';
import * as api from './api.js';
import { state, on, emit, load, listen, remember } from './store.js';
import { day } from './format.js';
import { keys, help } from './keys.js';
import { tray } from './asks.js';
import { tasks } from './tasks.js';
import * as anatomy from './anatomy.js';
import * as drive from './drive.js';
import * as wire from './wire.js';
import * as chat from './chat.js';

const views = { '': anatomy, host: anatomy, client: anatomy, joint: anatomy, server: anatomy, pending: anatomy, drive, wire, chat };
const main = document.getElementById('main');
let current = { view: null, end: null };

// route shows the view of the address: #/view/part/part
function route() {
  const parts = location.hash.replace(/^#\/?/, '').split('/').map((p) => { try { return decodeURIComponent(p); } catch { return p; } });
  const view = views[parts[0]] ?? anatomy;
  for (const a of document.querySelectorAll('nav a')) {
    if (views[a.dataset.view] === view) a.setAttribute('aria-current', 'page'); else a.removeAttribute('aria-current');
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

export function go(...parts) { location.hash = '#/' + parts.map(encodeURIComponent).join('/'); }

function top() {
  const theme = button('Light or dark', { bare: true, onclick: () => setTheme(dark() ? 'light' : 'dark') });
  const tab = (view, name, key) => { const a = h('a', { to: '/' + view, 'aria-keyshortcuts': key }, name); a.dataset.view = view; return a; };
  const asks = button('Questions', { class: 'asks', onclick: () => document.querySelector('#tray .ask')?.focus() });
  const news = button('Notices', { class: 'news', onclick: showNotices });
  const line = h('span', { class: 'line', role: 'status' });
  fill(document.getElementById('top'),
    h('a', { class: 'brand', to: '/' }, s('svg', { viewBox: '0 0 24 24', class: 'logo', 'aria-hidden': 'true' }, s('path', { d: 'M2 4h9v5h4v6h-4v5H2z', class: 'tenon' }), s('path', { d: 'M22 4h-9v3.500h4v9h-4V20h9z', class: 'mortise' })), 'Tenon'),
    h('nav', { 'aria-label': 'Views' }, tab('', 'Anatomy', '1'), tab('wire', 'Wire', '2'), tab('chat', 'Chat', '3')),
    h('div', { class: 'side' }, news, tasks(), asks, line, theme, button('Keyboard and help', { bare: true, onclick: help }, 'ask')));
  const drawLine = () => { line.className = 'line ' + (state.online ? 'ok' : 'bad'); fill(line, icon(state.online ? 'ok' : 'warn'), h('span', null, state.online ? 'Live' : 'Not connected')); };
  const drawAsks = () => { const n = state.asks.size; asks.hidden = n === 0; fill(asks, icon('ask'), h('span', null, n === 1 ? '1 question' : n + ' questions')); };
  const drawTheme = () => { fill(theme, icon(dark() ? 'sun' : 'moon')); };
  const drawNews = () => { news.hidden = !notices.length; fill(news, icon('warn'), h('span', null, notices.length === 1 ? '1 notice' : notices.length + ' notices')); };
  on('notices', drawNews);
  drawNews();
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

const notices = []; // the latest last

// notice adds a message that needs no answer to the list of notices. It does
// not move the layout: a button must not slip away under a finger.
function notice(e) {
  const text = e.server && !e.text.startsWith(e.server) ? `${e.server}: ${e.text}` : e.text;
  notices.push({ at: e.at, text });
  if (notices.length > 50) notices.shift();
  announce(text);
  emit('notices', null);
}

function showNotices() {
  const place = document.getElementById('notice');
  if (place.childElementCount) { fill(place); return; }
  fill(place, h('h2', { tabindex: -1 }, 'Notices'), h('ul', null, notices.toReversed().map((n) => h('li', null, h('time', { class: 'soft' }, day(n.at)), h('span', { class: 'wrap' }, n.text)))),
    h('div', { class: 'actions' }, button('Clear', { class: 'small', onclick: () => { notices.length = 0; fill(place); emit('notices', null); } }), button('Close', { class: 'small', onclick: () => fill(place) })));
  place.firstChild.focus();
}

// closed shows why the browser is not logged in, and how to log in.
function closed(text) {
  document.getElementById('top').replaceChildren();
  fill(main, h('section', { class: 'closed' }, h('h1', null, 'This page is closed'),
    h('p', null, text),
    h('p', { class: 'soft' }, 'The address works once, in one browser. Press Enter in the terminal where Tenon runs, and open the address that it prints.')));
}

async function start() {
  const theme = remember('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  const token = /^#token=([A-Za-z0-9]+)$/.exec(location.hash);
  if (token) {
    history.replaceState(null, '', location.pathname + '#/');
    try { await api.post('login', { token: token[1] }); } catch (e) { if (e.status !== 401) { closed(e.message); return; } }
  }
  let now;
  try { now = await load(); } catch (e) { closed(e.message); return; }
  top();
  tray();
  keys(go);
  on('online', () => banner(state.online ? '' : 'Connection to tenon lost. Reconnecting; what you see may be out of date.'));
  on('out', ([text]) => closed(text));
  on('fault', (list) => announce(list.at(-1)));
  on('notice', (list) => notice(list.at(-1)));
  if (state.only && (!location.hash || location.hash === '#/')) history.replaceState(null, '', '#/drive/' + encodeURIComponent(state.only));
  addEventListener('hashchange', route);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => document.dispatchEvent(new Event('theme')));
  listen(now);
  route();
}

start();

// The list of all messages. Only the visible rows are elements.

import { h, button, fill, icon, visible, announce } from './dom.js';
import * as api from './api.js';
import { bytes, clock, millis } from './format.js';
import { save } from './links.js';
import { rows, on, state } from './store.js';
import { Timeline } from './timeline.js';
import { opened } from './message.js';

export const name = 'wire';
export const title = 'Wire';

const high = 28; // pixels of a row
const top = 29;  // pixels of the headings, which stay visible
let view;

export function show(parts, signal) {
  view = new Wire(signal);
  view.open(parts);
  return view.el;
}
export function move(parts) { view.open(parts); return true; }

const columns = ['time', 'dir', 'srv', 'method', 'id', 'era', 'status', 'size', 'took'];
const headings = { time: 'Time', dir: '', srv: 'Server', method: 'Method', id: 'Id', era: 'Era', status: 'Status', size: 'Size', took: 'Took' };

class Wire {
  constructor(signal) {
    this.signal = signal;
    this.filter = { server: '', kind: '', method: '', text: '', problems: false };
    this.shown = [];
    this.pool = [];
    this.build();
    on('wire', (pieces) => this.came(pieces), signal);
    on('cleared', () => this.refilter(), signal);
    on('servers', () => this.drawServers(), signal);
    document.addEventListener('shut', () => { if (!this.side.hidden) location.hash = '#/wire'; }, { signal });
    this.refilter();
    this.fetchAll();
  }

  build() {
    const f = this.filter;
    const pick = (label, key, options) => h('select', { 'aria-label': label, onchange: (e) => { f[key] = e.target.value; this.refilter(); } }, options.map(([v, t]) => h('option', { value: v }, t)));
    this.servers = pick('Server', 'server', [['', 'All servers']]);
    this.methods = pick('Method', 'method', [['', 'All methods']]);
    this.kinds = pick('Kind', 'kind', [['', 'All kinds'], ['request', 'Requests'], ['response', 'Responses'], ['error', 'Errors'], ['notification', 'Notifications'], ['noise', 'Invalid frames'], ['stderr', 'Standard error'], ['event', 'Events']]);
    this.search = h('input', { type: 'search', placeholder: 'Search in messages', 'aria-label': 'Search in messages', 'data-search': true, oninput: () => { clearTimeout(this.typing); this.typing = setTimeout(() => { f.text = this.search.value.trim(); this.searched(); }, 200); } });
    this.problems = h('label', { class: 'tick' }, h('input', { type: 'checkbox', onchange: (e) => { f.problems = e.target.checked; this.refilter(); } }), 'Spec problems');
    this.threads = h('label', { class: 'tick' }, h('input', { type: 'checkbox', onchange: (e) => { this.threaded = e.target.checked; this.refilter(); } }), 'Group by call');
    this.hold = button('Pause', { class: 'small', 'aria-pressed': 'false', onclick: () => this.setHold(!this.held) }, 'pause');
    const file = h('input', { type: 'file', accept: '.txtar,.txt', hidden: true, 'aria-label': 'A recording', onchange: () => this.load(file) });
    this.count = h('span', { class: 'soft', role: 'status' });
    const bar = h('div', { class: 'bar' }, this.search, this.servers, this.methods, this.kinds, this.problems, this.threads,
      h('span', { class: 'actions' }, this.hold, button('Clear', { class: 'small', onclick: () => api.post('wire/clear').catch((e) => announce(e.message)) }, 'bin'), button('Save', { class: 'small', onclick: () => this.save() }), button('Load', { class: 'small', onclick: () => file.click() }), file), this.count);
    this.timeline = new Timeline((seq) => this.jump(seq));
    this.spacer = h('div', { class: 'spacer', role: 'rowgroup' });
    this.empty = h('div', { class: 'empty' });
    this.scroll = this.table = h('div', { class: 'wiretable rows', role: 'grid', tabindex: 0, 'aria-label': 'Messages', onkeydown: (e) => this.key(e), onscroll: () => this.paint(), onmouseleave: () => { this.over = 0; this.paint(); } },
      h('div', { role: 'rowgroup' }, h('div', { class: 'wrow head', role: 'row' }, columns.map((c) => h('span', { class: c, role: 'columnheader', 'aria-label': headings[c] || 'Direction' }, headings[c])))), this.spacer, this.empty);
    this.side = h('div', { class: 'side-panel', hidden: true });
    this.el = h('div', { class: 'split wirebox' }, h('div', { class: 'canvas' }, h('h1', { class: 'unseen' }, 'Messages'), bar, this.timeline.el, this.table), this.side);
    const seen = new ResizeObserver(() => { this.toEnd(); this.paint(); });
    seen.observe(this.scroll);
    this.signal.addEventListener('abort', () => seen.disconnect());
    this.follow = true;
    this.drawServers();
  }

  drawServers() {
    const names = new Set([...state.servers.keys(), ...rows.list.slice(-20000).map((m) => m.server)]);
    const key = [...names].sort().join('\n');
    if (key === this.names) return;
    this.names = key;
    fill(this.servers, h('option', { value: '' }, 'All servers'), [...names].sort().map((n) => h('option', { value: n, selected: n === this.filter.server }, n)));
  }

  open(parts) {
    if (parts[1] === 'all') {
      this.filter.server = parts[2] ?? '';
      this.names = null;
      this.drawServers();
      this.refilter();
    }
    const seq = Number(parts[1]) || 0;
    this.selected = seq || this.selected;
    this.side.hidden = !seq;
    this.el.classList.toggle('open', !!seq);
    this.shut?.abort();
    if (seq) {
      this.shut = new AbortController();
      fill(this.side, opened(seq, this.shut.signal));
      this.signal.addEventListener('abort', () => this.shut.abort());
    }
    requestAnimationFrame(() => { if (seq) this.reveal(seq); else this.toEnd(); this.paint(); });
  }

  // fetchAll loads the messages from before the page was opened, page by page.
  async fetchAll() {
    if (rows.whole) return;
    let before = rows.list[0]?.seq ?? 0;
    try {
      for (let n = 0; n < 25 && !this.signal.aborted; n++) {
        const got = await api.get(`wire?limit=5000&before=${before}`);
        rows.before(got.messages);
        this.refilter();
        before = got.next;
        if (!before) { rows.whole = true; break; }
      }
    } catch (e) { announce(e.message); }
    this.drawServers();
  }

  matches(m) {
    const f = this.filter;
    return !(f.server && m.server !== f.server || f.kind && m.kind !== f.kind || f.method && m.method !== f.method || f.problems && !m.problems
      || f.text && !this.found?.has(m.seq) && !`${m.method ?? ''} ${m.about ?? ''} ${m.server} ${m.id ?? ''}`.toLowerCase().includes(f.text.toLowerCase()));
  }

  // searched asks the host which messages contain the text.
  async searched() {
    const text = this.filter.text;
    this.found = new Set();
    this.refilter();
    if (!text) return;
    let before = 0;
    try {
      do {
        const got = await api.get(`wire?limit=5000&before=${before}&q=${encodeURIComponent(text)}`);
        if (this.filter.text !== text || this.signal.aborted) return;
        for (const m of got.messages) this.found.add(m.seq);
        before = got.next;
        this.refilter();
      } while (before);
    } catch (e) { announce(e.message); }
  }

  refilter() {
    this.version = rows.version;
    this.upTo = rows.list.at(-1)?.seq ?? 0;
    const f = this.filter;
    const all = !f.server && !f.kind && !f.method && !f.text && !f.problems;
    this.shown = all ? rows.list.slice() : rows.list.filter((m) => this.matches(m));
    if (this.threaded) this.shown = threads(this.shown);
    this.drawMethods();
    this.resize();
  }

  came(pieces) {
    this.drawServers();
    if (this.filter.text) { clearTimeout(this.later); this.later = setTimeout(() => this.searched(), 1000); }
    if (this.held) { this.drawCount(); return; }
    if (rows.version !== this.version || this.threaded) { this.refilter(); return; }
    for (const m of pieces.flat()) {
      if (m.seq <= this.upTo) continue;
      this.upTo = m.seq;
      if (this.matches(m)) this.shown.push(m);
    }
    this.drawMethods();
    this.resize();
  }

  drawMethods() {
    this.known ??= new Set();
    const before = this.known.size;
    for (let i = Math.max(0, rows.list.length - 3000); i < rows.list.length; i++) if (rows.list[i].method && this.known.size < 200) this.known.add(rows.list[i].method);
    if (this.known.size === before && before) return;
    fill(this.methods, h('option', { value: '' }, 'All methods'), [...this.known].sort().map((m) => h('option', { value: m, selected: m === this.filter.method }, m)));
  }

  drawCount() {
    const waits = this.held ? rows.list.length - rows.at(this.upTo + 1) : 0;
    this.count.textContent = `${this.shown.length.toLocaleString('en')} of ${rows.list.length.toLocaleString('en')}${rows.dropped ? ', older ones were dropped' : ''}${waits ? `, ${waits} more while paused` : ''}`;
  }

  resize() {
    this.spacer.style.height = this.shown.length * high + 'px';
    this.table.setAttribute('aria-rowcount', this.shown.length + 1);
    this.drawCount();
    this.empty.hidden = this.shown.length > 0;
    if (!this.shown.length) fill(this.empty, rows.list.length ? [h('p', null, 'No message matches.'), h('p', { class: 'soft' }, 'Change or clear the filter.')] : [h('p', null, 'No messages yet.'), h('p', { class: 'soft' }, 'Run a tool or write in the chat: every message appears here.')]);
    this.toEnd();
    this.paint();
    this.timeline.draw(this.shown);
  }

  // toEnd scrolls to the latest message while the list follows.
  toEnd() {
    if (!this.follow) return;
    this.own = true;
    this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  // paint draws the visible rows.
  paint() {
    const box = this.scroll;
    if (this.own) this.own = false;
    else this.follow = box.scrollTop + box.clientHeight >= box.scrollHeight - high * 1.5;
    const first = Math.max(0, Math.floor(box.scrollTop / high) - 6);
    const last = Math.min(this.shown.length, first + Math.ceil(box.clientHeight / high) + 12);
    const need = Math.max(0, last - first);
    while (this.pool.length < need) { const r = new Row(this); this.pool.push(r); this.spacer.append(r.el); }
    while (this.pool.length > need + 40) this.pool.pop().el.remove();
    const chosen = rows.get(this.over) ?? rows.get(this.selected);
    const thread = chosen && (chosen.joins || chosen.answer) && (chosen.joins || chosen.seq);
    this.pool.forEach((r, i) => r.draw(i < need ? this.shown[first + i] : null, first + i, this.selected, thread));
    const active = this.pool.find((r) => r.m?.seq === this.selected);
    if (active) this.table.setAttribute('aria-activedescendant', active.el.id); else this.table.removeAttribute('aria-activedescendant');
    this.timeline.window(this.shown[Math.floor(box.scrollTop / high)], this.shown[Math.min(this.shown.length - 1, Math.floor((box.scrollTop + box.clientHeight - top) / high))]);
  }

  index(seq) {
    if (this.threaded) return this.shown.findIndex((m) => m.seq === seq);
    let low = 0, up = this.shown.length;
    while (low < up) { const mid = (low + up) >> 1; if (this.shown[mid].seq < seq) low = mid + 1; else up = mid; }
    return low;
  }

  reveal(seq) {
    const y = this.index(seq) * high;
    const box = this.scroll;
    if (y < box.scrollTop || y + high > box.scrollTop + box.clientHeight - top) box.scrollTop = Math.max(0, y - box.clientHeight / 2);
  }

  jump(seq) { this.selected = seq; this.follow = false; this.reveal(seq); this.paint(); }

  key(e) {
    const at = this.selected ? this.index(this.selected) : this.shown.length - 1;
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / high) - 1);
    const to = { ArrowDown: at + 1, ArrowUp: this.selected ? at - 1 : at, PageDown: at + page, PageUp: at - page, Home: 0, End: this.shown.length - 1 }[e.key];
    if (to !== undefined && this.shown.length) {
      e.preventDefault();
      const m = this.shown[Math.min(this.shown.length - 1, Math.max(0, to))];
      this.jump(m.seq);
      if (!this.side.hidden) history.replaceState(null, '', '#/wire/' + m.seq), this.open(['wire', String(m.seq)]);
    } else if (e.key === 'Enter' && this.selected) { e.preventDefault(); location.hash = '#/wire/' + this.selected; }
    else if (e.key === ' ') { e.preventDefault(); this.setHold(!this.held); }
    else if (e.key === 'p' && this.selected) { const m = rows.get(this.selected); if (m?.answer || m?.joins) this.jump(m.answer || m.joins); }
  }

  setHold(held) {
    this.held = held;
    this.hold.setAttribute('aria-pressed', String(held));
    fill(this.hold, icon(held ? 'play' : 'pause'), held ? 'Resume' : 'Pause');
    if (!held) this.refilter();
  }

  async save() {
    const servers = [...new Set(rows.list.map((m) => m.server))].sort();
    const one = this.filter.server || (servers.length === 1 ? servers[0] : '');
    if (one) { await saveServer(one); return; }
    const box = h('dialog', { class: 'box', 'aria-label': 'Save a recording' }, h('h2', null, 'Save the messages of which server?'), h('p', { class: 'soft' }, 'A recording holds the messages of one server. Secrets are removed.'),
      h('div', { class: 'choices' }, servers.map((n) => button(n, { onclick: () => { box.close(); saveServer(n); } }))), h('div', { class: 'actions' }, button('Close', { onclick: () => box.close() })));
    box.addEventListener('close', () => box.remove());
    document.body.append(box);
    box.showModal();
  }

  async load(file) {
    const f = file.files[0];
    file.value = '';
    if (!f) return;
    try {
      const got = await api.upload('wire/load', await f.text());
      announce(`${got.messages} messages were loaded`);
      location.hash = '#/wire/all/' + encodeURIComponent(got.server);
    } catch (e) { fill(this.empty, h('p', { class: 'state bad block' }, icon('bad'), e.message)); this.empty.hidden = false; announce(e.message); }
  }
}

async function saveServer(name) {
  const r = await fetch('/api/v1/wire/save?server=' + encodeURIComponent(name));
  const text = await r.text();
  if (r.ok) save(name + '.txtar', 'text/plain', text);
  else announce(text);
}

// threads sorts the messages of a call behind its request.
function threads(list) {
  return list.map((m, i) => [m.joins || m.seq, i, m]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((x) => x[2]);
}

let ids = 0;
const signs = { request: '', response: 'ok', error: 'error', notification: 'notification', batch: 'batch', noise: 'invalid', stderr: 'stderr', event: 'event' };

// A Row is an element that is reused for one message after the other.
class Row {
  constructor(view) {
    this.cells = Object.fromEntries(columns.map((c) => [c, h('span', { class: c, role: 'gridcell' })]));
    this.el = h('div', { class: 'wrow', role: 'row', id: 'w' + ++ids, onmouseenter: () => { view.over = this.m?.seq; view.paint(); }, onclick: () => { if (this.m) { view.selected = this.m.seq; location.hash = '#/wire/' + this.m.seq; view.paint(); } } }, columns.map((c) => this.cells[c]));
    this.out = icon('to');
    this.in = icon('from');
  }

  draw(m, index, selected, thread) {
    this.el.hidden = !m;
    if (!m) { this.m = null; return; }
    const cls = 'wrow ' + m.kind + (m.seq === selected ? ' selected' : '') + (thread && (m.seq === thread || m.joins === thread) ? ' joined' : '') + (m.problems ? ' broken' : '') + (m.joins && m.kind !== 'response' && m.kind !== 'error' ? ' below' : '');
    if (this.cls !== cls) this.el.className = this.cls = cls;
    const key = m.seq + '/' + (m.answer ?? 0) + '/' + (m.status ?? 0);
    if (this.y !== index) { this.y = index; this.el.style.transform = `translateY(${index * high}px)`; this.el.setAttribute('aria-rowindex', index + 2); }
    this.el.setAttribute('aria-selected', String(m.seq === selected));
    if (this.key === key && this.m === m) return;
    this.key = key;
    this.m = m;
    const c = this.cells;
    c.time.textContent = clock(m.at);
    c.dir.replaceChildren(m.sent ? this.out : this.in);
    c.dir.setAttribute('aria-label', m.sent ? 'to the server' : 'from the server');
    c.srv.textContent = visible(m.server);
    c.method.replaceChildren();
    if (m.joins && m.kind !== 'request') c.method.append(h('i', null, '└ '));
    c.method.append(visible(m.method || m.kind));
    if (m.about) c.method.append(h('em', null, ' ' + m.about));
    c.id.textContent = visible(m.id ?? '');
    c.era.textContent = m.era ?? '';
    const status = m.kind === 'request' ? (m.answer ? (m.failed ? 'failed' : 'ok') : 'waiting') : signs[m.kind];
    c.status.textContent = status + (m.status ? ' ' + m.status : '') + (m.problems ? ' ✕' + m.problems : '');
    c.status.className = 'status ' + (m.kind === 'error' || m.failed ? 'bad' : m.problems ? 'bad' : status === 'waiting' ? 'wait' : '');
    c.size.textContent = bytes(m.size);
    c.took.textContent = m.kind === 'request' ? (m.took ? millis(m.took) : '') : (m.ms ? millis(m.ms) : '');
  }
}

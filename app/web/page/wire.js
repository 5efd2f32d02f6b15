// The wire: a row for each call, which unfolds to its messages, or a row for each
// message. Only the visible rows are elements. The filter is in the address:
//
//   #/wire/SEQ?server=…&method=…&show=…&q=…&problems=1&flat=1&all=1

import { h, button, fill, icon, announce, problem, dialog } from './dom.js';
import * as api from './api.js';
import { count } from './format.js';
import { save } from './links.js';
import { housekeeping } from './rows.js';
import { rows, on, remember, state } from './store.js';
import { Timeline } from './timeline.js';
import { opened } from './message.js';
import { columns, headings, Row } from './wirerow.js';

export const name = 'wire';
export const title = 'Wire';

const high = 28; // pixels of a row
const top = 29;  // pixels of the headings, which stay visible
let view;

export function show(parts, signal) {
  view = new Wire(signal);
  view.open();
  return view.el;
}
export function move() { view.open(); return true; }

// The values of the filter Show, and the messages that they select.
const shows = {
  '': ['Everything', () => true],
  failed: ['Failed', (m) => ['failed', 'invalid', 'error', 'http', 'lost'].includes(m.outcome) || m.kind === 'noise' || m.kind === 'request' && !m.outcome && !rows.open(m, state.servers)],
  waiting: ['Waiting', (m) => m.kind === 'request' && !m.outcome && rows.open(m, state.servers)],
  cancelled: ['Cancelled', (m) => m.outcome === 'cancelled'],
  request: ['Requests', (m) => m.kind === 'request'],
  notification: ['Notifications', (m) => m.kind === 'notification'],
  noise: ['Invalid frames', (m) => m.kind === 'noise'],
  stderr: ['Standard error', (m) => m.kind === 'stderr'],
  event: ['Events', (m) => m.kind === 'event'],
};
const texts = ['server', 'method', 'show', 'q'];
const ticks = ['problems', 'flat', 'all'];

// address returns the address of a message, or of the list, under a filter.
function address(seq, filter) {
  const q = new URLSearchParams();
  for (const k of texts) if (filter[k]) q.set(k, filter[k]);
  for (const k of ticks) if (filter[k]) q.set(k, '1');
  const text = q.toString();
  return '#/wire/' + (seq || 'all') + (text ? '?' + text : '');
}

class Wire {
  constructor(signal) {
    this.signal = signal;
    this.filter = {};
    this.shown = [];
    this.unfolded = new Set(); // calls whose messages are listed
    this.pool = [];
    this.build();
    on('wire', (pieces) => this.onMessages(pieces), signal);
    on('cleared', () => this.refilter(), signal);
    on('servers', () => this.drawServers(), signal);
    document.addEventListener('shut', () => { if (!this.side.hidden) location.hash = address(0, this.filter); }, { signal });
    const clock = setInterval(() => { if (this.waits) this.paint(); }, 1000);
    signal.addEventListener('abort', () => clearInterval(clock));
  }

  build() {
    const f = this.filter;
    const pick = (label, key, options) => h('select', { 'aria-label': label, onchange: (e) => this.set(key, e.target.value) }, options.map(([v, t]) => h('option', { value: v }, t)));
    const tick = (key, invert, ...label) => h('label', { class: 'tick' }, h('input', { type: 'checkbox', 'data-key': key, onchange: (e) => this.set(key, e.target.checked !== invert) }), label);
    this.servers = pick('Server', 'server', [['', 'All servers']]);
    this.methods = pick('Method', 'method', [['', 'All methods']]);
    this.kinds = pick('Show', 'show', Object.entries(shows).map(([v, [t]]) => [v, t]));
    this.search = h('input', { type: 'search', placeholder: 'Search in messages', 'aria-label': 'Search in messages', 'data-search': true, onkeydown: (e) => { if (e.key === 'Escape') { e.preventDefault(); e.stopPropagation(); this.search.blur(); this.table.focus(); } }, oninput: () => { clearTimeout(this.typing); this.typing = setTimeout(() => this.set('q', this.search.value.trim()), 200); } });
    this.quiet = h('span', { class: 'n' });
    this.ticks = [tick('flat', true, 'One row per call'), tick('all', false, 'Housekeeping', this.quiet), tick('problems', false, 'Spec problems')];
    this.ticks[1].title = 'The messages that clients use to get to know a server and to stay in touch: handshakes, lists, pings, subscriptions. Those that fail are always shown.';
    this.hold = button('Pause', { class: 'small', 'aria-pressed': 'false', onclick: () => this.setHold(!this.held) }, 'pause');
    const file = h('input', { type: 'file', accept: '.txtar,.txt', hidden: true, 'aria-label': 'A recording', onchange: () => this.load(file) });
    this.count = h('span', { class: 'soft count', role: 'status' });
    this.reset = button('Clear the filter', { class: 'small quiet', hidden: true, onclick: () => { location.hash = '#/wire/all?'; } }, 'close');
    const bar = h('div', { class: 'bar' }, this.search, this.servers, this.methods, this.kinds, this.ticks, this.reset,
      h('span', { class: 'actions' }, this.hold, button('Clear', { class: 'small', onclick: () => api.post('wire/clear').catch((e) => announce(e.message)) }, 'bin'), button('Save', { class: 'small', onclick: () => this.save() }), button('Load', { class: 'small', onclick: () => file.click() }), file), this.count);
    this.timeline = new Timeline((seq) => { location.hash = address(seq, f); }, this.signal);
    this.spacer = h('div', { class: 'spacer', role: 'rowgroup' });
    this.empty = h('div', { class: 'empty' });
    this.scroll = this.table = h('div', { class: 'wiretable rows', role: 'treegrid', tabindex: 0, 'aria-label': 'Messages', onkeydown: (e) => this.key(e), onscroll: () => this.paint(), onmouseleave: () => { this.over = 0; this.paint(); } },
      h('div', { role: 'rowgroup' }, h('div', { class: 'wrow head', role: 'row' }, columns.map((c) => h('span', { class: c, role: 'columnheader' }, headings[c] || h('span', { class: 'unseen' }, 'Direction'))))), this.spacer, this.empty);
    this.side = h('div', { class: 'side-panel', hidden: true });
    this.el = h('div', { class: 'split wirebox' }, h('div', { class: 'canvas' }, h('h1', { class: 'unseen' }, 'Messages'), bar, this.timeline.el, this.table), this.side);
    const seen = new ResizeObserver(() => { this.toEnd(); this.paint(); });
    seen.observe(this.scroll);
    this.signal.addEventListener('abort', () => seen.disconnect());
    this.follow = true;
    this.drawServers();
  }

  // set changes the filter and so the address.
  set(key, value) {
    history.replaceState(null, '', address(this.seq, { ...this.filter, [key]: value }));
    this.open();
  }

  drawServers() {
    const names = new Set([...state.servers.keys(), ...rows.conns.keys(), this.filter.server].filter(Boolean));
    const key = [...names].sort().join('\n');
    if (key === this.names) return;
    this.names = key;
    fill(this.servers, h('option', { value: '' }, 'All servers'), [...names].sort().map((n) => h('option', { value: n, selected: n === this.filter.server }, n)));
  }

  // open shows what the address names: a message, a filter, or both. Without a
  // filter, the one of the last time applies.
  open() {
    const [path, query] = location.hash.split('?');
    const parts = path.replace(/^#\/?/, '').split('/').map((p) => { try { return decodeURIComponent(p); } catch { return p; } });
    const seq = Number(parts[1]) || 0;
    const q = new URLSearchParams(query ?? (parts[2] ? '' : this.ready ? address(0, this.filter).split('?')[1] : remember('wire')) ?? '');
    if (parts[2]) q.set('server', parts[2]);
    this.apply(q);
    this.seq = seq;
    if (seq) this.selected = seq;
    this.side.hidden = !seq;
    this.el.classList.toggle('open', !!seq);
    this.shut?.abort();
    if (seq) {
      this.shut = new AbortController();
      fill(this.side, opened(seq, this.shut.signal, () => { location.hash = address(0, this.filter); }));
      this.signal.addEventListener('abort', () => this.shut.abort());
      this.unfoldFor(seq);
    }
    requestAnimationFrame(() => { if (seq) this.reveal(seq); else this.toEnd(); this.paint(); });
  }

  // apply takes a filter over if it differs.
  apply(q) {
    const f = this.filter;
    const before = address(0, f), text = f.q;
    for (const k of texts) f[k] = q.get(k) ?? '';
    for (const k of ticks) f[k] = q.get(k) === '1';
    if (this.ready && before === address(0, f)) return;
    remember('wire', address(0, f).split('?')[1] ?? '');
    this.names = null;
    this.known = null;
    this.drawServers();
    this.kinds.value = f.show;
    if (document.activeElement !== this.search) this.search.value = f.q;
    for (const t of this.ticks) { const box = t.firstChild; box.checked = f[box.dataset.key] !== (box.dataset.key === 'flat'); }
    this.reset.hidden = !(f.server || f.method || f.show || f.q || f.problems);
    this.timeline.el.hidden = false;
    if (!this.ready) { this.ready = true; this.fetchAll(); }
    if (f.q !== (text ?? '')) this.searched(); else this.refilter();
  }

  // unfoldFor lists the messages of a call if one of them, not the request
  // itself, is opened.
  unfoldFor(seq) {
    const m = rows.get(seq);
    if (!m || this.filter.flat || rows.root(m) === m || this.unfolded.has(rows.root(m).seq)) return;
    this.unfolded.add(rows.root(m).seq);
    this.refilter();
  }

  // fetchAll loads the messages from before the page was opened, page by page.
  async fetchAll() {
    if (rows.whole) return;
    let before = rows.list[0]?.seq ?? 0;
    try {
      for (let n = 0; n < 60 && !this.signal.aborted; n++) {
        const got = await api.get(`wire?limit=2000&before=${before}`);
        rows.before(got.messages);
        this.soon();
        before = got.next;
        if (!before) { rows.whole = true; break; }
      }
    } catch (e) { announce(e.message); }
    this.drawServers();
    if (this.seq) { this.unfoldFor(this.seq); this.refilter(); this.reveal(this.seq); }
  }

  // soon filters again, not more often than a long list allows.
  soon() {
    this.later ??= setTimeout(() => { this.later = null; if (!this.signal.aborted && !this.held) this.refilter(); }, rows.list.length > 20_000 ? 500 : 60);
  }

  matches(m) {
    const f = this.filter;
    return !(f.server && m.server !== f.server || f.method && m.method !== f.method || f.problems && !m.problems || f.show && !shows[f.show]?.[1](m)
      || f.q && !this.found?.has(m.seq) && !`${m.method ?? ''} ${m.about ?? ''} ${m.server} ${m.id ?? ''}`.toLowerCase().includes(f.q.toLowerCase()));
  }

  // searched asks the host which messages contain the text.
  async searched() {
    const text = this.filter.q;
    this.found = new Set();
    this.refilter();
    if (!text) return;
    let before = 0;
    try {
      do {
        const got = await api.get(`wire?limit=2000&before=${before}&q=${encodeURIComponent(text)}`);
        if (this.filter.q !== text || this.signal.aborted) return;
        for (const m of got.messages) this.found.add(m.seq);
        before = got.next;
        this.refilter();
      } while (before);
    } catch (e) { announce(e.message); }
  }

  // hides reports whether a message is housekeeping that is not wanted now.
  hides(m) { return !this.filter.all && m.seq !== this.selected && housekeeping(m); }

  refilter() {
    this.version = rows.version;
    this.ends = rows.ends;
    this.upTo = rows.list.at(-1)?.seq ?? 0;
    const { flat, server } = this.filter;
    const every = !['server', 'method', 'show', 'q', 'problems'].some((k) => this.filter[k]);
    const wanted = flat ? null : new Set(); // calls with a message that matches
    if (!flat && !every) for (const m of rows.list) if (this.matches(m)) wanted.add(m.joins ? rows.root(m) : m);
    this.shown = [];
    this.quietly = 0;
    for (const m of rows.list) {
      if (!flat && m.joins && rows.get(m.joins)) continue;
      if (this.hides(flat ? rows.root(m) : m) && !(server && m.server !== server)) { this.quietly++; continue; }
      if (every || (flat ? this.matches(m) : wanted.has(m))) this.push(m);
    }
    this.drawMethods();
    this.resize();
  }

  push(m) {
    this.shown.push(m);
    if (this.filter.flat || !this.unfolded.has(m.seq)) return;
    for (const k of rows.below(m)) this.shown.push(k);
  }

  onMessages(pieces) {
    this.drawServers();
    if (this.filter.q) { clearTimeout(this.again); this.again = setTimeout(() => this.searched(), 1000); }
    if (this.held) { this.drawCount(); return; }
    if (rows.version !== this.version) { this.soon(); return; }
    const { flat } = this.filter;
    let stale = rows.ends !== this.ends && (this.filter.show || this.filter.problems);
    this.ends = rows.ends;
    for (const m of pieces.flat()) {
      if (m.seq <= this.upTo) continue;
      this.upTo = m.seq;
      const root = m.joins ? rows.root(m) : m;
      if (!flat && root !== m) {
        if (this.unfolded.has(root.seq) || !this.matches(root) && this.matches(m) || m.outcome && m.outcome !== 'ok' && housekeeping({ ...root, outcome: '' })) stale = true;
      } else if (this.hides(root)) this.quietly++;
      else if (this.matches(m)) this.push(m);
    }
    if (stale) this.soon();
    this.drawMethods();
    this.resize();
  }

  drawMethods() {
    this.known ??= new Set([this.filter.method].filter(Boolean));
    const before = this.known.size;
    for (let i = Math.max(0, rows.list.length - 3000); i < rows.list.length; i++) if (rows.list[i].method && this.known.size < 200) this.known.add(rows.list[i].method);
    if (this.known.size === before && this.drawn) return;
    this.drawn = true;
    fill(this.methods, h('option', { value: '' }, 'All methods'), [...this.known].sort().map((m) => h('option', { value: m, selected: m === this.filter.method }, m)));
  }

  drawCount() {
    const waits = this.held ? rows.list.length - rows.at(this.upTo + 1) : 0;
    const n = (x) => x.toLocaleString('en');
    this.count.textContent = `${n(this.shown.length)} ${this.shown.length === 1 ? 'row' : 'rows'} of ${n(rows.list.length)} ${rows.list.length === 1 ? 'message' : 'messages'}${rows.dropped ? ', older ones were dropped' : ''}${waits ? `, ${n(waits)} more while paused` : ''}`;
    this.quiet.textContent = this.quietly ? `${n(this.quietly)} hidden` : '';
  }

  resize() {
    this.spacer.style.height = this.shown.length * high + 'px';
    this.table.setAttribute('aria-rowcount', this.shown.length + 1);
    this.drawCount();
    this.empty.hidden = this.shown.length > 0;
    if (!this.shown.length) this.drawEmpty();
    this.toEnd();
    this.paint();
    this.timeline.draw(this.shown);
  }

  drawEmpty() {
    const filtered = !this.reset.hidden;
    if (rows.list.length && filtered) fill(this.empty, h('p', null, 'No message matches.'), h('p', { class: 'soft' }, 'Change or clear the filter.'));
    else if (this.quietly) fill(this.empty, h('p', null, 'No calls yet.'), h('p', { class: 'soft' }, 'Run a tool or write in the chat: every call appears here.'), h('p', null, button(`Show ${count(this.quietly, 'row')} of housekeeping`, { onclick: () => this.set('all', true) })));
    else fill(this.empty, h('p', null, 'No messages yet.'), h('p', { class: 'soft' }, 'Run a tool or write in the chat: every message appears here.'));
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
    while (this.pool.length < need) { const r = new Row(this, high); this.pool.push(r); this.spacer.append(r.el); }
    while (this.pool.length > need + 40) this.pool.pop().el.remove();
    const chosen = rows.get(this.over) ?? rows.get(this.selected);
    const call = chosen && rows.root(chosen).seq;
    this.waits = false;
    this.pool.forEach((r, i) => r.draw(i < need ? this.shown[first + i] : null, first + i, call));
    const active = this.pool.find((r) => r.m?.seq === this.selected);
    if (active) this.table.setAttribute('aria-activedescendant', active.el.id); else this.table.removeAttribute('aria-activedescendant');
    this.timeline.window(this.shown[Math.floor(box.scrollTop / high)], this.shown[Math.min(this.shown.length - 1, Math.floor((box.scrollTop + box.clientHeight - top) / high))]);
  }

  // index returns the row of a message, or of the call that it is folded into.
  index(seq) {
    const m = rows.get(seq);
    const key = (x) => this.filter.flat ? x.seq : rows.root(x).seq;
    const want = m ? key(m) : seq;
    let low = 0, up = this.shown.length;
    while (low < up) { const mid = (low + up) >> 1; if (key(this.shown[mid]) < want) low = mid + 1; else up = mid; }
    for (let i = low; i < this.shown.length && key(this.shown[i]) === want; i++) if (this.shown[i].seq === seq) return i;
    return low;
  }

  reveal(seq) {
    const y = this.index(seq) * high;
    const box = this.scroll;
    if (y < box.scrollTop || y + high > box.scrollTop + box.clientHeight - top) box.scrollTop = Math.max(0, y - box.clientHeight / 2);
    this.follow = false;
  }

  jump(seq) { this.selected = seq; this.follow = false; this.unfoldFor(seq); this.reveal(seq); this.paint(); }

  toggle(seq, open = !this.unfolded.has(seq)) {
    if (!rows.kids.get(seq)?.length || this.filter.flat) return;
    if (open) this.unfolded.add(seq); else this.unfolded.delete(seq);
    this.follow = false;
    this.refilter();
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const at = this.selected ? this.index(this.selected) : this.shown.length - 1;
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / high) - 1);
    const to = { ArrowDown: at + 1, ArrowUp: this.selected ? at - 1 : at, PageDown: at + page, PageUp: at - page, Home: 0, End: this.shown.length - 1 }[e.key];
    if (to !== undefined && this.shown.length) {
      e.preventDefault();
      const m = this.shown[Math.min(this.shown.length - 1, Math.max(0, to))];
      this.jump(m.seq);
      if (!this.side.hidden) history.replaceState(null, '', address(m.seq, this.filter)), this.open();
    } else if (e.key === 'Enter' && this.selected) { e.preventDefault(); location.hash = address(this.selected, this.filter); } else if (e.key === ' ') { e.preventDefault(); this.setHold(!this.held); } else if (e.key === 'ArrowRight' && this.selected) { e.preventDefault(); this.toggle(this.selected, true); } else if (e.key === 'ArrowLeft' && this.selected) { e.preventDefault(); const root = rows.root(rows.get(this.selected) ?? {}); this.selected = root.seq ?? this.selected; this.toggle(this.selected, false); this.paint(); } else if (e.key === 'p' && this.selected) { const m = rows.get(this.selected); if (m?.answer || m?.joins) this.jump(m.answer || m.joins); }
  }

  pick(m) {
    this.selected = m.seq;
    location.hash = address(m.seq, this.filter);
    this.paint();
  }

  setHold(held) {
    this.held = held;
    this.hold.setAttribute('aria-pressed', String(held));
    fill(this.hold, icon(held ? 'play' : 'pause'), held ? 'Resume' : 'Pause');
    if (!held) this.refilter();
  }

  async save() {
    const servers = [...rows.conns.keys()].sort();
    const one = this.filter.server || (servers.length === 1 ? servers[0] : '');
    if (one) { await saveServer(one); return; }
    const box = dialog('Save the messages of which server?', h('p', { class: 'soft' }, 'A recording holds the messages of one server. Secrets are removed.'),
      h('div', { class: 'choices' }, servers.map((n) => button(n, { onclick: () => { box.close(); saveServer(n); } }))), h('div', { class: 'actions' }, button('Close', { onclick: () => box.close() })));
  }

  async load(file) {
    const f = file.files[0];
    file.value = '';
    if (!f) return;
    try {
      const got = await api.upload('wire/load', await f.text());
      announce(`${got.messages} messages were loaded`);
      location.hash = address(0, { server: got.server, flat: true, all: true });
    } catch (e) { fill(this.empty, problem(e)); this.empty.hidden = false; announce(e.message); }
  }
}

async function saveServer(name) {
  const r = await fetch('/api/v1/wire/save?server=' + encodeURIComponent(name));
  const text = await r.text();
  if (r.ok) save(name + '.txtar', 'text/plain', text);
  else announce(text);
}

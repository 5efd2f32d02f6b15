// A row of the wire: an element that is reused for one message after the other.

import { h, icon, visible } from './dom.js';
import { bare } from './ansi.js';
import { bytes, clock, millis } from './format.js';
import { status } from './status.js';
import { rows } from './store.js';

export const columns = ['time', 'dir', 'srv', 'method', 'status', 'took', 'size', 'id'];
export const headings = { time: 'Time', dir: '', srv: 'Server', method: 'Call', status: 'Status', took: 'Took', size: 'Size', id: 'Id' };

let ids = 0;
const hues = { tools: 'hue-tools', resources: 'hue-resources', prompts: 'hue-prompts' };
const plain = { noise: 'invalid frame', stderr: 'stderr', event: 'event' };

export class Row {
  constructor(view, high) {
    this.view = view;
    this.high = high;
    this.cells = Object.fromEntries(columns.map((c) => [c, h('span', { class: c, role: 'gridcell' })]));
    this.fold = h('i', { class: 'fold', 'aria-hidden': 'true', onclick: (e) => { e.stopPropagation(); view.toggle(this.m.seq); } }, '▸');
    this.el = h('div', { class: 'wrow', role: 'row', id: 'w' + ++ids, onmouseenter: () => { view.over = this.m?.seq; view.paint(); }, onclick: () => { if (this.m) view.pick(this.m); } }, columns.map((c) => this.cells[c]));
    this.cells.method.append(this.fold);
    this.out = icon('to');
    this.in = icon('from');
  }

  draw(m, index, call) {
    this.el.hidden = !m;
    if (!m) { this.m = this.key = null; return; }
    const { view } = this;
    const folds = !view.filter.flat && !m.joins && rows.kids.has(m.seq);
    const open = folds && view.unfolded.has(m.seq);
    const depth = m.joins ? rows.depth(m) : 0;
    const [word, tone] = status(m);
    if (word.startsWith('waiting')) view.waits = true;
    const cls = 'wrow ' + m.kind + (m.seq === view.selected ? ' selected' : '') + (call && rows.root(m).seq === call && (depth || open) ? ' joined' : '') + (m.problems ? ' broken' : '') + (depth ? ' below' : '');
    if (this.cls !== cls) this.el.className = this.cls = cls;
    if (this.y !== index) { this.y = index; this.el.style.transform = `translateY(${index * this.high}px)`; this.el.setAttribute('aria-rowindex', index + 2); }
    this.el.setAttribute('aria-selected', String(m.seq === view.selected));
    this.el.setAttribute('aria-level', depth + 1);
    if (folds) this.el.setAttribute('aria-expanded', String(open)); else this.el.removeAttribute('aria-expanded');
    const key = `${m.seq} ${word} ${m.status ?? 0} ${m.problems ?? 0} ${folds} ${open} ${rows.kids.get(m.seq)?.length ?? 0}`;
    if (this.key === key) return;
    this.key = key;
    this.m = m;
    this.#write(m, word, tone, folds, depth);
  }

  #write(m, word, tone, folds, depth) {
    const c = this.cells;
    c.time.textContent = clock(m.at);
    c.dir.replaceChildren(m.sent ? this.out : this.in);
    c.dir.setAttribute('aria-label', m.sent ? 'to the server' : 'from the server');
    c.srv.textContent = visible(m.server);
    this.fold.hidden = !folds;
    while (this.fold.nextSibling) this.fold.nextSibling.remove(); // the fold stays: one that is replaced while it is pressed loses the click
    c.method.style.setProperty('--d', depth);
    const hue = hues[m.method?.split('/')[0]];
    c.method.append(h('span', { class: hue ? 'hue ' + hue : '' }, visible((depth && (m.kind === 'response' || m.kind === 'error') ? m.kind === 'error' ? 'error' : 'result' : plain[m.kind] ?? m.method ?? m.kind))));
    if (m.about && !(depth && (m.kind === 'response' || m.kind === 'error'))) c.method.append(h('em', null, ' ' + (m.kind === 'stderr' ? bare(m.about) : m.about)));
    c.id.textContent = visible(m.id ?? '');
    c.status.textContent = word + (m.problems ? ` ✕${m.problems}` : '');
    c.status.className = 'status ' + (m.problems && tone !== 'wait' ? 'bad' : tone);
    c.status.title = m.problems ? `${word}; breaks ${m.problems === 1 ? 'a rule' : m.problems + ' rules'} of the specification` : word;
    c.size.textContent = bytes(m.size);
    c.took.textContent = m.ms ? millis(m.ms) : '';
  }
}

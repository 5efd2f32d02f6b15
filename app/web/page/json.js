// JSON as a tree: lines that fold, with the digits and the order that came.
// Pointing at a member shows its meaning in the revision of the message, and its
// problems. A large text is read in slices, and only what is unfolded is drawn.

import { h, button, say } from './dom.js';
import { bytes } from './format.js';
import { Reader, readLater } from './numbers.js';

const part = 100;       // members of a container that are drawn at once
const budget = 400;     // lines that are unfolded at first
const piece = 2000;     // characters of a string that are drawn at first
const most = 100_000;   // characters to read at once

// tree formats a JSON text; other text is shown as it is. The options are by
// JSON pointer: fields describes members, problems lists broken rules, changed
// marks differences. find of the element searches, see Tree.
export function tree(text, options = {}) {
  const t = new Tree(String(text ?? ''), options);
  t.el.find = (query, step) => t.find(query, step);
  return t.el;
}

const unescaped = (quoted) => { try { return JSON.parse(quoted); } catch { return quoted.slice(1, -1); } };
const comma = (n) => n.parent && n.i < n.parent.kids.length - 1 ? ',' : '';
export const step = (k) => String(k).replace(/~/g, '~0').replace(/\//g, '~1');

// A Node is a value: a scalar with its text, or a container with its kids.
class Node {
  constructor(parent, key, from) {
    this.parent = parent;
    this.key = key;
    this.from = from;
    this.i = parent ? parent.kids.push(this) - 1 : 0;
  }

  get pointer() { return this.parent ? `${this.parent.pointer}/${step(this.parent.list ? this.i : unescaped(this.key))}` : ''; }
  get depth() { return this.parent ? this.parent.depth + 1 : 0; }
}

// Nodes are what a Reader finds.
class Nodes {
  all = []; // in the order of the text
  open(list, from) { const n = this.#add(from); n.list = list; n.kids = []; this.at = n; }
  close() { this.at = this.at.parent; }
  key(text, from) { this.name = text; this.begin = from; }
  scalar(text, from) { this.#add(from).text = text; }
  #add(from) {
    const named = this.at && !this.at.list;
    const n = new Node(this.at, named ? this.name : '', named ? this.begin : from);
    this.all.push(n);
    return n;
  }
}

class Tree {
  constructor(text, options) {
    this.text = text;
    this.options = options;
    this.left = budget;
    this.el = h('div', { class: 'json mono', role: 'tree', 'aria-label': 'JSON', onkeydown: (e) => this.#keys(e) });
    this.el.addEventListener('focusin', (e) => this.#focused(e.target.closest('.jline')));
    const nodes = new Nodes();
    if (text.length <= most) {
      try { new Reader(text, nodes).run(); } catch { this.#plain(); return; }
      this.#draw(nodes);
      return;
    }
    this.el.append(h('p', { class: 'soft' }, `Reading ${bytes(text.length)} …`));
    this.reading = readLater(text, nodes).then(() => this.#draw(nodes), () => this.#plain());
  }

  #plain() {
    const pre = h('pre', { class: 'plain', tabindex: 0 }, this.text.slice(0, 50_000));
    this.el.removeAttribute('role');
    this.el.replaceChildren(pre);
    if (this.text.length > 50_000) this.el.append(h('p', { class: 'soft' }, `The first 50 kB of ${bytes(this.text.length)}; copy it to see the rest.`));
  }

  #draw(nodes) {
    this.all = nodes.all;
    this.el.replaceChildren(this.#node(this.all[0]));
    this.el.querySelector('.jline').tabIndex = 0;
    for (const pointers of [this.options.problems, this.options.changed]) for (const p of pointers?.keys() ?? []) this.#show(this.#at(p));
  }

  // #at returns the node of a pointer.
  #at(pointer) {
    let n = this.all[0];
    for (const k of pointer.split('/').slice(1)) n = n?.kids?.find((x) => step(n.list ? x.i : unescaped(x.key)) === k);
    return n;
  }

  // #node draws a node, its members only while there is room.
  #node(n) {
    if (!n.kids?.length) return this.#line(n);
    n.box = h('div', { class: 'jnode', role: 'none' }, this.#line(n));
    if (this.left > 0 && n.depth < 20) this.#unfold(n);
    return n.box;
  }

  #line(n) {
    this.left--;
    const { fields, problems, changed, onpoint } = this.options;
    const at = fields || problems || changed ? n.pointer : '';
    const f = fields?.get(at), bad = problems?.get(at);
    const el = h('div', { class: 'jline' + (bad ? ' bad' : '') + (changed?.has(at) ? ' changed' : '') + (f && !f.known ? ' own' : '') + ((f || bad) && onpoint ? ' explained' : ''), role: 'treeitem', tabindex: -1, 'aria-level': n.depth + 1 });
    el.style.setProperty('--d', Math.min(n.depth, 30));
    el.node = n;
    n.el = el;
    if (n.kids?.length) {
      el.setAttribute('aria-expanded', 'false');
      el.append(h('span', { class: 'fold', 'aria-hidden': 'true', onclick: (e) => { e.stopPropagation(); this.#toggle(n); } }, '▸'));
    }
    if (n.key) el.append(h('span', { class: 'k' }, n.key), ': ');
    if (n.kids) el.append(...this.#brackets(n));
    else el.append(this.#scalar(n), comma(n));
    if ((f || bad) && onpoint) el.addEventListener('mouseenter', () => onpoint(f, bad, at));
    if (bad) el.append(h('span', { class: 'mark' }, ' ✕ ', bad.map((p) => p.rule).join(', ')));
    return el;
  }

  #brackets(n) {
    const [open, close] = n.list ? ['[', ']'] : ['{', '}'];
    if (!n.kids.length) return [open + close + comma(n)];
    const many = n.list ? n.kids.length === 1 ? '1 item' : `${n.kids.length.toLocaleString('en')} items` : n.kids.length === 1 ? '1 member' : `${n.kids.length.toLocaleString('en')} members`;
    return [open, h('span', { class: 'folded' }, ` ${many} ${close}${comma(n)}`)];
  }

  #scalar(n) {
    const c = n.text[0];
    const value = h('span', { class: c === '"' ? 's' : 'v' });
    n.shown = 0;
    this.#more(n, value, piece);
    return value;
  }

  // #more draws the next characters of a long string.
  #more(n, value, size) {
    value.querySelector('button')?.remove();
    const upTo = Math.min(n.text.length, n.shown + size);
    value.append(say(n.text.slice(n.shown, upTo)));
    n.shown = upTo;
    if (upTo < n.text.length) value.append(button(`… ${bytes(n.text.length - upTo)} more`, { class: 'small quiet', onclick: (e) => { e.stopPropagation(); this.#more(n, value, 20_000); } }));
  }

  #unfold(n) {
    if (n.open) return;
    n.open = true;
    n.el.setAttribute('aria-expanded', 'true');
    n.place ??= this.#parts(n);
    n.end ??= h('div', { class: 'jline end', 'aria-hidden': 'true' }, (n.list ? ']' : '}') + comma(n));
    n.end.style.setProperty('--d', Math.min(n.depth, 30));
    n.box.append(n.place, n.end);
  }

  #fold(n) {
    n.open = false;
    n.el.setAttribute('aria-expanded', 'false');
    n.place.remove();
    n.end.remove();
  }

  #toggle(n) {
    this.left = budget / 4;
    if (n.open) this.#fold(n); else this.#unfold(n);
  }

  // #parts draws the first members of a container, and a button for each
  // further hundred.
  #parts(n) {
    const place = h('div', { role: 'group' });
    n.parts = [];
    for (let from = 0; from < n.kids.length; from += part) {
      const to = Math.min(n.kids.length, from + part);
      const p = { from, to, el: h('div', { role: 'none' }) };
      n.parts.push(p);
      place.append(p.el);
      if (from === 0) this.#fill(n, p);
      else {
        const b = button(`${from} … ${to - 1}`, { class: 'small quiet jpart', role: 'treeitem', onclick: () => { this.left = budget / 4; this.#fill(n, p); } });
        b.style.setProperty('--d', Math.min(n.depth + 1, 30));
        p.el.append(b);
      }
    }
    return place;
  }

  #fill(n, p) {
    if (p.drawn) return;
    p.drawn = true;
    p.el.replaceChildren(...n.kids.slice(p.from, p.to).map((k) => this.#node(k)));
  }

  // #show unfolds whatever hides a node.
  #show(n) {
    if (!n) return;
    if (n.parent) {
      this.#show(n.parent);
      this.left = Math.max(this.left, 1);
      this.#unfold(n.parent);
      this.#fill(n.parent, n.parent.parts[Math.floor(n.i / part)]);
    }
  }

  #focused(el) {
    if (!el?.node) return;
    for (const old of this.el.querySelectorAll('.jline[tabindex="0"]')) old.tabIndex = -1;
    el.tabIndex = 0;
    const { fields, problems, onpoint } = this.options;
    const at = el.node.pointer;
    if (onpoint && (fields?.has(at) || problems?.has(at))) onpoint(fields?.get(at), problems?.get(at), at);
  }

  #keys(e) {
    const el = e.target.closest('.jline');
    const n = el?.node;
    if (!n || e.target !== el || e.ctrlKey || e.metaKey || e.altKey) return;
    const lines = () => [...this.el.querySelectorAll('.jline:not(.end)')];
    const go = (to) => to?.focus();
    const f = {
      ArrowDown: () => { const all = lines(); go(all[all.indexOf(el) + 1]); }, ArrowUp: () => { const all = lines(); go(all[all.indexOf(el) - 1]); },
      Home: () => go(lines()[0]), End: () => go(lines().at(-1)),
      ArrowRight: () => n.kids?.length && !n.open ? this.#toggle(n) : go(n.kids?.[0]?.el), ArrowLeft: () => n.open ? this.#fold(n) : go(n.parent?.el),
      Enter: () => n.kids?.length && this.#toggle(n), ' ': () => n.kids?.length && this.#toggle(n),
    }[e.key];
    if (!f) return;
    e.preventDefault();
    e.stopPropagation();
    f();
  }

  // find shows the next (step 1) or previous (step -1) place of a text, and
  // returns [its number, how many there are].
  find(query, step = 0) {
    query = query.toLowerCase();
    globalThis.CSS?.highlights?.delete('found');
    this.el.querySelector('.found')?.classList.remove('found');
    if (!this.all || !query) return [0, 0];
    if (this.query !== query) {
      this.query = query;
      this.places = [];
      this.lower ??= this.text.toLowerCase();
      for (let at = this.lower.indexOf(query); at >= 0 && this.places.length < 10_000; at = this.lower.indexOf(query, at + query.length)) this.places.push(at);
      this.place = 0;
    } else if (this.places.length) this.place = (this.place + step + this.places.length) % this.places.length;
    if (this.places.length) this.#found(this.places[this.place], query);
    return [this.places.length ? this.place + 1 : 0, this.places.length];
  }

  #found(at, query) {
    let low = 0, high = this.all.length - 1;
    while (low < high) { const mid = (low + high + 1) >> 1; if (this.all[mid].from <= at) low = mid; else high = mid - 1; }
    const n = this.all[low];
    this.#show(n);
    const value = n.el.querySelector('.s');
    if (value && at - n.from > n.shown) this.#more(n, value, Math.min(at - n.from + query.length + 200 - n.shown, 200_000));
    n.el.classList.add('found');
    n.el.scrollIntoView({ block: 'nearest' });
    highlight(n.el, query);
  }
}

// highlight marks a text inside of an element.
function highlight(el, query) {
  if (!globalThis.CSS?.highlights) return;
  const ranges = [];
  const walk = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n && ranges.length < 200; n = walk.nextNode()) {
    const low = n.data.toLowerCase();
    for (let at = low.indexOf(query); at >= 0 && ranges.length < 200; at = low.indexOf(query, at + query.length)) {
      const r = new Range();
      r.setStart(n, at);
      r.setEnd(n, Math.min(n.length, at + query.length));
      ranges.push(r);
    }
  }
  CSS.highlights.set('found', new Highlight(...ranges));
}

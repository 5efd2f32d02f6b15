// All elements are created here. Text becomes text nodes, never markup, and
// invisible characters are shown as escapes: the page shows the text of servers
// and never runs it.

const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
const joined = /\p{Extended_Pictographic}\ufe0f?$/u;

const escape = (c) => `\\u{${c.codePointAt(0).toString(16)}}`;

// A joiner between two pictures is part of an emoji.
const harmless = (text, at) => text[at] === '\u200d' && joined.test(text.slice(Math.max(0, at - 4), at)) && /^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3));

// visible returns text with invisible characters escaped, for attributes and
// plain text.
export function visible(text) {
  return String(text ?? '').replace(/\r\n/g, '\n').replace(hidden, (c, at, all) => harmless(all, at) ? c : escape(c));
}

// say returns a text as nodes, with escapes set apart.
export function say(text) {
  text = String(text ?? '').replace(/\r\n/g, '\n');
  if (text.search(hidden) < 0) return document.createTextNode(text);
  const all = document.createDocumentFragment();
  let from = 0;
  for (const m of text.matchAll(hidden)) {
    if (harmless(text, m.index)) continue;
    if (m.index > from) all.append(text.slice(from, m.index));
    const mark = document.createElement('span');
    mark.className = 'esc';
    mark.title = 'Invisible character';
    mark.textContent = escape(m[0]);
    all.append(mark);
    from = m.index + m[0].length;
  }
  all.append(text.slice(from));
  return all;
}

function nodes(children, all = []) {
  for (const c of children) {
    if (c === null || c === undefined || c === false || c === true) continue;
    if (Array.isArray(c)) nodes(c, all);
    else all.push(c instanceof Node ? c : say(c));
  }
  return all;
}

function put(el, children) {
  el.append(...nodes(children));
  return el;
}

// Attributes that could load, open or run something are set by the few
// functions that check them (links.js), not here.
const checked = new Set(['href', 'src', 'srcset', 'action', 'formaction', 'style', 'srcdoc', 'data']);

function set(el, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value);
    else if (name === 'class') el.setAttribute('class', value);
    else if (name === 'value' || name === 'checked' || name === 'disabled' || name === 'selected' || name === 'open' || name === 'indeterminate') el[name] = value;
    else if (name === 'to') el.setAttribute('href', '#' + value); // a place in this page
    else if (checked.has(name)) throw new Error(name + ' is not set this way');
    else el.setAttribute(name, value === true ? '' : visible(value));
  }
}

// h makes an element of HTML: h('p', {class: 'x', onclick: f}, 'text', node …).
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  if (props) set(el, props);
  return put(el, children);
}

const SVG = 'http://www.w3.org/2000/svg';

// s makes an element of SVG.
export function s(tag, props, ...children) {
  const el = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props ?? {})) el.setAttribute(name, value);
  return put(el, children);
}

// lasting has elements that fill does not remove at once, each with a function
// that ends it and returns a promise: frames of views, which are told before
// they go and would load again if they were moved.
export const lasting = new Map();

// fill replaces what an element holds.
export function fill(el, ...children) {
  const last = [...lasting.keys()].filter((x) => el.contains(x));
  if (!last.length) {
    el.replaceChildren();
    return put(el, children);
  }
  const wanted = nodes(children);
  const stays = new Set();
  for (const c of [...el.childNodes]) {
    const inside = last.filter((x) => c.contains(x));
    if (!inside.length) c.remove();
    else if (wanted.includes(c)) stays.add(c);
    else {
      c.hidden = true;
      Promise.allSettled(inside.map((x) => lasting.get(x)())).then(() => c.remove());
    }
  }
  let at = el.firstChild;
  for (const c of wanted) {
    if (stays.has(c)) at = c.nextSibling;
    else el.insertBefore(c, at);
  }
  return el;
}

// A browser forgets a press if fill replaces what is pressed. It is a click all the
// same on the same element, link or data-key, but not on what only looks the same,
// such as the answer to another question.
let pressed = null;
const controlAt = (el) => el?.closest?.('button, a');
const same = (a, b) => a === b || a.dataset.key && a.dataset.key === b.dataset.key || a.href && a.href === b.href;
addEventListener('pointerdown', (e) => { pressed = e.button === 0 ? { target: e.target, control: controlAt(e.target) } : null; }, true);
addEventListener('click', () => { pressed = null; }, true);
addEventListener('pointerup', (e) => {
  const p = pressed;
  if (!p?.control || p.target.isConnected) return;
  const now = controlAt(document.elementFromPoint(e.clientX, e.clientY));
  if (now && same(p.control, now)) setTimeout(() => { if (pressed === p) now.click(); }); // unless the browser makes the click
}, true);

const shapes = {
  ok: 'M3 8.500 6.500 12 13 4.500',
  dots: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
  warn: 'M8 2.500 14.500 13.500h-13zM8 6.500v3.200M8 11.700v.01',
  bad: 'M4 4l8 8M12 4l-8 8',
  off: 'M3 8h10',
  key: 'M10.500 2.500a3 3 0 1 1-2.600 4.500L3 12v2h2v-1.500h1.500V11L8 9.500',
  again: 'M13 8a5 5 0 1 1-1.500-3.600M13 2v3h-3',
  close: 'M4 4l8 8M12 4l-8 8',
  sun: 'M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6M8 1.500v1M8 13.500v1M1.500 8h1M13.500 8h1M3.400 3.400l.7.7M11.900 11.900l.7.7M3.400 12.600l.7-.7M11.900 4.100l.7-.7',
  moon: 'M13 9.500A5.500 5.500 0 0 1 6.500 3 5.500 5.500 0 1 0 13 9.500',
  play: 'M5 3.500v9l7.500-4.500z',
  stop: 'M4.500 4.500h7v7h-7z',
  pause: 'M5.500 3.500v9M10.500 3.500v9',
  plus: 'M8 3v10M3 8h10',
  copy: 'M5.500 5.500h7v7h-7zM3.500 10.500v-7h7',
  out: 'M9 3h4v4M13 3 7.500 8.500M11 9.500V13H3V5h3.500',
  right: 'M6 3.500 10.500 8 6 12.500',
  back: 'M10 3.500 5.500 8 10 12.500',
  send: 'M2.500 8 13.500 3l-3 10-3-4z',
  eye: 'M1.500 8S4 3.500 8 3.500 14.500 8 14.500 8 12 12.500 8 12.500 1.500 8 1.500 8M8 6.200a1.800 1.800 0 1 1 0 3.600 1.800 1.800 0 0 1 0-3.600',
  tool: 'M9.500 2.500a3.500 3.500 0 0 1 4 4.600L8 12.500a1.900 1.900 0 0 1-2.700-2.700L10.500 4M3 13',
  bin: 'M3 4.500h10M6.500 4.500V3h3v1.500M4.500 4.500l.7 8.500h5.600l.7-8.500',
  ask: 'M5.500 6a2.500 2.500 0 1 1 3.500 2.300c-.7.3-1 .8-1 1.500M8 12.500v.01',
  up: 'M3.500 10 8 5.500 12.500 10',
  down: 'M3.500 6 8 10.500 12.500 6',
  to: 'M3 8h10M9 4l4 4-4 4',
  from: 'M13 8H3M7 4 3 8l4 4',
};

// icon draws an icon of the page, hidden from screen readers.
export function icon(name) {
  return s('svg', { viewBox: '0 0 16 16', class: 'icon', 'aria-hidden': 'true' }, s('path', { d: shapes[name] }));
}

// button makes a button of text, or of an icon with a name.
export function button(text, props, sign) {
  const bare = props?.bare;
  const p = { type: 'button', ...props };
  delete p.bare;
  if (bare) { p['aria-label'] = text; p.title = text; p.class = 'bare ' + (p.class ?? ''); }
  return h('button', p, sign && icon(sign), !bare && text);
}

// problem shows an error, or a text that says what is wrong.
export const problem = (e) => h('p', { class: 'state bad block wrap', role: e.message ? 'alert' : null }, icon('bad'), e.message ?? String(e));

// warnings shows each text of a list, which may be missing.
export const warnings = (list) => (list ?? []).map((w) => h('p', { class: 'state wait block wrap' }, icon('warn'), w));

// alertLine is an empty line for errors, which screen readers read at once.
export const alertLine = () => h('p', { class: 'wrong', role: 'alert' });

// facts lists names and values, without those that have no value.
export const facts = (...list) => h('dl', { class: 'facts' }, list.filter((r) => r && r[1] !== undefined && r[1] !== '' && r[1] !== null && r[1] !== false).map(([k, v]) => [h('dt', null, k), h('dd', null, v)]));

// dialog shows a box over the page and returns it. It ends with box.close(), with
// Escape or with a click outside.
export function dialog(title, ...body) {
  const box = h('dialog', { class: 'box', 'aria-label': title, onclose: () => box.remove(), onclick: (e) => { if (e.target === box) box.close(); } }, h('h2', null, title), body);
  document.body.append(box);
  box.showModal();
  return box;
}

// announce passes text to screen readers.
export function announce(text) {
  const live = document.getElementById('live');
  live.textContent = '';
  setTimeout(() => { live.textContent = visible(text).slice(0, 300); }, 60);
}

export async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
    announce('Copied');
    if (from) { from.classList.add('done'); setTimeout(() => from.classList.remove('done'), 1200); }
  } catch {
    announce('The browser does not allow copying');
  }
}
export const copyButton = (text, name = 'Copy') => button(name, { class: name === 'Copy' ? 'small quiet' : 'small', onclick: (e) => copy(typeof text === 'function' ? text() : text, e.currentTarget) }, 'copy');

// Content that servers return, shown by its type. What cannot be shown is shown
// as JSON with the reason: one bad block never hides the others.

import { h, button, copyButton, icon, fill } from './dom.js';
import { ansi, coloured } from './ansi.js';
import { bytes, minus } from './format.js';
import { decode, picture, save, sound } from './links.js';
import { looksLikeMarkdown, markdown } from './markdown.js';
import { tree } from './json.js';
import { isNumber, parse, stringify } from './numbers.js';
import { isObject } from './schema.js';

// result shows the result of a tool call. Problem says what the host found
// wrong with it.
export function result(r, { onresource, problem } = {}) {
  const structured = r.structuredContent;
  const has = structured !== undefined && structured !== null;
  const list = Array.isArray(r.content) ? r.content : [];
  const blocks = list.filter((c) => !(has && repeats(c, structured)));
  const odd = r.content !== undefined && !Array.isArray(r.content);
  return h('div', { class: 'result' + (r.isError ? ' failed' : '') },
    r.isError && h('p', { class: 'state bad' }, icon('bad'), 'The tool reported an error.'),
    problem && h('p', { class: 'state bad block wrap' }, icon('warn'), 'This result breaks the protocol: ' + problem),
    has && data(structured),
    blocks.map((c) => block(c, onresource)),
    odd && unusable(r.content, 'content must be a list'),
    !has && !blocks.length && !odd && h('p', { class: 'soft' }, 'The tool returned nothing.'));
}

// failure shows an error: its text and, if there is any, its data.
export function failure(e) {
  const text = e.error ?? e.message ?? '';
  const code = e.code ? `error ${minus(e.code)}` : '';
  return h('div', { class: 'failure' }, h('p', { class: 'wrap' }, code && [h('code', { class: 'code' }, code), ' '], ansi(text)),
    e.data !== undefined && e.data !== null && [h('p', { class: 'label' }, 'Data of the error'), data(e.data)]);
}

// Servers repeat structured content as text for older clients.
function repeats(c, structured) {
  if (c?.type !== 'text' || typeof c.text !== 'string' || c.text.length > 100_000) return false;
  const all = isObject(structured) ? Object.values(structured) : [];
  if (all.length === 1 && scalar(all[0]) && String(all[0]) === c.text) return true;
  try { return stringify(parse(c.text)) === stringify(structured); } catch { return false; }
}

const wants = { text: ['text'], image: ['data', 'mimeType'], audio: ['data', 'mimeType'], resource_link: ['uri'] };

// wrong returns what is wrong with a block, or ''.
function wrong(c) {
  if (!isObject(c)) return 'a block must be an object';
  if (typeof c.type !== 'string') return 'a block needs a type';
  for (const k of wants[c.type] ?? []) if (typeof c[k] !== 'string') return `a block of type ${c.type} needs ${k}, a text`;
  if (c.type === 'resource' && !isObject(c.resource)) return 'a block of type resource needs resource, an object';
  return '';
}

const unusable = (c, why) => h('div', { class: 'part' }, h('p', { class: 'state bad block wrap' }, icon('warn'), `This block cannot be used: ${why}.`), tree(stringify(c) ?? 'undefined'));

export function block(c, onresource) {
  const why = wrong(c);
  if (why) return unusable(c, why);
  try { return known(c, onresource) ?? h('div', { class: 'part' }, h('p', { class: 'state wait block wrap' }, icon('warn'), `This page does not know blocks of type ${c.type}.`), tree(stringify(c))); } catch (e) { return unusable(c, e.message); }
}

function known(c, onresource) {
  switch (c.type) {
    case 'text': return text(c.text);
    case 'image': return framed(picture(c.mimeType, c.data, 'Picture from the server') ?? blob(c.mimeType, c.data, 'picture'), c);
    case 'audio': return framed(sound(c.mimeType, c.data) ?? blob(c.mimeType, c.data, 'audio'), c);
    case 'resource': return contents(c.resource);
    case 'resource_link':
      return h('div', { class: 'linkcard' }, icon('out'), h('div', null,
        onresource ? button(c.title || c.name || c.uri, { class: 'link', onclick: () => onresource(c.uri) }) : h('strong', null, c.title || c.name || c.uri),
        h('code', null, c.uri), c.description && h('span', { class: 'soft' }, c.description)));
    case 'tool_use': return h('div', { class: 'part' }, h('p', { class: 'soft' }, 'Wants to call ', h('code', null, c.name)), data(c.input ?? {}));
    case 'tool_result': return h('div', { class: 'part' }, h('p', { class: 'soft' }, 'Result of a call'), (c.content ?? []).map((x) => block(x)));
  }
  return null;
}

const framed = (el, c) => h('figure', null, el, h('figcaption', { class: 'soft' }, c.mimeType, c.data && ` · ${bytes(Math.floor(c.data.length * 3 / 4))}`));

const page = 20_000; // characters of a text that are drawn at once

// long shows a text piece by piece, so that a large one does not block the page.
export function long(t) {
  const pre = h('pre', { class: 'plain', tabindex: 0 });
  let shown = 0;
  const more = h('p', { class: 'soft' });
  const next = (size) => {
    const upTo = Math.min(t.length, shown + size);
    pre.append(ansi(t.slice(shown, upTo)));
    shown = upTo;
    fill(more, shown < t.length && [`The first ${bytes(shown)} of ${bytes(t.length)}. `, button('Show more', { class: 'small', onclick: () => next(page) }), ' ', button('Save', { class: 'small', onclick: () => save('text.txt', 'text/plain', t) })]);
  };
  next(page);
  return [pre, more];
}

// text shows text as JSON or Markdown if it is one, with a button for plain
// text.
export function text(t) {
  t = String(t ?? '');
  let rich = null;
  if (/^\s*[[{]/.test(t) && t.length < 100_000) { try { const v = parse(t); rich = () => pretty(v) ?? tree(t); } catch { /* it is text */ } }
  if (!rich && t.length < 200_000 && !coloured(t) && looksLikeMarkdown(t)) rich = () => markdown(t);
  const place = h('div', null, rich ? rich() : long(t));
  let shown = !!rich;
  const swap = rich && button('Plain', { class: 'small quiet', onclick: () => { shown = !shown; fill(place, shown ? rich() : long(t)); swap.textContent = shown ? 'Plain' : 'Formatted'; } });
  return h('div', { class: 'part' }, place, h('div', { class: 'tools' }, swap, copyButton(t)));
}

// data shows structured content: rows as a table, a flat object as pairs,
// everything else as JSON.
export function data(v) {
  const raw = () => tree(stringify(v));
  const nice = pretty(v);
  const tools = (swap) => h('div', { class: 'tools' }, swap, copyButton(() => stringify(v, 2)));
  if (!nice) return h('div', { class: 'part' }, raw(), tools());
  const place = h('div', null, nice);
  let shown = true;
  const swap = button('JSON', { class: 'small quiet', onclick: () => { shown = !shown; fill(place, shown ? pretty(v) : raw()); swap.textContent = shown ? 'JSON' : 'Formatted'; } });
  return h('div', { class: 'part' }, place, tools(swap));
}

const scalar = (v) => v === null || typeof v !== 'object' || isNumber(v);
const isRows = (v) => Array.isArray(v) && v.length > 0 && v.every((r) => isObject(r));

function pretty(v) {
  if (isRows(v)) return table(v);
  if (!isObject(v)) return null;
  const all = Object.entries(v);
  if (!all.length || all.length > 60) return null;
  // Rows with their columns named beside them, as databases give them.
  if (Array.isArray(v.columns) && Array.isArray(v.rows) && v.rows.every(Array.isArray)) {
    const names = v.columns.map((c) => isObject(c) ? c.name ?? stringify(c) : String(c));
    const rest = all.filter(([k]) => k !== 'columns' && k !== 'rows');
    return [cells(names, v.rows), rest.length ? pairs(rest) : null];
  }
  const lists = all.filter(([, x]) => isRows(x));
  const flat = all.filter(([, x]) => scalar(x));
  if (lists.length + flat.length === all.length && lists.length <= 3) {
    return [lists.map(([k, x]) => [h('p', { class: 'caption' }, k), table(x)]), flat.length ? pairs(flat) : null];
  }
  return null;
}

const clipped = (t) => t.length > 5000 ? [t.slice(0, 5000), h('span', { class: 'soft' }, ` … ${bytes(t.length)}`)] : t;
const pairs = (all) => h('dl', { class: 'pairs' }, all.map(([k, x]) => [h('dt', null, k), h('dd', null, x === null ? 'null' : typeof x === 'string' ? h('span', { class: 'wrap' }, clipped(x)) : String(x))]));

function table(rows) {
  const names = [];
  for (const r of rows.slice(0, 200)) for (const k of Object.keys(r)) if (!names.includes(k) && names.length < 40) names.push(k);
  return cells(names, rows, null, (r) => names.map((n) => r[n]));
}

const some = 100; // rows that are drawn at once

// cells shows rows as a table, a hundred at a time. Right says which columns are
// aligned right; without it those whose first values are numbers.
export function cells(names, rows, right, read = (r) => r) {
  const write = (x) => x === undefined ? '' : x === null ? h('span', { class: 'soft' }, 'null') : scalar(x) ? clipped(String(x)) : clipped(stringify(x));
  right ??= names.map((_, i) => rows.length && rows.slice(0, some).every((r) => isNumber(read(r)[i])));
  const body = h('tbody');
  const more = h('p', { class: 'soft' });
  let shown = 0;
  const next = () => {
    body.append(...rows.slice(shown, shown + some).map((r) => h('tr', null, read(r).map((x, i) => h('td', { class: right[i] || isNumber(x) ? 'num' : null }, write(x))))));
    shown = Math.min(rows.length, shown + some);
    fill(more, shown < rows.length && [`The first ${shown} of ${rows.length.toLocaleString('en')} rows. `, button('Show more', { class: 'small', onclick: next })]);
  };
  next();
  return h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Table' },
    h('table', null, h('thead', null, h('tr', null, names.map((n, i) => h('th', { scope: 'col', class: right[i] ? 'num' : null }, n)))), body), more);
}

// contents shows a resource.
export function contents(c) {
  const head = h('p', { class: 'caption' }, h('code', null, c.uri ?? ''), c.mimeType && [' ', h('span', { class: 'soft' }, c.mimeType)]);
  if (c.blob !== undefined) return h('div', { class: 'part' }, head, picture(c.mimeType, c.blob, c.uri) ?? sound(c.mimeType, c.blob) ?? blob(c.mimeType, c.blob, c.uri));
  return h('div', { class: 'part' }, head, c.mimeType === 'text/markdown' && String(c.text ?? '').length < 200_000 ? markdown(c.text ?? '') : text(c.text));
}

function blob(mime, base64, name) {
  const size = Math.floor((base64?.length ?? 0) * 3 / 4);
  return h('p', { class: 'soft' }, `${mime || 'bytes'}, ${bytes(size)}: not shown here. `,
    button('Save', { class: 'small', onclick: () => { try { save(name ?? 'file', 'application/octet-stream', decode((base64 ?? '').replace(/\s/g, ''))); } catch { /* not base64 */ } } }));
}

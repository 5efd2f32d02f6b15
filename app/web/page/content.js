// Content that servers return, shown by its type.

import { h, button, copyButton, icon, fill } from './dom.js';
import { bytes } from './format.js';
import { decode, picture, save, sound } from './links.js';
import { looksLikeMarkdown, markdown } from './markdown.js';
import { tree } from './json.js';
import { isObject } from './schema.js';

// result shows the result of a tool call.
export function result(r, { onresource } = {}) {
  const structured = r.structuredContent;
  const has = structured !== undefined && structured !== null;
  const blocks = (r.content ?? []).filter((c) => !(has && repeats(c, structured)));
  return h('div', { class: 'result' + (r.isError ? ' failed' : '') },
    r.isError && h('p', { class: 'state bad' }, icon('bad'), 'The tool reported an error.'),
    has && data(structured),
    blocks.map((c) => block(c, onresource)),
    !has && !blocks.length && h('p', { class: 'soft' }, 'The tool returned nothing.'));
}

// Servers repeat structured content as text for older clients.
function repeats(c, structured) {
  if (c.type !== 'text') return false;
  const all = isObject(structured) ? Object.values(structured) : [];
  if (all.length === 1 && scalar(all[0]) && String(all[0]) === c.text) return true;
  try { return JSON.stringify(JSON.parse(c.text)) === JSON.stringify(structured); } catch { return false; }
}

export function block(c, onresource) {
  switch (c?.type) {
    case 'text': return text(c.text);
    case 'image': return framed(picture(c.mimeType, c.data, 'Picture from the server') ?? blob(c.mimeType, c.data, 'picture'), c);
    case 'audio': return framed(sound(c.mimeType, c.data) ?? blob(c.mimeType, c.data, 'audio'), c);
    case 'resource': return contents(c.resource ?? {});
    case 'resource_link':
      return h('div', { class: 'linkcard' }, icon('out'), h('div', null,
        onresource ? button(c.title || c.name || c.uri, { class: 'link', onclick: () => onresource(c.uri) }) : h('strong', null, c.title || c.name || c.uri),
        h('code', null, c.uri), c.description && h('span', { class: 'soft' }, c.description)));
    case 'tool_use': return h('div', { class: 'part' }, h('p', { class: 'soft' }, 'Wants to call ', h('code', null, c.name)), data(c.input ?? {}));
    case 'tool_result': return h('div', { class: 'part' }, h('p', { class: 'soft' }, 'Result of a call'), (c.content ?? []).map((x) => block(x)));
  }
  return data(c);
}

const framed = (el, c) => h('figure', null, el, h('figcaption', { class: 'soft' }, c.mimeType, c.data && ` · ${bytes(Math.floor(c.data.length * 3 / 4))}`));

// text shows text as JSON or Markdown if it looks like one, with a button for
// plain text.
export function text(t) {
  t = String(t ?? '');
  const short = t.length > 200_000 ? t.slice(0, 200_000) : t;
  const plain = () => h('pre', { class: 'plain', tabindex: 0 }, short);
  let rich = null;
  if (/^\s*[[{]/.test(t) && t.length < 500_000) { try { rich = () => data(JSON.parse(t)); } catch { /* text after all */ } }
  if (!rich && looksLikeMarkdown(t)) rich = () => markdown(short);
  const place = h('div', null, rich ? rich() : plain());
  let shown = !!rich;
  const swap = rich && button('Plain', { class: 'small quiet', onclick: () => { shown = !shown; fill(place, shown ? rich() : plain()); swap.textContent = shown ? 'Plain' : 'Formatted'; } });
  return h('div', { class: 'part' }, place, t.length > short.length && h('p', { class: 'soft' }, `Only the beginning is shown; the text has ${bytes(t.length)}.`), h('div', { class: 'tools' }, swap, copyButton(t)));
}

// data shows structured content: rows as a table, a flat object as pairs,
// everything else as JSON.
export function data(v) {
  const raw = () => tree(JSON.stringify(v));
  const nice = pretty(v);
  if (!nice) return h('div', { class: 'part' }, raw(), h('div', { class: 'tools' }, copyButton(() => JSON.stringify(v, null, 2))));
  const place = h('div', null, nice);
  let shown = true;
  const swap = button('JSON', { class: 'small quiet', onclick: () => { shown = !shown; fill(place, shown ? pretty(v) : raw()); swap.textContent = shown ? 'JSON' : 'Formatted'; } });
  return h('div', { class: 'part' }, place, h('div', { class: 'tools' }, swap, copyButton(() => JSON.stringify(v, null, 2))));
}

const scalar = (v) => v === null || typeof v !== 'object';
const isRows = (v) => Array.isArray(v) && v.length > 0 && v.every((r) => isObject(r)) && v.length <= 5000;

function pretty(v) {
  if (isRows(v)) return table(v);
  if (!isObject(v)) return null;
  const all = Object.entries(v);
  if (!all.length || all.length > 60) return null;
  // Rows with their columns named beside them, as databases give them.
  if (Array.isArray(v.columns) && Array.isArray(v.rows) && v.rows.every(Array.isArray)) {
    const names = v.columns.map((c) => isObject(c) ? c.name ?? JSON.stringify(c) : String(c));
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

const pairs = (all) => h('dl', { class: 'pairs' }, all.map(([k, x]) => [h('dt', null, k), h('dd', null, x === null ? 'null' : typeof x === 'string' ? h('span', { class: 'wrap' }, x) : String(x))]));

function table(rows) {
  const names = [];
  for (const r of rows.slice(0, 200)) for (const k of Object.keys(r)) if (!names.includes(k) && names.length < 40) names.push(k);
  return cells(names, rows.map((r) => names.map((n) => r[n])));
}

function cells(names, rows) {
  const shown = rows.slice(0, 500);
  const write = (x) => x === undefined ? '' : x === null ? h('span', { class: 'soft' }, 'null') : scalar(x) ? String(x) : JSON.stringify(x);
  return h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Table' },
    h('table', null,
      h('thead', null, h('tr', null, names.map((n, i) => h('th', { scope: 'col', class: shown.length && shown.every((r) => typeof r[i] === 'number') ? 'num' : null }, n)))),
      h('tbody', null, shown.map((r) => h('tr', null, r.map((x) => h('td', { class: typeof x === 'number' ? 'num' : null }, write(x))))))),
    rows.length > shown.length && h('p', { class: 'soft' }, `The first ${shown.length} of ${rows.length} rows.`));
}

// contents shows a resource.
export function contents(c) {
  const head = h('p', { class: 'caption' }, h('code', null, c.uri ?? ''), c.mimeType && [' ', h('span', { class: 'soft' }, c.mimeType)]);
  if (c.blob !== undefined) return h('div', { class: 'part' }, head, picture(c.mimeType, c.blob, c.uri) ?? sound(c.mimeType, c.blob) ?? blob(c.mimeType, c.blob, c.uri));
  return h('div', { class: 'part' }, head, c.mimeType === 'text/markdown' ? markdown(c.text ?? '') : text(c.text));
}

function blob(mime, base64, name) {
  const size = Math.floor((base64?.length ?? 0) * 3 / 4);
  return h('p', { class: 'soft' }, `${mime || 'bytes'}, ${bytes(size)}: not shown here. `,
    button('Save', { class: 'small', onclick: () => { try { save(name ?? 'file', 'application/octet-stream', decode((base64 ?? '').replace(/\s/g, ''))); } catch { /* not base64 */ } } }));
}

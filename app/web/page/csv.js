// Comma-separated values (RFC 4180) as a table.

import { h } from './dom.js';
import { cells } from './content.js';

// parseCSV returns the rows of a text, or null if it is not well-formed.
function parseCSV(text, comma = ',') {
  const rows = [];
  let row = [], field = '', quoted = false, closed = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') { field += '"'; i++; } else { quoted = false; closed = true; }
    } else if (c === '"' && field === '' && !closed) quoted = true;
    else if (c === comma || c === '\n' || c === '\r') {
      row.push(field);
      field = '';
      closed = false;
      if (c === comma) continue;
      if (c === '\r' && text[i + 1] === '\n') i++;
      rows.push(row);
      row = [];
    } else if (c === '"' || closed) return null;
    else field += c;
  }
  if (quoted) return null;
  if (field !== '' || row.length || closed) rows.push([...row, field]);
  return rows;
}

const kinds = { 'text/csv': ',', 'text/tab-separated-values': '\t' };

// csv shows a resource of comma-separated values as a table; null if it is none.
export function csv(c) {
  const comma = kinds[String(c?.mimeType ?? '').toLowerCase().split(';')[0].trim()];
  if (!comma || typeof c.text !== 'string' || c.text.length > 2_000_000) return null;
  const rows = parseCSV(c.text, comma);
  if (!rows || rows.length < 2 || rows.some((r) => r.length !== rows[0].length)) return null;
  const [names, ...all] = rows;
  const number = names.map((_, i) => all.every((r) => /^-?[\d.,]*\d%?$/.test(r[i]) || r[i] === ''));
  return h('div', { class: 'part' }, h('p', { class: 'caption' }, h('code', null, c.uri ?? ''), ' ', h('span', { class: 'soft' }, c.mimeType)),
    cells(names, all, number),
    h('details', null, h('summary', null, 'Plain'), h('pre', { class: 'plain', tabindex: 0 }, c.text.slice(0, 200_000))));
}

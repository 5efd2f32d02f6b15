// Two texts side by side. Lines that differ are marked, and within them only the
// part that differs.

import { h, say } from './dom.js';
import { count } from './format.js';

const most = 1500; // lines to align; longer texts are compared line by line

// align pairs the lines of two texts: [a, b], where one may be undefined.
function align(a, b) {
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const out = a.slice(0, head).map((line) => [line, line]);
  out.push(...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)));
  for (let i = tail; i > 0; i--) out.push([a[a.length - i], a[a.length - i]]);
  return out;
}

function middle(a, b) {
  if (a.length > most || b.length > most) return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => [a[i], b[i]]);
  const w = b.length + 1;
  const common = new Uint16Array((a.length + 1) * w); // length of the longest common subsequence of the rests
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) common[i * w + j] = a[i] === b[j] ? common[(i + 1) * w + j + 1] + 1 : Math.max(common[(i + 1) * w + j], common[i * w + j + 1]);
  const out = [];
  let gone = [], come = [];
  const flush = () => { for (let k = 0; k < Math.max(gone.length, come.length); k++) out.push([gone[k], come[k]]); gone = []; come = []; };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { flush(); out.push([a[i++], b[j++]]); }
    else if (j >= b.length || i < a.length && common[(i + 1) * w + j] >= common[i * w + j + 1]) gone.push(a[i++]);
    else come.push(b[j++]);
  }
  flush();
  return out;
}

// pretty breaks a JSON text into lines, without changing a character of its
// values. What is not JSON stays as it is.
export function pretty(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  let out = '', depth = 0;
  const line = () => '\n' + '  '.repeat(Math.max(0, Math.min(depth, 40)));
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/gs)) {
    if (token === '{' || token === '[') { depth++; out += token + line(); }
    else if (token === '}' || token === ']') { depth--; out = /[{[]\s*$/.test(out) ? out.trimEnd() + token : out + line() + token; }
    else if (token === ',') out += token + line();
    else out += token === ':' ? ': ' : token;
  }
  return out;
}

// marked shows a line with the part marked that differs from another line.
function marked(line, other) {
  if (line === undefined) return '';
  if (other === undefined) return h('mark', null, say(line));
  let from = 0, to = 0;
  while (from < line.length && from < other.length && line[from] === other[from]) from++;
  while (to < line.length - from && to < other.length - from && line[line.length - 1 - to] === other[other.length - 1 - to]) to++;
  if (/[\udc00-\udfff]/.test(line[from] ?? '')) from--; // not within a character
  if (to && /[\udc00-\udfff]/.test(line[line.length - to])) to--;
  const mid = line.slice(from, line.length - to);
  return [say(line.slice(0, from)), mid && h('mark', null, say(mid)), say(line.slice(line.length - to))];
}

const shown = 2000; // pairs of lines

// sides shows two texts beside each other, with their names.
export function sides(a, b, aName, bName) {
  if (a === b) return h('p', { class: 'soft' }, 'Both are the same.');
  const pairs = align(a.split('\n'), b.split('\n'));
  const near = pairs.map(([x, y], i) => pairs.slice(Math.max(0, i - 3), i + 4).some(([p, q]) => p !== q));
  const rows = [];
  let skipped = 0;
  pairs.forEach(([x, y], i) => {
    if (!near[i] || rows.length > shown) { skipped++; return; }
    if (skipped) rows.push(h('tr', { class: 'gap' }, h('td', { colspan: 2 }, `… ${count(skipped, 'equal line')}`)));
    skipped = 0;
    rows.push(h('tr', { class: x === y ? null : 'differs' }, h('td', null, x === y ? say(x) : marked(x, y)), h('td', null, x === y ? say(y) : marked(y, x))));
  });
  if (skipped) rows.push(h('tr', { class: 'gap' }, h('td', { colspan: 2 }, `… ${count(skipped, rows.length > shown ? 'more line' : 'equal line')}`)));
  return h('div', { class: 'scroll diff', tabindex: 0, role: 'group', 'aria-label': `${aName} and ${bName}` }, h('table', null, h('thead', null, h('tr', null, h('th', { scope: 'col' }, aName), h('th', { scope: 'col' }, bName))), h('tbody', null, rows)));
}

// JSON as a tree. Pointing at a member shows its meaning in the revision of the
// message, and its problems.

import { h, say } from './dom.js';

const most = 4000; // lines

// tree formats a JSON text. The options are by JSON pointer: fields describes
// members, problems lists broken rules, changed marks differences.
export function tree(text, { fields, problems, changed, onpoint } = {}) {
  let value;
  try { value = JSON.parse(text); } catch { return h('pre', { class: 'json plain', tabindex: 0 }, text); }
  const at = { lines: 0, fields, problems, changed, onpoint };
  const pre = h('div', { class: 'json mono', role: 'group', 'aria-label': 'JSON' });
  write(pre, value, '', 0, '', '', at);
  if (at.lines > most) pre.append(h('p', { class: 'soft' }, `… cut after ${most} lines; copy it to see the rest.`));
  return pre;
}

const step = (k) => String(k).replace(/~/g, '~0').replace(/\//g, '~1');

function line(out, depth, pointer, at, ...children) {
  if (at.lines++ > most) return;
  const f = at.fields?.get(pointer);
  const bad = at.problems?.get(pointer);
  const el = h('div', { class: 'jline' + (bad ? ' bad' : '') + (at.changed?.has(pointer) ? ' changed' : '') + (f && !f.known ? ' own' : '') }, children);
  el.style.setProperty('--d', Math.min(depth, 30));
  if ((f || bad) && at.onpoint) {
    el.tabIndex = 0;
    el.classList.add('told');
    el.addEventListener('mouseenter', () => at.onpoint(f, bad, pointer));
    el.addEventListener('focus', () => at.onpoint(f, bad, pointer));
  }
  if (bad) el.append(h('span', { class: 'mark' }, ' ✕ ', bad.map((p) => p.rule).join(', ')));
  out.append(el);
}

function write(out, v, pointer, depth, key, comma, at) {
  if (at.lines > most) return;
  const name = key === '' ? null : [h('span', { class: 'k' }, key), ': '];
  if (v !== null && typeof v === 'object') {
    const list = Array.isArray(v);
    const all = Object.entries(v);
    const [open, close] = list ? ['[', ']'] : ['{', '}'];
    if (!all.length) { line(out, depth, pointer, at, name, open + close + comma); return; }
    line(out, depth, pointer, at, name, open);
    all.forEach(([k, x], i) => write(out, x, `${pointer}/${step(k)}`, depth + 1, list ? '' : JSON.stringify(k), i < all.length - 1 ? ',' : '', at));
    line(out, depth, '\u0000', at, close + comma);
    return;
  }
  const text = JSON.stringify(v);
  const short = text.length > 2000 ? [say(text.slice(0, 2000)), h('span', { class: 'soft' }, ` … ${text.length} characters`)] : say(text);
  line(out, depth, pointer, at, name, h('span', { class: v === null ? 'n' : typeof v === 'string' ? 's' : 'v' }, short), comma);
}

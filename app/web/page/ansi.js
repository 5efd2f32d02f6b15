// Text of terminals: colours and weights become elements with fixed classes,
// every other escape sequence is left out, and the rest is text.

import { h, say } from './dom.js';

const sequence = /\x1b(?:\[([0-9;:]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[@-Z\\-_])/g;
const any = /\x1b[[\]PX^_@-Z\\]/;
const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

// coloured reports whether a text has escape sequences.
export const coloured = (text) => any.test(text);

// bare returns a text without its escape sequences.
export const bare = (text) => String(text ?? '').replace(sequence, '');

// ansi returns a text as nodes.
export function ansi(text) {
  text = String(text ?? '');
  if (!any.test(text)) return say(text);
  const out = document.createDocumentFragment();
  let from = 0, style = {};
  const put = (to) => {
    if (to <= from) return;
    const cls = Object.values(style).filter(Boolean).join(' ');
    out.append(cls ? h('span', { class: cls }, text.slice(from, to)) : say(text.slice(from, to)));
  };
  let n = 0;
  for (const m of text.matchAll(sequence)) {
    if (++n > 20_000) break; // the rest is shown as escapes
    put(m.index);
    from = m.index + m[0].length;
    if (m[2] === 'm') style = restyle(style, m[1].split(/[;:]/).map(Number));
  }
  put(text.length);
  return out;
}

function restyle(old, codes) {
  const s = { ...old };
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i];
    if (c === 0) for (const k of Object.keys(s)) delete s[k];
    else if (c === 1) s.weight = 'a-bold';
    else if (c === 2) s.weight = 'a-dim';
    else if (c === 3) s.slant = 'a-italic';
    else if (c === 4) s.line = 'a-under';
    else if (c === 22) s.weight = '';
    else if (c === 23) s.slant = '';
    else if (c === 24) s.line = '';
    else if (c >= 30 && c <= 37) s.ink = 'a-' + names[c - 30];
    else if (c >= 90 && c <= 97) s.ink = 'a-' + names[c - 90];
    else if (c === 39) s.ink = '';
    else if (c === 38 || c === 48) { // 256 or true colours: the nearest of ours
      const [ink, used] = codes[i + 1] === 5 ? [indexed(codes[i + 2]), 2] : [nearest(codes[i + 2], codes[i + 3], codes[i + 4]), 4];
      if (c === 38) s.ink = ink;
      i += used;
    }
  }
  return s;
}

function indexed(n) {
  if (n < 16) return 'a-' + names[n % 8];
  if (n >= 232 || Number.isNaN(n)) return '';
  n -= 16;
  return nearest(Math.floor(n / 36) * 51, Math.floor(n / 6) % 6 * 51, n % 6 * 51);
}

function nearest(r, g, b) {
  const most = Math.max(r, g, b);
  if (!(most - Math.min(r, g, b) > 40)) return '';
  return 'a-' + names[(r > most * 0.6 ? 1 : 0) + (g > most * 0.6 ? 2 : 0) + (b > most * 0.6 ? 4 : 0)];
}

// How a call ended, or that it waits, in words that are the same in every view:
// ok, tool failed, invalid result, error −32602, cancelled, denied, waiting 12 s.

import { h, icon } from './dom.js';
import { minus } from './format.js';

const words = {
  ok: ['ok', 'ok', 'ok'], failed: ['tool failed', 'bad', 'bad'], invalid: ['invalid result', 'bad', 'bad'], error: ['error', 'bad', 'bad'], http: ['not sent', 'bad', 'bad'], lost: ['no answer', 'bad', 'bad'],
  cancelled: ['cancelled', 'off', 'off'], denied: ['denied', 'bad', 'off'], limited: ['limited', 'bad', 'warn'], input: ['input required', 'wait', 'ask'],
  proposed: ['proposed', 'wait', 'dots'], approval: ['waiting for you', 'wait', 'ask'],
};

// word returns the word, the tone and the icon of an outcome, with the code of an
// error. A call that waits has as fourth value since when, in milliseconds.
export function word(outcome, code, since) {
  if (outcome === 'waiting') return ['waiting ' + waited(since), 'wait', 'dots', since];
  if (code && outcome === 'error') return [`error ${minus(code)}`, 'bad', 'bad'];
  if (code && outcome === 'http') return [`HTTP ${code}`, 'bad', 'bad'];
  return words[outcome] ?? [outcome, '', 'off'];
}

// callWord returns the same for a call of the page or of a model.
export function callWord(c) {
  if (c.phase === 'running') return word('waiting', 0, c.at ? c.at / 1000 : Date.parse(c.sent));
  if (c.phase === 'waiting') return words.approval;
  if (c.phase === 'done' || c.result) return words[c.problem ? 'invalid' : c.result?.isError ? 'failed' : 'ok'];
  return word(c.phase === 'failed' ? 'error' : c.phase, c.code);
}

// waited returns how long something has been open.
function waited(since) {
  const s = Math.max(0, Math.floor((Date.now() - since) / 1000)) || 0;
  return s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h`;
}

// counting returns the text of a word; the seconds of one that waits count.
export const counting = ([text, , , since], before = '') => h('span', { 'data-since': since, 'data-before': since && before }, before, text);
setInterval(() => { for (const el of document.querySelectorAll('[data-since]')) el.textContent = `${el.dataset.before}waiting ${waited(el.dataset.since)}`; }, 1000);

// mark shows a word with its icon.
export const mark = (w, before) => h('span', { class: 'state ' + (w[1] || 'off') }, w[2] && icon(w[2]), counting(w, before));

// Keyboard shortcuts and their list.

import { h, button, dialog } from './dom.js';
import { remember } from './store.js';

const list = [
  ['1', 'Learn'], ['2', 'Servers'], ['3', 'Wire'], ['4', 'Chat'],
  ['/', 'Search or write in this view'],
  ['a', 'Go to the next question'],
  ['Esc', 'Close the open panel'],
  ['Ctrl Enter', 'Run the tool, or send'],
  ['↑ ↓', 'In the wire: previous or next message'],
  ['Enter', 'In the wire: open the message'],
  ['→ ←', 'In the wire: unfold or fold a call'],
  ['p', 'In the wire: go to the matching request or response'],
  ['Space', 'In the wire: pause or resume'],
  ['?', 'This list'],
];

const single = () => remember('keys') !== 'off';
const typing = (el) => el.matches('input:not([type=checkbox]),textarea,select,[contenteditable]');

export function keys(go) {
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    if (e.key === 'Escape' && e.target.matches('[data-search]')) { leave(e); return; }
    if (e.key === 'Escape') { document.dispatchEvent(new Event('shut')); return; }
    if (arrows(e)) return;
    if (!single() || typing(e.target) || document.querySelector('dialog[open]')) return;
    const f = { 1: () => go(''), 2: () => go('servers'), 3: () => go('wire'), 4: () => go('chat'), '?': help, '/': search, a: ask }[e.key];
    if (!f) return;
    e.preventDefault();
    f();
  });
}

// leave clears a search and leaves it.
function leave(e) {
  e.preventDefault();
  if (e.target.value) { e.target.value = ''; e.target.dispatchEvent(new Event('input', { bubbles: true })); }
  e.target.blur();
}

// arrows moves in the list or the table of the view: also from anywhere else in
// the page, unless the focus is on something that uses the keys itself.
function arrows(e) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (!step || typing(e.target) || document.querySelector('dialog[open]')) return false;
  const list = document.querySelector('main [data-arrows]');
  if (list && (list.contains(e.target) || e.target === document.body || e.target.id === 'main')) {
    const all = [...list.querySelectorAll('a')].filter((a) => a.checkVisibility());
    const at = all.includes(e.target) ? all.indexOf(e.target) : all.findIndex((a) => a.getAttribute('aria-current'));
    const next = all[Math.max(0, Math.min(all.length - 1, at + step))];
    if (!next) return false;
    e.preventDefault();
    next.focus();
    return true;
  }
  const table = document.querySelector('main .wiretable');
  if (!table || e.target !== document.body && e.target.id !== 'main') return false;
  e.preventDefault();
  table.focus();
  table.dispatchEvent(new KeyboardEvent('keydown', { key: e.key, bubbles: true, cancelable: true }));
  return true;
}

function search() { document.querySelector('main [data-search]')?.focus(); }

function ask() {
  const all = [...document.querySelectorAll('.ask')];
  all[(all.indexOf(document.activeElement?.closest('.ask')) + 1) % all.length]?.focus();
}

export function help() {
  const box = dialog('Keyboard',
    h('dl', { class: 'keys' }, list.map(([k, what]) => [h('dt', null, k.split(' ').map((one) => h('kbd', null, one))), h('dd', null, what)])),
    h('label', { class: 'tick' }, h('input', { type: 'checkbox', checked: single(), onchange: (e) => remember('keys', e.target.checked ? 'on' : 'off') }), 'Single-key shortcuts'),
    h('p', { class: 'soft' }, 'Tab reaches everything; Enter opens it.'),
    h('div', { class: 'actions' }, button('Close', { onclick: () => box.close() })));
}

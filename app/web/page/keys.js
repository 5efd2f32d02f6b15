// Keyboard shortcuts and their list.

import { h, button } from './dom.js';
import { remember } from './store.js';

const list = [
  ['1', 'Anatomy'], ['2', 'Wire'], ['3', 'Chat'],
  ['/', 'Search or write in this view'],
  ['a', 'Go to the next question'],
  ['Esc', 'Close the open panel'],
  ['Ctrl Enter', 'Run the tool, or send'],
  ['↑ ↓', 'In the wire: previous or next message'],
  ['Enter', 'In the wire: open the message'],
  ['p', 'In the wire: go to the matching request or response'],
  ['Space', 'In the wire: pause or resume'],
  ['?', 'This list'],
];

const single = () => remember('keys') !== 'off';
const typing = (el) => el.matches('input:not([type=checkbox]),textarea,select,[contenteditable]');

export function keys(go) {
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    if (e.key === 'Escape') { document.dispatchEvent(new Event('shut')); return; }
    if (!single() || typing(e.target) || document.querySelector('dialog[open]')) return;
    const f = { 1: () => go(''), 2: () => go('wire'), 3: () => go('chat'), '?': help, '/': search, a: ask }[e.key];
    if (!f) return;
    e.preventDefault();
    f();
  });
}

function search() { document.querySelector('main [data-search]')?.focus(); }

function ask() {
  const all = [...document.querySelectorAll('.ask')];
  all[(all.indexOf(document.activeElement?.closest('.ask')) + 1) % all.length]?.focus();
}

export function help() {
  const box = h('dialog', { class: 'box', 'aria-label': 'Keyboard' },
    h('h2', null, 'Keyboard'),
    h('dl', { class: 'keys' }, list.map(([k, what]) => [h('dt', null, k.split(' ').map((one) => h('kbd', null, one))), h('dd', null, what)])),
    h('label', { class: 'tick' }, h('input', { type: 'checkbox', checked: single(), onchange: (e) => remember('keys', e.target.checked ? 'on' : 'off') }), 'Single-key shortcuts'),
    h('p', { class: 'soft' }, 'Tab reaches everything; Enter opens it.'),
    h('div', { class: 'actions' }, button('Close', { onclick: () => box.close() })));
  box.addEventListener('close', () => box.remove());
  box.addEventListener('click', (e) => { if (e.target === box) box.close(); });
  document.body.append(box);
  box.showModal();
}

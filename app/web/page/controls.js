// Controls that the diagrams of Learn share.

import { h, button } from './dom.js';
import { state } from './store.js';

// playButton is the one button of a diagram that makes something happen.
export function playButton(text, onclick) {
  const b = button(text, { class: 'primary play', onclick: async () => {
    b.disabled = true;
    try { await onclick(); } finally { b.disabled = false; }
  } }, 'play');
  return b;
}

// numbers are the two numbers that every example adds.
export function numbers() {
  const field = (name, value) => h('label', { class: 'number' }, h('span', null, name), h('input', { type: 'number', step: 'any', value }));
  const a = field('a', '20'), b = field('b', '22');
  const value = (el) => Number(el.querySelector('input').value) || 0;
  return { el: h('span', { class: 'numbers', role: 'group', 'aria-label': 'Numbers to add' }, a, h('span', { 'aria-hidden': 'true' }, '+'), b), get: () => ({ a: value(a), b: value(b) }) };
}

// revisions is a choice among protocol versions.
export function revisions(list, onchange, label = 'Protocol version') {
  const pick = h('select', { 'aria-label': label, onchange: () => onchange?.(pick.value) }, list.map((r) => h('option', { value: r }, r)));
  return pick;
}

// legacy returns the revisions that begin with initialize.
export const legacy = () => state.revisions.slice(1);


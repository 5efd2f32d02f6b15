// Messages: the kinds there are, a call as a sequence, and how a conversation
// begins in either era. Every message shown has really passed.

import { h, fill } from './dom.js';
import { lifecycle } from './lifecycle.js';
import { sequence } from './sequence.js';
import { shapes } from './shapes.js';

const pages = { kinds: ['Kinds', shapes], call: ['A call', sequence], lifecycle: ['Lifecycles', lifecycle] };

let view;

export function show(parts, signal, frame) {
  view = { ...frame, signal, body: h('div', { class: 'learn-body' }), tabs: h('div', { class: 'segments sub', role: 'navigation', 'aria-label': 'Messages' }) };
  frame.head.append(view.tabs);
  draw(parts);
  return h('div', { class: 'scroll-page learn-page' }, frame.head, view.body);
}

export function move(parts) { draw(parts); }

function draw(parts) {
  const id = pages[parts[2]] ? parts[2] : 'kinds';
  view.end?.abort();
  view.end = new AbortController();
  view.signal.addEventListener('abort', () => view.end.abort(), { once: true });
  fill(view.tabs, Object.entries(pages).map(([key, [text]]) => h('a', { to: '/learn/messages/' + key, 'aria-current': key === id ? 'page' : null }, text)));
  fill(view.tools);
  fill(view.body, pages[id][1](view.end.signal, view.tools));
}

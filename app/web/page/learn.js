// Learn: what MCP is, in four diagrams that run on what really happens here.

import { h, fill } from './dom.js';
import * as anatomy from './anatomy.js';
import * as primitives from './primitives.js';
import * as messages from './messages.js';
import * as transport from './transport.js';

export const name = 'learn';
export const title = 'Learn';

const diagrams = { anatomy, primitives, messages, transport };
const titles = { anatomy: 'Anatomy', primitives: 'Primitives', messages: 'Messages', transport: 'Transport' };
const lead = {
  anatomy: 'The Model Context Protocol: who talks to whom. Everything is real: select a part to see what it is, or play a call and watch it travel.',
  primitives: 'What a server offers, who decides to use it, and what a server can ask for in return.',
  messages: 'What is said: a few kinds of JSON messages, in order.',
  transport: 'How messages travel: the same call, byte for byte, over three transports.',
};

let view = null;

// which returns the diagram of an address. Parts of the anatomy have addresses
// of their own.
const which = (parts) => parts[0] === 'learn' && diagrams[parts[1]] ? parts[1] : 'anatomy';

export function show(parts, signal) {
  const box = h('div', { class: 'learn' });
  view = { box, signal, open: '' };
  draw(parts);
  return box;
}

export function move(parts) { draw(parts); return true; }

function draw(parts) {
  const id = which(parts);
  const diagram = diagrams[id];
  if (view.open === id && diagram.move) { diagram.move(parts); return; }
  view.end?.abort();
  view.end = new AbortController();
  view.signal.addEventListener('abort', () => view.end.abort(), { once: true });
  view.open = id;
  const tools = h('div', { class: 'learn-tools' });
  const head = h('div', { class: 'page-head' }, h('h1', null, 'MCP connects a program to tools. Here it is, running.'), h('p', { class: 'soft' }, lead[id]),
    h('div', { class: 'learn-bar' }, h('div', { class: 'segments', role: 'navigation', 'aria-label': 'Diagrams' }, Object.entries(titles).map(([key, text]) => h('a', { to: key === 'anatomy' ? '/' : '/learn/' + key, 'aria-current': key === id ? 'page' : null }, text))), tools));
  fill(view.box, diagram.show(parts, view.end.signal, { head, tools }));
  document.title = titles[id] + ' – Tenon';
}

// The side panel of the anatomy: what a part is, with the values of this system.

import { h, button, facts } from './dom.js';
import { ago, count, millis } from './format.js';
import { recent } from './calls.js';
import { named } from './frames.js';
import { names } from './offers.js';
import { frame, panel } from './panel.js';
import { cards, detail, mostCards, rows, state } from './store.js';
import { usable } from './servers.js';
import { status } from './status.js';
import { mark } from './words.js';

// explain returns the panel of a part of the address, or an introduction.
export function explain(parts, signal, others) {
  const [kind, name] = parts;
  const own = { you, model, approval };
  if (own[kind]) return described(own[kind]());
  if (kind === 'tap' || kind === 'tapped') {
    const o = others.find((x) => String(x.conn) === name);
    if (o) return described(kind === 'tap' ? tap(o) : tapped(o));
  }
  const shown = panel(parts, signal);
  if (!shown) return intro();
  if (kind === 'client' || kind === 'connection' || kind === 'server') shown.el.append(lastCalls(name));
  return shown;
}

const described = ([role, title, what, ...body]) => frame(role, title, h('p', { class: 'what' }, what), body);

// intro says how the parts fit together, and counts what is offered here.
function intro() {
  const totals = h('div', { class: 'totals' });
  const el = h('section', { class: 'panel intro', 'aria-label': 'How it fits together' }, h('h2', null, 'How it fits together'),
    h('dl', { class: 'lesson' },
      h('dt', null, 'Host'), h('dd', null, 'The program you use. It has the conversation, your approvals, and a client for each server.'),
      h('dt', null, 'Client'), h('dd', null, 'One connection to one server. If that server hangs or lies, only this client is affected.'),
      h('dt', null, 'Server'), h('dd', null, 'A program that offers tools, resources and prompts. It sees only what its client sends.')),
    h('h3', null, 'What the servers offer here'), totals,
    h('h3', null, 'Then'), h('p', { class: 'soft' }, h('a', { to: '/learn/primitives' }, 'Primitives'), ' shows who decides to use what, ', h('a', { to: '/learn/messages' }, 'Messages'), ' what is said, and ', h('a', { to: '/learn/transport' }, 'Transport'), ' how it travels.'));
  count3(totals);
  return { el, refresh: () => count3(totals) };
}

async function count3(place) {
  const sum = { tools: 0, resources: 0, prompts: 0 };
  for (const one of state.servers.values()) {
    const d = usable(one) ? await detail(one.name).catch(() => null) : null;
    if (d) { sum.tools += d.tools.length; sum.resources += d.resources.length + d.templates.length; sum.prompts += d.prompts.length; }
  }
  const row = (kind, text, who) => h('p', { class: 'offer ' + kind }, h('strong', null, text), h('span', { class: 'soft' }, who));
  place.replaceChildren(row('tools', count(sum.tools, 'tool'), 'the model decides to call them'), row('resources', count(sum.resources, 'resource'), 'the application reads them'), row('prompts', count(sum.prompts, 'prompt'), 'the person chooses them'));
}

function you() {
  return ['A person', 'You', 'You give the task, you approve what is called, and servers can ask you questions through the host. No server talks to you directly.',
    facts(['Open questions', state.asks.size || 'none'], ['Muted servers', state.muted.size || ''], ['Sessions', state.sessions.length || 'none yet']),
    h('div', { class: 'actions' }, h('a', { class: 'button', to: '/chat' }, 'Open the chat'))];
}

function model() {
  const m = state.model, none = !m || m.provider === 'none';
  const asked = [...cards.values()];
  return ['Part of the host', 'Model', 'The model reads the conversation and the list of tools, and decides which tool to call with which arguments. It never reaches a server: it asks the host, and the host asks you.',
    facts(['Model', none ? 'none connected' : `${m.provider}/${m.name}`], ['Instead', none && 'your words are matched to a tool'], ['Calls it asked for', asked.length < mostCards ? asked.length || 'none on this page yet' : mostCards + ' or more'], ['Last', asked.length ? h('code', null, asked.at(-1).server + '/' + asked.at(-1).tool) : '']),
    h('div', { class: 'actions' }, h('a', { class: 'button', to: '/chat' }, 'Open the chat'))];
}

function approval() {
  const open = [...state.asks.values()];
  const done = [...cards.values()].filter((c) => c.rule);
  return ['Part of the host', 'Your approval', 'Before a call of the model reaches a server, a rule allows it, a rule denies it, or you are asked. A server cannot skip this: the host is between it and the model.',
    facts(['Waiting for you', open.length || 'nothing'], ['Last decision', done.length ? [h('code', null, done.at(-1).server + '/' + done.at(-1).tool), ' ', done.at(-1).rule] : 'none on this page yet']),
    open.length ? h('div', { class: 'actions' }, button('Go to the question', { class: 'primary', onclick: () => document.querySelector('#tray .ask')?.focus() }, 'ask')) : null];
}

const version = (i) => i ? `${i.title || i.name} ${i.version ?? ''}` : 'not reported';

function tap(o) {
  return ['Another host', o.host?.title || o.host?.name || 'Some host', 'A program on this machine that is not Tenon. It starts its server through tenon tap, which passes every message on and copies it to this page. It cannot be controlled from here.',
    facts(['Reports as', version(o.host)], ['Uses', version(o.info)], ['Protocol version', o.revision], ['State', o.ended ? 'ended' : 'running for ' + ago(o.since)]), messagesOf(o.server)];
}

function tapped(o) {
  const { main, sub } = names(o.server, o.info);
  return ['Server of another host', main, 'This server belongs to another host. Its messages are seen, but nothing can be sent to it from here.',
    facts(['Reports as', version(o.info)], ['In the messages', sub && h('code', null, o.server)], ['Host', o.host?.title || o.host?.name], ['Protocol version', o.revision], ['Calls', `${o.calls}, ${o.errors ? count(o.errors, 'error') : 'none failed'}`]), messagesOf(o.server)];
}

const messagesOf = (server) => h('div', { class: 'actions' }, h('a', { class: 'button', to: '/wire/all/' + encodeURIComponent(server) }, 'Show its messages'));

// lastCalls lists the latest calls of a server.
function lastCalls(server) {
  const place = h('div', { class: 'last-calls' });
  recent(40).then((all) => {
    const own = all.filter((m) => m.server === server).slice(0, 3);
    if (!own.length) return;
    place.append(h('h3', null, 'Latest calls'), h('ul', null, own.map((m) => h('li', null, h('a', { to: '/wire/' + m.joins }, h('code', null, named(rows.get(m.joins) ?? m)), mark(status(m)), h('span', { class: 'soft' }, millis(m.ms)))))));
  });
  return place;
}

// The lifecycle of a legacy session and of a modern exchange side by side, from
// two connections that are really opened.

import { h, fill, icon, problem } from './dom.js';
import * as api from './api.js';
import { bytes, millis } from './format.js';
import { named, outcome } from './frames.js';
import { legacy, numbers, playButton, revisions } from './controls.js';
import { tree } from './json.js';
import { state } from './store.js';
import { Player } from './travel.js';

const about = {
  initialize: ['Open', 'The client names itself, what it can do, and the version it wants.', 'The server answers with the version to use and what it offers. A session has begun.'],
  'notifications/initialized': ['Open', 'The client is ready. Before this, nothing may be called.'],
  'logging/setLevel': ['Open', 'The session remembers which log messages the client wants.', 'Done.'],
  'server/discover': ['Look', 'The client may ask what the server is and which versions it speaks. Nothing is remembered: this can be left out.', 'Versions and offers. No session begins.'],
  'tools/call': ['Use', 'The call. In a session, the server knows who calls; without one, _meta says it each time.', 'The result.'],
};

export function lifecycle(signal, tools) {
  const modern = state.revisions[0];
  const pick = numbers();
  const cols = { legacy: column('A session', 'Up to 2025-11-25: both sides remember each other.'), modern: column('An exchange', 'Since 2026-07-28: each request says everything itself.') };
  const choice = revisions(legacy(), () => play(), 'Protocol version of the session');
  cols.legacy.head.append(choice);
  cols.modern.head.append(h('span', { class: 'soft mono' }, modern));
  const player = new Player({ label: 'Both lifecycles', signal, show: (s) => { for (const el of document.querySelectorAll('.life li')) if (el.classList.toggle('active', el.dataset.seq === String(s.seq))) el.scrollIntoView({ block: 'nearest' }); } });
  const play = async () => {
    try {
      const old = await api.post('learn/run', { example: 'tool', ...pick.get(), revision: choice.value });
      const now = await api.post('learn/run', { example: 'tool', ...pick.get(), revision: modern });
      if (signal.aborted) return;
      cols.legacy.fill(old, 'The connection is closed, and the session with it.');
      cols.modern.fill(now, 'There is nothing to close: the server has nothing to forget.');
      player.load([...old.messages, ...now.messages].map((m) => ({ seq: m.seq, title: m.sent ? 'Client' : 'Server', text: label(m), code: true })), `Two connections to calc, opened just now: ${old.revision} with ${old.messages.length} messages, ${now.revision} with ${now.messages.length}.`);
      player.play();
    } catch (e) { fill(cols.legacy.list, problem(e)); }
  };
  tools.append(playButton('Play both', play), pick.el);
  return [h('div', { class: 'lives' }, cols.legacy.el, cols.modern.el), player.el];
}

const label = (m) => m.kind === 'response' || m.kind === 'error' ? `${m.method === 'tools/call' ? outcome(m.frame, 40) : 'result of ' + m.method}` : named(m);

function column(title, text) {
  const head = h('div', { class: 'life-head' }, h('h2', null, title));
  const list = h('ol', { class: 'life' }, h('li', { class: 'nothing soft' }, 'Press Play to open a connection.'));
  return {
    head, list, el: h('section', { class: 'lifebox', 'aria-label': title }, head, h('p', { class: 'soft' }, text), h('div', { class: 'life-lanes', 'aria-hidden': 'true' }, h('span', null, 'Client'), h('span', null, 'Server')), list),
    fill(run, end) {
      let phase = '';
      fill(list, run.messages.map((m) => {
        const [name, ask, answer] = about[m.method] ?? ['', ''];
        const li = h('li', { class: m.sent ? 'sent' : 'got' }, name !== phase && h('span', { class: 'life-phase' }, phase = name),
          h('details', null, h('summary', null, h('span', { class: 'life-arrow' }, icon(m.sent ? 'to' : 'from')), h('span', { class: 'mono' }, label(m)), h('span', { class: 'soft life-size' }, bytes(m.size), m.ms ? ', ' + millis(m.ms) : '')), tree(m.frame)),
          h('p', { class: 'soft' }, m.sent ? ask : answer ?? ''));
        li.dataset.seq = m.seq;
        return li;
      }), h('li', { class: 'life-end soft' }, h('span', { class: 'life-phase' }, 'Close'), end));
    },
  };
}

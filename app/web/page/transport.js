// Transport: one call over stdio, over HTTP with a JSON response and over HTTP
// with an event stream. The bytes are those that a server in this process has
// just read and written.

import { h, fill, icon, problem } from './dom.js';
import * as api from './api.js';
import { bytes, count, millis } from './format.js';
import { numbers, playButton, revisions } from './controls.js';
import { state } from './store.js';
import { Player } from './travel.js';

const kinds = {
  stdio: { title: 'stdio', where: 'A program on this machine', text: 'The host starts the server and writes to its standard input. One message, one line.' },
  http: { title: 'HTTP, JSON', where: 'A server anywhere', text: 'Each message is the body of a POST. If there is just one result, the response is JSON.' },
  stream: { title: 'HTTP, event stream', where: 'A server with more to say', text: 'The client asked for progress, so the server answers with events: first progress, then the result.' },
};

export function show(parts, signal, { head, tools }) {
  const pick = numbers();
  const choice = revisions(state.revisions.filter((r) => r !== '2024-11-05'), () => play());
  const place = h('div', { class: 'carried' }, Object.entries(kinds).map(([id, k]) => column(id, k, null)));
  const player = new Player({ label: 'The same call, three times', signal, show: (s) => { for (const el of place.querySelectorAll('.piece')) if (el.classList.toggle('active', el.dataset.step === s.id)) el.scrollIntoView({ block: 'nearest' }); } });
  const play = async () => {
    try {
      const got = await api.post('learn/transports', { ...pick.get(), revision: choice.value });
      if (signal.aborted) return;
      fill(place, got.runs.map((r) => column(r.transport, kinds[r.transport], r)));
      player.load(got.runs.flatMap((r) => r.pieces.map((p, i) => ({ id: `${r.transport}-${i}`, title: kinds[r.transport].title, text: p.sent ? `request, ${bytes(size(p.text))}` : `response after ${millis(p.us / 1000)}`, code: true }))), `Three calls of add, made just now; each returned ${[...new Set(got.runs.map((r) => r.result))].join(', ')}.`);
      player.play();
    } catch (e) { fill(place, problem(e)); }
  };
  tools.append(playButton('Play the same call three times', play), pick.el, choice);
  return h('div', { class: 'scroll-page learn-page' }, head, h('p', { class: 'soft legend' }, h('span', { class: 'key message-key' }), 'the JSON-RPC message: the same everywhere ', h('span', { class: 'key frame-key' }), 'what the transport adds'), place, player.el,
    h('p', { class: 'soft legend' }, 'Server and client run in this process. The lines pass through pipes of the system, as with a child process; HTTP passes through a socket on 127.0.0.1.'));
}

const size = (text) => new TextEncoder().encode(text).length;

function column(id, k, run) {
  const parsed = (run?.pieces ?? []).map((p) => parts(p.text));
  const inside = parsed.flat().filter((s) => s.kind === 'message').reduce((n, s) => n + size(s.text), 0);
  const total = (run?.pieces ?? []).reduce((n, p) => n + size(p.text), 0);
  return h('section', { class: 'carrier', 'aria-label': k.title }, h('h2', null, k.title), h('p', { class: 'soft where' }, k.where), h('p', null, k.text),
    run ? h('dl', { class: 'facts' }, h('dt', null, 'Result'), h('dd', { class: 'mono' }, run.result), h('dt', null, 'Time'), h('dd', null, millis(run.ms)), h('dt', null, 'Messages'), h('dd', null, bytes(inside)), h('dt', null, 'Around them'), h('dd', null, bytes(total - inside))) : h('p', { class: 'nothing soft' }, 'Press Play to make the call.'),
    (run?.pieces ?? []).map((p, i) => {
      const el = h('div', { class: 'piece' }, h('p', { class: 'caption' }, icon(p.sent ? 'to' : 'from'), p.sent ? ' to the server' : ' from the server', h('span', { class: 'soft' }, ` ${count(size(p.text), 'byte')}`)), h('pre', { class: 'bytes', tabindex: 0, 'aria-label': `${k.title}: ${p.sent ? 'request' : 'response'}` }, parsed[i].map((s) => h('span', { class: 'b-' + s.kind }, s.text))));
      el.dataset.step = `${id}-${i}`;
      return el;
    }));
}

// parts divides bytes into messages and what is around them. Line ends that
// the transport needs are shown.
function parts(text) {
  const out = [];
  let head = /^(POST|GET|HTTP)/.test(text);
  for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    const body = line.replace(/\r?\n$/, ''), end = line.slice(body.length);
    const mark = end === '\r\n' ? '\\r\\n\n' : end ? '\\n\n' : '';
    if (head) {
      const colon = body.indexOf(':');
      if (colon > 0 && !/^(POST|GET|HTTP)/.test(body)) out.push({ kind: 'name', text: body.slice(0, colon + 1) }, { kind: 'value', text: body.slice(colon + 1) });
      else out.push({ kind: 'start', text: body });
      out.push({ kind: 'end', text: mark });
      if (!body) head = false;
      continue;
    }
    const data = /^data: ?/.exec(body)?.[0] ?? '';
    const rest = body.slice(data.length);
    if (data) out.push({ kind: 'frame', text: data });
    if (/^[[{]/.test(rest)) out.push({ kind: 'message', text: rest }); else if (rest) out.push({ kind: 'frame', text: rest });
    out.push({ kind: 'end', text: mark });
  }
  return out;
}

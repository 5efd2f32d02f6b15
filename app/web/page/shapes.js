// The kinds of messages: request, result, notification, error and batch, each
// one that just passed, explained member by member.

import { h, button, fill, icon, problem } from './dom.js';
import * as api from './api.js';
import { bytes, clock } from './format.js';
import { step } from './json.js';
import { numbers, playButton } from './controls.js';
import { Player } from './travel.js';

const kinds = [
  { id: 'request', title: 'Request', kind: 'request', text: 'Asks for something. It has an id, and exactly one response comes back with the same id.', example: 'tool', take: (m) => m.kind === 'request' && m.method === 'tools/call' },
  { id: 'result', title: 'Result', kind: 'response', text: 'The response if all went well. The id says which request it belongs to.', example: 'tool', take: (m) => m.kind === 'response' && m.method === 'tools/call' },
  { id: 'notification', title: 'Notification', kind: 'notification', text: 'Tells something and wants no response: it has no id.', example: 'logging', take: (m) => m.kind === 'notification' && m.method === 'notifications/message' },
  { id: 'error', title: 'Error', kind: 'error', text: 'The response if the request could not be served. A tool that fails is no error: its result says isError, so that the model can read why.', example: 'error', take: (m) => m.kind === 'error' },
  { id: 'batch', title: 'Batch', kind: 'batch', text: 'Several messages in one array. Only revision 2025-03-26 has them.', example: 'batch', take: (m) => m.kind === 'batch' && m.sent },
];

// What JSON-RPC says about its own members, which the schemas leave out.
const basics = {
  jsonrpc: 'The version of JSON-RPC; always 2.0.', id: 'Chosen by the sender of a request. The response has the same.', method: 'What is asked for or told.', params: 'The arguments of the method.',
  result: 'What the method returns.', error: 'Why there is no result.', code: 'A number for programs.', message: 'A sentence for people.', data: 'More about it.',
};

export function shapes(signal, tools) {
  const found = new Map();
  const pick = numbers();
  const place = h('div', { class: 'shape' });
  const tabs = h('div', { class: 'shape-tabs', role: 'group', 'aria-label': 'Kind of message' });
  let now = 'request';
  const choose = (id) => { now = id; draw(); };
  const draw = () => {
    fill(tabs, kinds.map((k) => button(k.title, { 'aria-pressed': String(k.id === now), class: found.has(k.id) ? '' : 'empty-kind', onclick: () => choose(k.id) })));
    open(place, kinds.find((k) => k.id === now), found.get(now), signal);
  };
  const player = new Player({ label: 'Five messages', signal, show: (s) => choose(s.id) });
  const play = async () => {
    try {
      const runs = {};
      for (const example of ['tool', 'logging', 'error', 'batch']) runs[example] = await api.post('learn/run', { example, ...pick.get() });
      for (const k of kinds) { const m = runs[k.example].messages.find(k.take); if (m) found.set(k.id, m.seq); }
    } catch (e) { fill(place, problem(e)); return; }
    player.load(kinds.filter((k) => found.has(k.id)).map((k) => ({ id: k.id, title: k.title, text: `message ${found.get(k.id)}`, code: true })), 'Five messages that have just passed between a client and the servers calc and demo.');
    player.play();
  };
  tools.append(playButton('Play one of each', play), pick.el);
  latest(found).then(() => { if (!signal.aborted) draw(); });
  draw();
  return [tabs, place, player.el];
}

// latest finds the latest message of each kind in the log. Calls come first.
async function latest(found) {
  for (const k of kinds) {
    const method = k.kind === 'request' || k.kind === 'response' ? '&method=tools/call' : '';
    const got = await api.get(`wire?limit=1&kind=${k.kind}${method}`).catch(() => null);
    if (got?.messages.length && !found.has(k.id)) found.set(k.id, got.messages[0].seq);
  }
}

async function open(place, k, seq, signal) {
  place.kind = k;
  const head = h('p', { class: 'shape-text' }, h('strong', null, k.title), ' ', k.text);
  if (!seq) { fill(place, head, h('p', { class: 'nothing soft' }, `No ${k.title.toLowerCase()} has passed yet. Press Play to make one.`)); return; }
  let m;
  try { m = await api.get('wire/' + seq); } catch (e) { m = e; }
  if (signal.aborted || place.kind !== k) return; // another kind was chosen meanwhile
  if (m instanceof Error) { fill(place, head, problem(m)); return; }
  const s = m.summary;
  const fields = new Map((m.fields ?? []).map((f) => [f.pointer, f]));
  let value;
  try { value = JSON.parse(m.frame); } catch { value = m.frame; }
  fill(place, head, h('p', { class: 'soft shape-meta' }, icon(s.sent ? 'to' : 'from'), ` ${s.sent ? 'to' : 'from'} ${s.server} at ${clock(s.at)}, ${bytes(s.size)}, ${s.revision ?? ''} `, h('a', { to: '/wire/' + seq }, 'Open it in Wire')),
    h('div', { class: 'members' }, h('p', { class: 'mono brace' }, Array.isArray(value) ? '[' : '{'), members(value, '', fields), h('p', { class: 'mono brace' }, Array.isArray(value) ? ']' : '}')));
}

// members returns each member with what it means; objects one level down too.
function members(value, pointer, fields, depth = 0) {
  return Object.entries(value).flatMap(([key, v]) => {
    const at = `${pointer}/${step(key)}`;
    const inside = v !== null && typeof v === 'object' && depth < 2 && (depth === 0 || JSON.stringify(v).length > 60) && Object.keys(v).length;
    const f = fields.get(at);
    const text = f?.text || (depth < 2 ? basics[key] : '') || (Array.isArray(value) ? 'One message of the batch.' : '');
    const name = Array.isArray(value) ? '' : `"${key}": `;
    const row = h('div', { class: 'member' }, h('div', { class: 'mono wrap source' }, h('span', { class: 'k' }, name), inside ? (Array.isArray(v) ? '[' : '{') : h('span', { class: typeof v === 'string' ? 's' : 'v' }, JSON.stringify(v))), h('div', { class: 'meaning' }, text));
    row.style.setProperty('--d', depth);
    if (!inside) return [row];
    const end = h('div', { class: 'member' }, h('div', { class: 'mono source' }, Array.isArray(v) ? ']' : '}'), h('div'));
    end.style.setProperty('--d', depth);
    return [row, ...members(v, at, fields, depth + 1), end];
  });
}

// A call as a sequence: you, the model, the host, the client, the server. The
// arrows are what really happened, in order; those that are messages of MCP are
// solid and lead to the message.

import { h, button, fill, icon, problem } from './dom.js';
import * as api from './api.js';
import { bytes, millis } from './format.js';
import { args, named, outcome } from './frames.js';
import { numbers, playButton } from './controls.js';
import { detail, on, rows, state, turns } from './store.js';
import { usable } from './servers.js';
import { Player } from './travel.js';

const lanes = ['You', 'Model', 'Host', 'Client', 'Server'];
const [YOU, MODEL, HOST, CLIENT, SERVER] = [1, 2, 3, 4, 5];

export function sequence(signal, tools) {
  const pick = numbers();
  const list = h('ol', { class: 'arrows' });
  const note = h('p', { class: 'soft', role: 'status' });
  let mode = 'you';
  const modes = h('div', { class: 'segments', role: 'group', 'aria-label': 'Who decides' });
  const player = new Player({ label: 'The call', signal, show: (s, animate, i) => [...list.children].forEach((li, n) => { li.classList.toggle('later', n > i); li.classList.toggle('active', n === i); }) });
  const show = (arrows, caption) => {
    fill(list, arrows.map(arrow));
    player.load(arrows.map((a) => ({ title: lanes[a.from - 1] + (a.to === a.from ? '' : ' to ' + lanes[a.to - 1].toLowerCase()), text: a.label, code: !!a.seq })), caption);
  };
  const choose = (m) => {
    mode = m;
    fill(modes, [['you', 'You call it'], ['model', 'The model calls it']].map(([id, text]) => button(text, { 'aria-pressed': String(id === mode), onclick: () => choose(id) })));
    note.textContent = '';
  };
  const play = async () => {
    note.textContent = '';
    try {
      if (mode === 'you') {
        const n = pick.get();
        const run = await api.post('learn/run', { example: 'tool', ...n });
        if (signal.aborted) return;
        show(direct(run, n), `One call to calc, made just now. It took ${millis(run.ms)}; shown slowly.`);
        player.play();
      } else await asModel(pick.get(), { signal, show, note, player });
    } catch (e) { fill(list, h('li', null, problem(e))); }
  };
  choose('you');
  tools.append(playButton('Play a call', play), modes, pick.el);
  fill(list, h('li', { class: 'nothing soft' }, 'Press Play to make a call and see who says what to whom.'));
  return [note, h('div', { class: 'lanes' }, h('div', { class: 'lane-names', 'aria-hidden': 'true' }, lanes.map((l) => h('span', { class: 'lane-' + l.toLowerCase() }, l))), list), player.el,
    h('p', { class: 'soft legend' }, h('span', { class: 'key solid' }), 'a message of MCP, on the wire ', h('span', { class: 'key dashed' }), 'inside the host, or between you, the model and the host')];
}

function arrow(a) {
  const li = h('li', { class: (a.to > a.from ? 'right' : a.to < a.from ? 'left' : 'self') + (a.seq ? ' wire' : '') + (a.bad ? ' bad' : '') },
    h('span', { class: 'unseen' }, `${lanes[a.from - 1]} to ${lanes[a.to - 1]}: `), h('span', { class: 'arrow-label' }, a.seq ? h('a', { to: '/wire/' + a.seq }, a.label) : a.label, a.more && h('span', { class: 'soft' }, a.more)));
  li.style.setProperty('--from', Math.min(a.from, a.to) * 2);
  li.style.setProperty('--to', Math.max(a.from, a.to) * 2);
  return li;
}

// direct returns the arrows of a call that you make yourself.
function direct(run, n) {
  const asked = run.messages.find((m) => m.kind === 'request' && m.method === 'tools/call');
  const got = run.messages.find((m) => m.joins === asked.seq);
  return [{ from: YOU, to: HOST, label: `add ${n.a} and ${n.b}`, more: ' you pressed Play: that is the approval' }, { from: HOST, to: CLIENT, label: 'call add' }, ...passed(asked, got), { from: HOST, to: YOU, label: outcome(got.frame) }];
}

function passed(asked, got) {
  return [{ from: CLIENT, to: SERVER, label: named(asked), more: ` ${args(asked.frame)}, id ${asked.id}, ${bytes(asked.size)}`, seq: asked.seq },
    { from: SERVER, to: CLIENT, label: outcome(got.frame), more: ` id ${got.id}, ${bytes(got.size)}, ${millis(got.ms)}`, seq: got.seq, bad: got.kind === 'error' },
    { from: CLIENT, to: HOST, label: 'result' }];
}

// asModel has a short real conversation in which the model makes the call.
async function asModel(n, { signal, show, note, player }) {
  let server = '';
  for (const one of state.servers.values()) if (!server && usable(one) && (await detail(one.name).catch(() => null))?.tools.some((t) => t.name === 'add')) server = one.name;
  if (!server) { note.textContent = 'No server here has a tool named add, so the model could not call it. Choose "You call it", or start tenon up with its samples.'; return; }
  const text = `add ${n.a} and ${n.b}`;
  const session = await api.post('sessions');
  const from = rows.list.at(-1)?.seq ?? 0;
  await api.post(`sessions/${session.id}/send`, { text });
  const end = new AbortController();
  signal.addEventListener('abort', () => end.abort());
  fill(note, icon('ask'), ' The model has been asked. If a question appears at the edge of the page, answer it: that is your approval.');
  let drawing = false;
  const draw = async () => {
    const events = turns.get(session.id) ?? [];
    if (drawing || !events.some((e) => e.kind === 'done') || signal.aborted) return;
    drawing = true;
    end.abort();
    show(await conversation(text, events, from), ['This is a real conversation. ', h('a', { to: '/chat/' + session.id }, 'Open it in Chat')]);
    note.textContent = '';
    player.play();
  };
  on('chat', draw, end.signal);
  on('sessions', draw, end.signal);
}

// conversation returns the arrows of a turn: its events and its messages.
async function conversation(text, events, from) {
  const model = state.model && state.model.provider !== 'none' ? state.model.name : 'keywords';
  const all = [{ from: YOU, to: HOST, label: text }, { from: HOST, to: MODEL, label: 'the conversation and the tools', more: ` to ${model}` }];
  const seen = new Set();
  let words = '';
  for (const e of events) {
    if (e.kind === 'text') words += e.text;
    if (e.kind !== 'tool') continue;
    const c = e.call, key = c.id + c.phase;
    if (seen.has(key)) continue;
    seen.add(key);
    if (c.phase === 'proposed') { all.push({ from: MODEL, to: HOST, label: `call ${c.server}/${c.tool}`, more: ' ' + args(JSON.stringify({ params: { arguments: c.arguments } })) }); words = ''; }
    if (c.phase === 'waiting') all.push({ from: HOST, to: YOU, label: 'Allow this call?' });
    if (c.phase === 'running') { if (seen.has(c.id + 'waiting')) all.push({ from: YOU, to: HOST, label: c.rule || 'allowed' }); all.push({ from: HOST, to: CLIENT, label: 'call ' + c.tool }); all.push(...await sent(c, from)); }
    if (c.phase === 'denied') all.push({ from: YOU, to: HOST, label: c.rule || 'denied', bad: true });
    if (c.phase === 'done' || c.phase === 'failed') all.push({ from: HOST, to: MODEL, label: (c.forModel || c.problem || 'result').slice(0, 80) });
  }
  if (words) all.push({ from: MODEL, to: HOST, label: words.slice(0, 80) }, { from: HOST, to: YOU, label: words.slice(0, 80) });
  return all;
}

// sent returns the two messages of a call.
async function sent(c, from) {
  const asked = rows.list.slice(rows.at(from + 1)).find((m) => m.server === c.server && m.kind === 'request' && m.about === c.tool);
  const got = asked && rows.list.find((m) => m.joins === asked.seq && (m.kind === 'response' || m.kind === 'error'));
  if (!got) return [];
  const [a, b] = await Promise.all([api.get('wire/' + asked.seq), api.get('wire/' + got.seq)]);
  return passed({ ...a.summary, frame: a.frame }, { ...b.summary, frame: b.frame });
}

// The state of the page and its listeners. Events of the stream arrive here;
// listeners are called at most once per animation frame.

import * as api from './api.js';
import { parse } from './numbers.js';
import { Rows } from './rows.js';

export const state = {
  version: '', servers: new Map(), sessions: [], busy: new Set(), asks: new Map(), tasks: [], notices: [], pending: [], muted: new Map(),
  model: null, revisions: [], only: '', can: {}, online: false,
};
export const rows = new Rows();
export const details = new Map(); // lists of tools, resources and prompts by server; see detail
export const turns = new Map();   // events by session: of its running turn, or its last one if it ended lately
export const cards = new Map();   // the latest calls of models, in short
export const spent = new Map();   // usage by session

const listeners = new Map();
let waiting = new Map();
let scheduled = false;

// on calls f with the list of new events of a topic, at most once per animation
// frame, until the signal is aborted.
export function on(topic, f, signal) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic).add(f);
  signal?.addEventListener('abort', () => listeners.get(topic).delete(f));
}

export function emit(topic, data) {
  if (!waiting.has(topic)) waiting.set(topic, []);
  const list = waiting.get(topic);
  if (list.length < 20000) list.push(data);
  if (scheduled) return;
  scheduled = true;
  if (document.hidden) setTimeout(flush, 250);
  else requestAnimationFrame(flush);
}

function flush() {
  scheduled = false;
  const now = waiting;
  waiting = new Map();
  for (const [topic, list] of now) {
    for (const f of listeners.get(topic) ?? []) {
      try { f(list); } catch (e) { console.error(e); }
    }
  }
}

// load fetches the whole state; the event stream continues from there.
export async function load() {
  const now = await api.get('state');
  state.version = now.version;
  state.servers = new Map(now.servers.map((one) => [one.name, one]));
  state.sessions = now.sessions ?? [];
  state.busy = new Set(now.busy);
  state.asks = new Map((now.asks ?? []).map((a) => [a.id, a]));
  state.tasks = now.tasks ?? [];
  state.pending = now.pending ?? [];
  state.notices = now.notices ?? []; // the latest last
  state.muted = new Map(Object.entries(now.muted ?? {})); // why questions are declined, by server
  state.model = now.model ?? null;
  state.revisions = now.revisions;
  state.only = now.only;
  state.can = now.can;
  details.clear();
  for (const id of turns.keys()) if (!state.busy.has(id)) turns.delete(id);
  for (const topic of ['notices', 'servers', 'asks', 'tasks', 'sessions', 'pending', 'model', 'chat']) emit(topic, null);
  return now;
}

let source, at; // the event stream, and the numbers of its latest event and message

// listen opens the event stream. The browser resumes it when it breaks; after a
// gap the whole state is loaded again.
export function listen(from) {
  at = [from.feed, from.wire];
  connect();
}

// connect opens the event stream where it was left. A browser has six connections
// to a host, for all tabs together: a hidden tab leaves them to the others, and
// gets what it has missed when it is shown again.
function connect() {
  source?.close();
  lastEvent = performance.now();
  if (document.hidden) return;
  source = new EventSource(`/api/v1/events?feed=${at[0]}&wire=${at[1]}&most=${large}`);
  source.addEventListener('hello', alive);
  source.addEventListener('beat', alive);
  source.onerror = () => {
    online(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(again, 1500);
  };
  for (const [kind, f] of Object.entries(handlers)) {
    source.addEventListener(kind, (e) => { alive(e); inOrder(e.data, kind === 'wire' ? JSON.parse : parse, f); });
  }
  source.addEventListener('large', (e) => {
    alive(e);
    const { kind, seq } = JSON.parse(e.data);
    behind(() => api.get('events/' + seq).then(handlers[kind], handlers.gap));
  });
}

document.addEventListener('visibilitychange', () => { if (at) connect(); });

const large = 200_000; // bytes of an event
let before = null;     // large events that are still being read

// inOrder reads events and passes them on in their order.
function inOrder(data, read, f) {
  if (before) behind(() => f(read(data)));
  else f(read(data));
}

// behind does something when the large events before it have been read.
function behind(f) {
  const now = (before ?? Promise.resolve()).then(f).catch((e) => console.error(e)).then(() => { if (before === now) before = null; });
  before = now;
}

// The host sends an event every second. If none arrives for three, it is not
// responding, although the connection may look open. A connection that stays
// silent, as after a change of network, is replaced.
let lastEvent = 0; // when the latest event arrived
const silence = 3000;

function alive(e) {
  lastEvent = performance.now();
  if (e.lastEventId) at = e.lastEventId.split('-');
  online(true);
}

let tick = performance.now();
setInterval(() => {
  const now = performance.now();
  if (now - tick > 1500) lastEvent = Math.max(lastEvent, now - silence / 2); // this page was asleep, events may be waiting
  tick = now;
  if (document.hidden || now - lastEvent <= silence) return;
  online(false);
  if (now - lastEvent > 4 * silence && source && source.readyState !== EventSource.CLOSED) connect();
}, 500);

function online(is) {
  if (state.online === is) return;
  state.online = is;
  emit('online', is);
}

async function again() {
  try {
    const now = await load();
    listen({ feed: now.feed, wire: rows.list.at(-1)?.seq ?? now.wire });
    emit('reload', null);
  } catch (e) {
    if (e.status === 401 || e.status === 403) emit('out', e.message);
    else setTimeout(again, 2000);
  }
}

const handlers = {
  gap: () => { load().then(() => emit('reload', null)).catch(() => {}); },
  server: (one) => {
    const old = state.servers.get(one.name);
    state.servers.set(one.name, { ...one, latencyMs: one.latencyMs ?? old?.latencyMs });
    if (old?.starts !== one.starts || old?.phase !== one.phase) details.delete(one.name);
    emit('servers', one.name);
  },
  wire: (piece) => {
    rows.add(piece.messages, piece.lost);
    for (const m of piece.messages) {
      const one = state.servers.get(m.server);
      if (one && m.ms && (m.kind === 'response' || m.kind === 'error')) one.latencyMs = m.ms;
    }
    emit('wire', piece.messages);
  },
  cleared: () => { rows.clear(); emit('cleared', null); },
  model: (info) => { state.model = info; emit('model', info); },
  pending: (list) => { state.pending = list; emit('pending', list); },
  call: (c) => emit('call', c),
  updated: (u) => emit('updated', u),
  view: (u) => emit('view', u),
  fault: (f) => emit('fault', f.error),
  host: (e) => host[e.kind]?.(e),
};

const known = new Map(); // number of the latest resumed event by session

// resume adds the events of a running turn that the host has stored. Events
// that have arrived meanwhile stay, and none is shown twice.
export function resume(session, kept) {
  const live = turns.get(session) ?? [];
  if (!kept || !state.busy.has(session) || live[0]?.kind === 'turn' && live[0].seq > kept.seq) return false;
  const cut = kept.cut ? [{ kind: 'notice', text: 'This turn is long. Its beginning is shown when it ends.' }] : [];
  turns.set(session, [...kept.events.slice(0, 1), ...cut, ...kept.events.slice(1), ...live.filter((e) => e.seq > kept.seq)]);
  known.set(session, kept.seq);
  return true;
}

function turn(e) {
  if (e.seq <= known.get(e.session)) return;
  if (!turns.has(e.session)) turns.set(e.session, []);
  turns.get(e.session).push(e);
  emit('chat', e);
}

export const mostCards = 1000;
const mostTurns = 8;    // that have ended; the host has saved them
const ended = new Set(); // sessions, the latest last

// forget drops the events of the turns that ended long ago.
function forget(session) {
  ended.delete(session);
  ended.add(session);
  for (const id of ended) {
    if (ended.size <= mostTurns) break;
    ended.delete(id);
    known.delete(id);
    if (!state.busy.has(id)) turns.delete(id);
  }
}

// retracted returns the events of a turn without the text and thinking of its
// running step, which are after the last call or message: the model is asked again.
const retracted = (all) => { const last = all.findLastIndex((e) => e.kind === 'tool' || e.kind === 'turn' || e.kind === 'message'); return all.filter((e, i) => i <= last || e.kind !== 'text' && e.kind !== 'thinking'); };

const host = {
  turn: (e) => { if (!(e.seq <= known.get(e.session))) turns.set(e.session, []); state.busy.add(e.session); turn(e); emit('sessions', null); },
  message: turn,
  queue: (e) => emit('chat', e),
  text: turn,
  thinking: turn,
  error: turn,
  retract: (e) => { if (e.seq <= known.get(e.session)) return; const all = turns.get(e.session); if (all) turns.set(e.session, retracted(all)); emit('chat', e); },
  notice: (e) => { if (e.session) turn(e); else emit('notice', e); },
  tool: (e) => {
    const { server, tool, rule, phase, forModel } = e.call;
    cards.set(e.session + '/' + e.call.id, { server, tool, rule, phase, forModel: forModel?.slice(0, 60) });
    if (cards.size > mostCards) cards.delete(cards.keys().next().value);
    if (e.call.task) refreshTasks();
    if (e.call.task?.background && !state.busy.has(e.session)) emit('moved', e); // it belongs to no turn any more
    else turn(e);
  },
  task: (e) => { refreshTasks(); emit('notice', e); emit('delivered', e.session); },
  usage: (e) => { spent.set(e.session, e.usage); emit('chat', e); },
  done: (e) => { state.busy.delete(e.session); turn(e); forget(e.session); emit('sessions', null); },
  ask: (e) => { state.asks.set(e.ask.id, e.ask); emit('asks', e.ask); },
  answered: (e) => { state.asks.delete(e.ask.id); emit('asks', e.ask); },
  log: (e) => emit('log', e),
  muted: (e) => { if (e.text) state.muted.set(e.server, e.text); else state.muted.delete(e.server); emit('servers', e.server); },
  changed: (e) => { details.delete(e.server); emit('servers', e.server); },
};

let refreshing = null;

// refreshTasks fetches the list of tasks, at most four times a second.
function refreshTasks() {
  refreshing ??= setTimeout(async () => {
    refreshing = null;
    try { state.tasks = (await api.get('tasks')).tasks; emit('tasks', null); } catch { /* the banner says it */ }
  }, 250);
}

// detail fetches the lists of a server and caches them until they change.
export function detail(name) {
  if (!details.has(name)) {
    const asked = api.get(api.server(name)).catch((e) => { if (details.get(name) === asked) details.delete(name); throw e; });
    details.set(name, asked);
  }
  return details.get(name);
}

// remember reads or writes a setting in local storage.
export function remember(key, value) {
  try {
    if (value === undefined) return localStorage.getItem('tenon.' + key);
    localStorage.setItem('tenon.' + key, value);
  } catch { /* local storage is not available */ }
  return null;
}

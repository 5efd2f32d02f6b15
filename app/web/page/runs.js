// Runs: calls that pages have made. The host keeps the last ten of each tool,
// so that leaving a tool or reloading the page loses neither a running call nor
// its result.

import { button, announce } from './dom.js';
import * as api from './api.js';
import { emit, on } from './store.js';

const most = 10;
const tools = new Map(); // runs by server and tool, oldest first
const key = (server, tool) => JSON.stringify([server, tool]);

on('call', (list) => { for (const c of list) put(c); });

const reached = (c) => c.progress ? Number(c.progress.progress) : -Infinity;

// put adds a run, or replaces what is known about it. Events arrive in order; one
// that was fetched may be older than an event that has arrived.
function put(c, fetched) {
  const k = key(c.server, c.tool);
  if (!tools.has(k)) tools.set(k, []);
  const all = tools.get(k);
  const at = all.findIndex((r) => r.id === c.id);
  if (at < 0) all.push(c);
  else if (c.phase !== 'running' && !(c.omitted && all[at].phase !== 'running') || all[at].phase === 'running' && !(fetched && reached(c) < reached(all[at]))) all[at] = c;
  all.sort((a, b) => a.n - b.n);
  if (all.length > most) all.shift();
  emit('run', c);
}

export const runsOf = (server, tool) => tools.get(key(server, tool)) ?? [];

// loadRuns fetches the runs of a tool that the host keeps.
export async function loadRuns(server, tool) {
  const { runs } = await api.get(`${api.server(server)}/runs?tool=${encodeURIComponent(tool)}`);
  for (const c of runs) put(c, true);
}

// wholeRun fetches what the list of runs has omitted of a run.
export async function wholeRun(id) { put(await api.get('runs/' + encodeURIComponent(id)), true); }

// startRun calls a tool and returns the run.
export async function startRun(server, tool, args) {
  const c = await api.post(api.server(server) + '/call', { tool, arguments: args });
  put(c, true);
  return c;
}

export const cancelRun = (id) => api.post('cancel/' + id).catch(() => {});

// findLink returns a button that opens the messages of a call of a session, or of
// a question: {session, call} or {ask}.
export const findLink = (text, what) => button(text, { class: 'small quiet', onclick: async () => {
  try { location.hash = '#/wire/' + (await api.post('wire/find', what)).seq; } catch (e) { announce(e.message); }
} }, 'right');

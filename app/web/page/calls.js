// The calls that pass, as recordings that can be played: who asked, the request
// and its response. They are made of real messages only.

import * as api from './api.js';
import { args, failed, isCall, named, outcome } from './frames.js';
import { bytes, millis } from './format.js';
import { cards, on, rows, state } from './store.js';

const most = 8;

// follow calls f with each finished call, at most a few a second, until the
// signal is aborted. Housekeeping is no call.
export function follow(f, signal) {
  let last = null, busy = false;
  const next = async () => {
    if (busy || !last) return;
    busy = true;
    const m = last;
    last = null;
    try { const c = await recorded(m); if (c && !signal.aborted) f(c); } catch { /* the log has dropped it */ }
    setTimeout(() => { busy = false; next(); }, 250);
  };
  on('wire', (pieces) => {
    for (const m of pieces.flat()) if (m.joins && isCall(m.method) && (m.kind === 'response' || m.kind === 'error')) last = m;
    next();
  }, signal);
}

// recent returns the latest finished calls of the log, the newest first.
export async function recent(n = most) {
  const all = [];
  for (let i = rows.list.length - 1; i >= 0 && all.length < n; i--) {
    const m = rows.list[i];
    if (m.joins && isCall(m.method) && (m.kind === 'response' || m.kind === 'error')) all.push(m);
  }
  return all;
}

// recorded returns a call with its two messages.
async function recorded(response) {
  const [request, answer] = await Promise.all([api.get('wire/' + response.joins), api.get('wire/' + response.seq)]);
  const q = request.summary;
  return { server: q.server, conn: q.conn, request: q, response: answer.summary, sent: request.frame, got: answer.frame, name: named(q), result: outcome(answer.frame, 32), failed: failed(answer.frame), card: cardOf(q) };
}

// cardOf returns the model's call that a request belongs to, if it is one.
function cardOf(q) {
  let found = null;
  for (const c of cards.values()) if (c.server === q.server && c.tool === q.about && ['running', 'done', 'failed'].includes(c.phase)) found = c;
  return found;
}

// steps returns what happened, one step for each part that had a share in it.
export function steps(c) {
  const sent = args(c.sent), took = millis(c.response.ms);
  const back = !c.request.sent; // the server asks the client
  const travel = [
    { title: 'Request', text: `${c.name}, id ${c.request.id}, ${bytes(c.request.size)}`, code: true, from: back ? 'server' : 'client', to: back ? 'client' : 'server', label: c.name, seq: c.request.seq },
    { title: c.failed ? 'Error' : 'Result', text: `${c.result} after ${took}`, code: true, from: back ? 'client' : 'server', to: back ? 'server' : 'client', label: c.result, bad: c.failed, back: true, seq: c.response.seq },
  ];
  if (back) return [{ title: 'Server asks', text: c.request.method, part: 'server' }, ...travel];
  if (!state.servers.has(c.server)) return [{ title: 'Host asks', text: sent || c.name, part: 'client' }, ...travel];
  if (c.card) {
    return [{ title: 'Model asks', text: `${c.card.tool}: ${sent || 'no arguments'}`, part: 'model' },
      { title: 'Approval', text: c.card.rule || 'allowed', part: 'approval' }, ...travel,
      { title: 'Model reads', text: c.card.forModel || c.result, part: 'model' }];
  }
  return [{ title: 'You ask', text: sent || c.name, part: 'you' }, { title: 'Approval', text: 'you pressed the button', part: 'approval' }, ...travel, { title: 'You read', text: c.result, part: 'you' }];
}

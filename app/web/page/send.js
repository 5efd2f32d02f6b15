// A request written by hand: any method, any params, in any revision.

import { h, button, fill, icon, announce, problem, alertLine } from './dom.js';
import * as api from './api.js';
import { count, millis } from './format.js';
import { rows, state } from './store.js';
import { failure } from './content.js';
import { parse, stringify } from './numbers.js';
import { tree } from './json.js';
import { read } from './frames.js';
import { mark, word } from './words.js';

const first = (list, key) => list[0]?.[key] ?? '';

// templates are the methods of the protocol, and params to begin with.
const templates = {
  'tools/list': () => ({}), 'tools/call': (d) => ({ name: first(d.tools, 'name'), arguments: {} }),
  'resources/list': () => ({}), 'resources/templates/list': () => ({}), 'resources/read': (d) => ({ uri: first(d.resources, 'uri') }),
  'resources/subscribe': (d) => ({ uri: first(d.resources, 'uri') }), 'resources/unsubscribe': (d) => ({ uri: first(d.resources, 'uri') }),
  'prompts/list': () => ({}), 'prompts/get': (d) => ({ name: first(d.prompts, 'name'), arguments: {} }),
  'completion/complete': (d) => ({ ref: { type: 'ref/prompt', name: first(d.prompts, 'name') }, argument: { name: '', value: '' } }),
  'server/discover': () => ({}), ping: () => ({}), 'logging/setLevel': () => ({ level: 'debug' }),
  'tasks/list': () => ({}), 'tasks/get': () => ({ taskId: '' }), 'tasks/cancel': () => ({ taskId: '' }), 'skills/list': () => ({}),
};

const drafts = new Map(); // by server

// draft fills in the form of a server.
export const draft = (server, method, params) => drafts.set(server, { method, params });

// request returns the form for a request.
export function request(server, d) {
  const now = drafts.get(server) ?? { method: 'tools/list', params: '{}' };
  drafts.set(server, now);
  let own = now.params; // params that were not typed are replaced with the method
  const method = h('input', { id: 'send-method', value: now.method, list: 'send-methods', autocomplete: 'off', spellcheck: 'false', class: 'mono', oninput: () => chosen() });
  const params = h('textarea', { id: 'send-params', class: 'mono', rows: 10, spellcheck: 'false', value: now.params, oninput: () => { now.params = params.value; wrong.textContent = ''; } });
  const revision = h('select', { id: 'send-revision' }, h('option', { value: '' }, `this connection${d.revision ? ' (' + d.revision + ')' : ''}`), state.can.eras && state.revisions.map((r) => h('option', { value: r }, r + ', over a new connection')));
  const wrong = alertLine();
  const out = h('div', { class: 'send-out', role: 'region', 'aria-label': 'Response', tabindex: -1 }, h('p', { class: 'empty soft' }, 'The response and its messages appear here.'));
  const chosen = () => {
    now.method = method.value;
    const make = Object.hasOwn(templates, method.value) ? templates[method.value] : null;
    if (!make || params.value.trim() !== '' && params.value !== own) return;
    own = now.params = params.value = stringify(make(d), 2);
  };
  const send = async () => {
    wrong.textContent = '';
    try { parse(params.value.trim() || '{}'); } catch (e) { wrong.textContent = 'The params are not JSON: ' + e.message; params.focus(); return; }
    if (!method.value.trim()) { wrong.textContent = 'Enter a method.'; method.focus(); return; }
    fill(out, h('p', { class: 'soft' }, 'Waiting for the response …'));
    try {
      if (revision.value) fill(out, (await api.post(api.server(server) + '/eras', { method: method.value.trim(), params: parse(params.value || '{}'), revisions: [revision.value] })).runs.map((r) => era(r, server, (f) => f === r.frames.at(-1))));
      else fill(out, plain(await api.post(api.server(server) + '/raw', { method: method.value.trim(), params: parse(params.value || '{}') }), server, method.value.trim()));
      announce('Response received');
    } catch (e) { fill(out, problem(e)); }
  };
  return h('div', { class: 'two-panes', onkeydown: (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey || e.target === method)) { e.preventDefault(); send(); } } },
    h('div', { class: 'detail send' }, h('div', { class: 'tool-body' }, h('h2', null, 'Send a request'), h('p', { class: 'soft' }, 'Any method with any params, also those that the specification does not have. Permission rules apply to tools/call and resources/read.'),
      h('div', { class: 'row' }, h('label', { class: 'name', for: 'send-method' }, 'Method'), method, h('datalist', { id: 'send-methods' }, Object.keys(templates).map((m) => h('option', { value: m })))),
      h('div', { class: 'row' }, h('label', { class: 'name', for: 'send-params' }, 'Params', h('span', { class: 'hint' }, 'JSON')), params, wrong),
      h('div', { class: 'row' }, h('label', { class: 'name', for: 'send-revision' }, 'Protocol version'), revision)),
    h('div', { class: 'runbar' }, h('div', { class: 'runbar-row' }, button('Send request', { class: 'primary', onclick: send }, 'send'), h('kbd', { class: 'unphone' }, 'Ctrl Enter')))),
    h('div', { class: 'outcome-pane' }, out));
}

const status = (outcome, code, ms) => h('p', { class: 'run-meta' }, mark(word(outcome, code)), h('span', null, millis(ms)));

function plain(got, server, method) {
  const link = h('span');
  setTimeout(() => {
    const sent = rows.list.slice(rows.at(got.after + 1)).find((x) => x.server === server && x.sent && x.method === method);
    if (sent) fill(link, h('a', { class: 'button small', to: '/wire/' + sent.seq }, 'Open in Wire'));
  }, 200);
  return [status(got.error ? 'error' : got.result?.isError ? 'failed' : 'ok', got.code, got.ms), got.error && failure({ ...got, code: 0 }), got.result !== undefined && tree(stringify(got.result)), link];
}

// era shows the messages of a call that was made in a revision. Shown selects
// those that are open.
export function era(r, server, shown) {
  const last = r.frames.map((f) => !f.sent && read(f.frame)).findLast((f) => f?.result || f?.error);
  return [h('p', { class: 'caption' }, h('strong', null, r.revision), ' ', h('span', { class: 'soft' }, count(r.frames.length, 'message'))), status(r.error ? 'error' : last?.result?.isError ? 'failed' : 'ok', last?.error?.code, r.ms), r.spoke && r.spoke !== r.revision && h('p', { class: 'state wait block wrap fellback' }, icon('warn'), `${server} does not speak ${r.revision}. The call was made in ${r.spoke}.`), r.error && h('p', { class: 'wrap mono' }, r.error),
    r.frames.map((f) => h('details', { class: 'run-message', open: shown(f) }, h('summary', null, icon(f.sent ? 'to' : 'from'), h('code', null, label(f.frame))), tree(f.frame)))];
}

function label(frame) {
  try { const f = parse(frame); return f.method ?? (f.error ? 'error' : 'result') + (f.id !== undefined ? ' #' + f.id : ''); } catch { return frame.slice(0, 40); }
}

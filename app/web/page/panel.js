// The side panel of a part of the picture.

import { h, button, fill, icon, copyButton, problem, warnings, alertLine, facts } from './dom.js';
import { muted } from './muted.js';
import * as api from './api.js';
import { ago, bytes, clock, count, millis } from './format.js';
import { openLink, webAddress } from './links.js';
import { phase } from './phases.js';
import { detail, details, state } from './store.js';
import { tree } from './json.js';
import { changes } from './asks.js';
import { read } from './frames.js';

const about = {
  host: 'The host is the program that you use. It holds the conversation, your approvals and one client for each server. Servers see only what the host sends them: neither each other nor the conversation.',
  client: 'A client connects the host to exactly one server. It declares what the host can do, sends calls, and passes the server’s questions on to you.',
  connection: 'A connection links one client and one server. It has a transport, which carries the messages, and a protocol version that both sides use.',
  server: 'A server offers tools, resources and prompts. It runs apart from the host: when it hangs or exits, only its own connection fails.',
  pending: 'A configuration file in this folder asks to start this server. It does not start before you approve it, and you are asked again when its entry changes.',
};

// panel returns the panel of a part, or null if the part does not exist.
export function panel([kind, name], signal) {
  if (kind === 'host') return frame('Host', 'Tenon', hostBody());
  if (kind === 'pending') {
    const p = state.pending.find((one) => one.name === name);
    return p ? frame('Waiting for approval', name, pendingBody(p)) : null;
  }
  if (!['client', 'connection', 'server'].includes(kind) || !state.servers.has(name)) return null;
  const body = h('div');
  const draw = () => drawServer(body, kind, name, signal);
  draw();
  if (kind === 'server') { // memory and last words change without an event
    const timer = setInterval(async () => {
      if (signal.aborted || !body.isConnected) { clearInterval(timer); return; }
      const d = await detail(name).catch(() => null);
      if (!d || !(d.pid || d.stderr) || document.hidden) return;
      try {
        Object.assign(d, await api.get(api.server(name) + '/process'));
        const line = body.querySelector('.proc'), words = body.querySelector('.stderr');
        if (line) line.textContent = running(d);
        if (words && words.textContent !== d.stderr) fill(words, d.stderr);
      } catch { /* the next one */ }
    }, 3000);
  }
  const shown = frame({ client: 'Client of', connection: 'Connection to', server: 'Server' }[kind], name, [h('p', { class: 'what' }, about[kind]), body]);
  shown.refresh = draw;
  return shown;
}

// frame is a panel with a heading and a button that closes it.
export function frame(role, name, ...body) {
  return { el: h('section', { class: 'panel', 'aria-label': `${role} ${name}` }, h('div', { class: 'panel-head' }, h('h2', { tabindex: -1 }, h('span', { class: 'role' }, role), ' ', name), button('Close', { bare: true, onclick: () => { location.hash = '#/'; } }, 'close')), body) };
}

function hostBody() {
  const all = [...state.servers.values()];
  return [h('p', { class: 'what' }, about.host),
    facts(['Version', state.version], ['Model', state.model ? [state.model.provider + '/' + state.model.name, state.model.label && h('span', { class: 'soft block' }, state.model.label)] : 'none'],
      ['Clients', `${all.length}, ${all.filter((x) => x.phase === 'ready').length} ready`], ['Open questions', state.asks.size || ''], ['Protocol versions', state.revisions.join(', ')]),
    h('div', { class: 'actions' }, h('a', { class: 'button', to: '/chat' }, 'Open the chat'), h('a', { class: 'button', to: '/wire' }, 'See all messages'))];
}

function pendingBody(p) {
  const out = alertLine();
  return [h('p', { class: 'what' }, about.pending),
    h('h3', null, 'Command'), h('pre', { class: 'plain cmd', tabindex: 0 }, p.command || '(nothing)'),
    facts(['Configured in', p.file && h('code', null, p.file)]),
    warnings(p.warnings),
    changes(p.changed),
    p.refused ? problem(p.refused)
      : h('div', { class: 'actions' }, button('Approve and start', { class: 'primary', onclick: async (e) => {
        e.currentTarget.disabled = true;
        try { await api.post('pending/' + encodeURIComponent(p.name), { pin: p.pin }); location.hash = '#/server/' + encodeURIComponent(p.name); } catch (x) { out.textContent = x.message; e.target.disabled = false; }
      } }, 'ok')), out];
}

async function drawServer(body, kind, name, signal) {
  const one = state.servers.get(name);
  if (!one) return;
  const place = h('div', { class: 'loading' });
  if (!body.childElementCount) fill(body, place);
  const head = [kind === 'client' ? null : h('p', null, phase(one.phase), one.why && h('span', { class: 'wrap block why' }, one.why))];
  let d = null, failed = '';
  try { d = await detail(name); } catch (e) { failed = e.message; }
  if (signal.aborted) return;
  const list = { client: clientFacts, connection: connectionFacts, server: serverFacts }[kind](one, d);
  fill(body, head, actions(kind, one), failed && problem(failed), list,
    (d?.problems ?? []).map((p) => h('p', { class: 'state bad block' }, icon('warn'), p)));
}

const running = (d) => `${d.pid}, up for ${ago(d.started)}${d.memory ? ', ' + bytes(d.memory) : ''}`;

function clientFacts(one, d) {
  const hello = d?.handshake?.find((m) => m.sent);
  return [facts(['Client', 'tenon ' + state.version], ['Protocol version', one.revision], ['Calls', one.calls || ''], ['Capabilities', hello && declared(hello.seq)]),
    hello && h('p', null, h('a', { to: '/wire/' + hello.seq }, 'Show its first message'))];
}

// declared shows the capabilities in the first message of a client.
function declared(seq) {
  const place = h('span', null, '…');
  api.get('wire/' + seq).then((m) => {
    const p = read(m.frame)?.params ?? {};
    const all = p.capabilities ?? p._meta?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
    const name = ([k, v]) => k + (v && typeof v === 'object' && Object.keys(v).length ? ` (${Object.keys(v).join(', ')})` : '');
    fill(place, Object.entries(all).map(name).join(', ') || 'none');
  }, () => fill(place, 'not known: its first message is no longer in the log'));
  return place;
}

function connectionFacts(one, d) {
  const kinds = { builtin: 'in memory', stdio: 'stdio (standard input and output of a process)', http: 'Streamable HTTP', sse: 'HTTP with server-sent events (deprecated)' };
  return [facts(['Transport', kinds[one.kind] ?? one.kind], ['Protocol version', one.revision], ['Era', d?.handshake?.at(-1)?.era], ['Last response', one.latencyMs !== undefined && millis(one.latencyMs)],
    ['Errors', String(one.errors)], ['Connected', one.starts === 1 ? 'once' : one.starts ? count(one.starts, 'time') : 'not yet'], ['Since', one.started && one.starts ? ago(one.started) : '']),
  d?.handshake?.length ? [h('h3', null, 'Handshake'), h('ol', { class: 'handshake' }, d.handshake.map((m) => h('li', null, h('a', { to: '/wire/' + m.seq }, icon(m.sent ? 'to' : 'from'), h('code', null, m.method), m.ms ? h('span', { class: 'soft' }, millis(m.ms)) : h('span', { class: 'soft' }, clock(m.at))))))] : null];
}

function serverFacts(one, d) {
  const it = d?.server;
  return [facts(['Reported name', it && `${it.title ?? it.name} ${it.version ?? ''}`], ['Command or URL', d && h('code', { class: 'wrap' }, d.transport)], ['Configured in', d?.source && h('code', { class: 'wrap' }, d.source)],
    ['Process', one.pid ? h('span', { class: 'proc' }, d ? running(d) : String(one.pid)) : ''], ['Up for', !one.pid && one.started && one.starts && d?.phase === 'ready' ? ago(one.started) : ''],
    ['Next attempt in', one.nextMs ? millis(one.nextMs) : ''], ['Tools', d?.tools.length || ''], ['Resources', d?.resources.length || ''], ['Templates', d?.templates.length || ''], ['Prompts', d?.prompts.length || '']),
  d?.instructions && [h('h3', null, 'Instructions to the model'), h('p', { class: 'wrap quote' }, d.instructions)],
  d?.capabilities && h('details', null, h('summary', null, 'Capabilities'), tree(JSON.stringify(d.capabilities))),
  d?.stderr && h('details', { open: one.phase === 'failed' || one.phase === 'restarting' }, h('summary', null, 'Standard error'), h('pre', { class: 'plain stderr', tabindex: 0 }, d.stderr), copyButton(() => d.stderr))];
}

function actions(kind, one) {
  const out = alertLine();
  const act = (path) => async () => { out.textContent = ''; try { await api.post(`${api.server(one.name)}/${path}`); details.delete(one.name); } catch (e) { out.textContent = e.message; } };
  const page = one.phase === 'needs login' && webAddress(one.page);
  const off = one.phase === 'disabled';
  return h('div', null, page && h('div', { class: 'note' }, h('p', null, 'Log in at:'), h('p', { class: 'address' }, h('code', null, page.href)), openLink(page, 'Log in')),
    kind === 'server' && muted(one.name),
    h('div', { class: 'actions' },
      kind === 'server' && (one.phase === 'ready' || one.phase === 'degraded') && h('a', { class: 'button primary', to: '/drive/' + encodeURIComponent(one.name) }, icon('play'), 'Use it'),
      h('a', { class: 'button', to: '/wire/all/' + encodeURIComponent(one.name) }, 'Messages'),
      kind !== 'client' && button(off ? 'Switch on' : 'Restart', { onclick: act('restart') }, 'again'),
      kind === 'server' && !off && button('Switch off', { onclick: act('disable') }, 'off')), out);
}

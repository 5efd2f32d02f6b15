// One message: its members explained, the rules it breaks, its HTTP exchange,
// and actions.

import { h, button, copyButton, fill, icon, announce, problem } from './dom.js';
import * as api from './api.js';
import { ansi } from './ansi.js';
import { bytes, clock, count, millis } from './format.js';
import { parse, stringify } from './numbers.js';
import { pretty, sides } from './diff.js';
import { status } from './status.js';
import { mark } from './words.js';
import { on, rows, state } from './store.js';
import { tree } from './json.js';
import { draft, era } from './send.js';

let kept = 0; // the message to compare with the next one

// opened returns the panel of a message; shut closes it.
export function opened(seq, signal, shut) {
  const el = h('section', { class: 'panel message', 'aria-label': 'Message ' + seq }, h('p', { class: 'soft' }, 'Loading …'));
  load(el, seq, signal, shut);
  return el;
}

async function load(el, seq, signal, shut) {
  let m;
  try { m = await api.get('wire/' + seq); } catch (e) { fill(el, head(shut, 'Message ' + seq), problem(e)); return; }
  if (signal.aborted) return;
  draw(el, m, seq, shut);
  // The response may still arrive.
  let ended = false;
  if (m.summary.kind === 'request' && !m.summary.outcome) on('wire', (pieces) => { if (!ended && pieces.flat().some((x) => x.joins === seq && x.outcome)) { ended = true; load(el, seq, signal, shut); } }, signal);
}

const head = (shut, ...title) => h('div', { class: 'panel-head' }, h('h2', { tabindex: -1 }, title), button('Close', { bare: true, onclick: shut }, 'close'));

function draw(el, m, seq, shut) {
  const s = m.summary;
  const fields = new Map((m.fields ?? []).map((f) => [f.pointer, f]));
  const problems = new Map();
  for (const p of m.problems ?? []) problems.set(p.pointer, [...(problems.get(p.pointer) ?? []), p]);
  const explained = h('div', { class: 'explained-box', role: 'status' }, h('p', { class: 'soft' }, m.describe || 'Point at a member to see what it means.'));
  const point = (f, bad, pointer) => fill(explained, h('p', null, h('code', null, pointer || 'the message'), f?.type && h('span', { class: 'soft' }, ' ', f.type, f.required ? ', required' : '')),
    f && h('p', null, f.text || (f.known ? 'The specification has no description.' : 'Not defined by this revision.')), f?.revisions?.length ? h('p', { class: 'soft' }, 'In ', f.revisions.join(', ')) : null,
    bad?.map((p) => problem(p.text)));
  const json = /^\s*[[{]/.test(m.frame);
  const ours = state.servers.has(s.server); // not a tapped host or a recording
  const request = s.sent && s.kind === 'request' && json;
  const shown = json ? tree(m.frame, { fields, problems, onpoint: point }) : h('div', null, h('pre', { class: 'plain', tabindex: 0 }, ansi(m.frame.slice(0, 200_000))));
  fill(el, head(shut, icon(s.sent ? 'to' : 'from'), ' ', s.method || s.kind, s.about && h('em', null, ' ', s.about)),
    h('p', { class: 'meta' }, mark(status(s)), h('span', null, s.sent ? 'to ' : 'from ', h('strong', null, s.server)), h('span', null, s.kind), s.id && h('span', null, 'id ', h('code', null, s.id)), s.revision && h('span', null, s.revision), h('span', null, clock(s.at)), s.ms ? h('span', null, millis(s.ms)) : null, h('span', null, bytes(s.size))),
    call(s),
    (m.problems ?? []).map((p) => h('div', { class: 'violation' }, h('p', { class: 'state bad' }, icon('bad'), p.severity === 'doubtful' ? 'Breaks a recommendation' : 'Breaks a rule', h('code', null, p.rule)), h('p', { class: 'wrap' }, p.text), p.sentence && h('p', { class: 'soft wrap' }, p.sentence, p.page && [' Specification: ', h('code', null, `${s.revision ?? ''} ${p.page}`)]))),
    h('div', { class: 'actions' }, copyButton(m.frame, 'JSON'), m.curl && copyButton(m.curl, 'curl'), m.raw && copyButton(m.raw, 'tenon raw'),
      kept && kept !== seq ? button('Compare with ' + kept, { class: 'small', onclick: () => compare(more, kept, seq) }) : button('Compare …', { class: 'small', onclick: (e) => { kept = seq; e.currentTarget.textContent = 'Now open another message'; } }),
      request && ours && button('Edit and send', { class: 'small', onclick: () => { const { method, params } = bare(m.frame); draft(s.server, method, stringify(params, 2)); location.hash = '#/drive/' + encodeURIComponent(s.server) + '/request'; } }),
      request && ours && state.can.eras && button('Compare protocol versions', { class: 'small', onclick: () => eras(more, s, m.frame) })));
  const more = h('div', { class: 'more-box' });
  el.append(more, json ? h('div', { class: 'overhead' }, explained, finder(shown)) : '', shown);
  if (s.size > m.frame.length * 4 + 1000) el.append(h('p', { class: 'soft' }, `Only the beginning of ${bytes(s.size)} is kept.`));
  if (m.http) el.append(http(m.http));
}

// call lists the messages of the call that a message belongs to.
function call(s) {
  const here = rows.get(s.seq);
  const root = here && rows.root(here);
  const all = root ? [root, ...rows.below(root)] : [];
  if (all.length < 2) return null;
  const some = all.length > 12 ? [...all.slice(0, 6), null, ...all.slice(-5)] : all;
  return h('ol', { class: 'callstrip', 'aria-label': 'Messages of this call' }, some.map((x) => x === null ? h('li', { class: 'soft' }, `… ${all.length - 11} more`)
    : h('li', null, h('a', { to: '/wire/' + x.seq, 'aria-current': x.seq === s.seq ? 'true' : null }, icon(x.sent ? 'to' : 'from'), h('span', null, name(x)), x === root ? null : h('span', { class: 'soft' }, '+' + millis((x.at - root.at) / 1000))))));
}

const name = (x) => x.kind === 'response' ? 'result' : x.kind === 'error' ? 'error' : x.kind === 'event' ? 'event' : (x.method ?? x.kind).replace('notifications/', '');

// finder searches inside of a message.
function finder(shown) {
  const number = h('span', { class: 'soft', role: 'status' });
  const go = (step) => { const [n, all] = shown.find(input.value.trim(), step); number.textContent = !input.value.trim() ? '' : all ? `${n} of ${all}` : 'not found'; };
  const input = h('input', { type: 'search', placeholder: 'Find in this message', 'aria-label': 'Find in this message', oninput: () => go(0), onkeydown: (e) => { if (e.key === 'Enter') { e.preventDefault(); go(e.shiftKey ? -1 : 1); } } });
  return h('div', { class: 'finder' }, input, number, button('Previous', { class: 'small', bare: true, onclick: () => go(-1) }, 'up'), button('Next', { class: 'small', bare: true, onclick: () => go(1) }, 'down'));
}

function http(x) {
  const lines = (list) => (list ?? []).map((l) => h('div', null, h('span', { class: 'k' }, l.name), ': ', l.value));
  return h('details', { open: true }, h('summary', null, 'HTTP ', x.status ? h('strong', null, String(x.status)) : '', ' ', x.method), h('div', { class: 'json mono http' }, h('div', null, h('strong', null, `${x.method} ${x.url}`)), lines(x.request), x.status ? h('div', { class: 'answer' }, h('strong', null, String(x.status))) : null, lines(x.response), x.error && h('div', { class: 'bad' }, x.error)));
}

async function compare(place, a, b) {
  try {
    const got = await api.post('wire/compare', { a, b });
    fill(place, h('h3', null, got.differences.length ? `${a} and ${b} differ in ${count(got.differences.length, 'place')}` : `${a} and ${b} are the same`),
      sides(pretty(got.a), pretty(got.b), 'Message ' + a, 'Message ' + b));
  } catch (e) { fill(place, problem(e)); }
  kept = 0;
}

// bare removes the client's own _meta members: the sending client adds them.
function bare(frame) {
  const { method, params } = parse(frame);
  if (params?._meta) {
    for (const k of Object.keys(params._meta)) if (k.startsWith('io.modelcontextprotocol/') || k === 'progressToken') delete params._meta[k];
    if (!Object.keys(params._meta).length) delete params._meta;
  }
  return { method, params: params ?? {} };
}

function eras(place, s, frame) {
  const { method, params } = bare(frame);
  const pick = (i) => h('select', { 'aria-label': 'Revision ' + (i + 1) }, state.revisions.map((r, n) => h('option', { value: r, selected: n === i }, r)));
  const a = pick(1), b = pick(0);
  const out = h('div');
  const run = async () => {
    fill(out, h('p', { class: 'soft' }, 'Calling twice …'));
    try {
      const got = await api.post(api.server(s.server) + '/eras', { method, params, revisions: [a.value, b.value] });
      fill(out, h('div', { class: 'sides' }, got.runs.map((r) => h('div', null, era(r, s.server, (f) => f.frame.includes(`"${method}"`))))));
      announce('Both calls finished');
    } catch (e) { fill(out, problem(e)); }
  };
  fill(place, h('h3', null, 'Compare protocol versions'), h('p', { class: 'soft' }, 'The call is made twice, over two new connections.'), h('div', { class: 'actions' }, a, b, button('Call both', { class: 'primary', onclick: run }), button('Close', { onclick: () => fill(place) })), out);
}

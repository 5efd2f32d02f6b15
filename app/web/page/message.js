// One message: its members explained, the rules it breaks, its HTTP exchange,
// and actions.

import { h, button, copyButton, fill, icon, announce } from './dom.js';
import * as api from './api.js';
import { bytes, clock, count, millis } from './format.js';
import { on, rows, state } from './store.js';
import { tree } from './json.js';

let kept = 0; // the message to compare with the next one

export function opened(seq, signal) {
  const el = h('section', { class: 'panel message', 'aria-label': 'Message ' + seq }, h('p', { class: 'soft' }, 'Loading …'));
  load(el, seq, signal);
  return el;
}

async function load(el, seq, signal) {
  let m;
  try { m = await api.get('wire/' + seq); } catch (e) { fill(el, head('Message ' + seq), h('p', { class: 'state bad block' }, icon('bad'), e.message)); return; }
  if (signal.aborted) return;
  draw(el, m, seq);
  // The response may still arrive.
  if (m.summary.kind === 'request' && !m.summary.answer) on('wire', (pieces) => { if (pieces.flat().some((x) => x.joins === seq)) load(el, seq, signal); }, signal);
}

const head = (...title) => h('div', { class: 'panel-head' }, h('h2', { tabindex: -1 }, title), button('Close', { bare: true, onclick: () => { location.hash = '#/wire'; } }, 'close'));

function draw(el, m, seq) {
  const s = m.summary;
  const fields = new Map((m.fields ?? []).map((f) => [f.pointer, f]));
  const problems = new Map();
  for (const p of m.problems ?? []) problems.set(p.pointer, [...(problems.get(p.pointer) ?? []), p]);
  const told = h('div', { class: 'told-box', role: 'status' }, h('p', { class: 'soft' }, m.describe || 'Point at a member to see what it means.'));
  const point = (f, bad, pointer) => fill(told, h('p', null, h('code', null, pointer || 'the message'), f?.type && h('span', { class: 'soft' }, ' ', f.type, f.required ? ', required' : '')),
    f && h('p', null, f.text || (f.known ? 'The specification has no description.' : 'Not defined by this revision.')), f?.revisions?.length ? h('p', { class: 'soft' }, 'In ', f.revisions.join(', ')) : null,
    bad?.map((p) => h('p', { class: 'state bad block' }, icon('bad'), p.text)));
  const json = /^\s*[[{]/.test(m.frame);
  const partner = s.answer || s.joins;
  fill(el, head(icon(s.sent ? 'to' : 'from'), ' ', s.method || s.kind, s.about && h('em', null, ' ', s.about)),
    h('p', { class: 'meta' }, h('span', null, s.sent ? 'to ' : 'from ', h('strong', null, s.server)), h('span', null, s.kind), s.id && h('span', null, 'id ', h('code', null, s.id)), s.revision && h('span', null, s.revision), h('span', null, clock(s.at)), s.ms ? h('span', null, millis(s.ms)) : null, h('span', null, bytes(s.size))),
    (m.problems ?? []).map((p) => h('div', { class: 'violation' }, h('p', { class: 'state bad' }, icon('bad'), p.severity === 'doubtful' ? 'Breaks a recommendation' : 'Breaks a rule', h('code', null, p.rule)), h('p', { class: 'wrap' }, p.text), p.sentence && h('p', { class: 'soft wrap' }, p.sentence, p.page && [' Specification: ', h('code', null, `${s.revision ?? ''} ${p.page}`)]))),
    h('div', { class: 'actions' }, partner && h('a', { class: 'button small', to: '/wire/' + partner }, s.answer ? 'Response' : 'Request'), copyButton(m.frame, 'JSON'), m.curl && copyButton(m.curl, 'curl'), m.raw && copyButton(m.raw, 'tenon raw'),
      kept && kept !== seq ? button('Compare with ' + kept, { class: 'small', onclick: () => compare(more, kept, seq) }) : button('Compare …', { class: 'small', onclick: (e) => { kept = seq; e.currentTarget.textContent = 'Now open another message'; } }),
      s.sent && s.kind === 'request' && json && button('Edit and send', { class: 'small', onclick: () => again(more, s, m.frame) }),
      s.sent && s.kind === 'request' && json && state.can.eras && state.servers.has(s.server) && button('Compare protocol versions', { class: 'small', onclick: () => eras(more, s, m.frame) })));
  const more = h('div', { class: 'more-box' });
  el.append(more, json ? told : '', json ? tree(m.frame, { fields, problems, onpoint: point }) : h('pre', { class: 'plain', tabindex: 0 }, m.frame));
  if (s.size > m.frame.length * 4 + 1000) el.append(h('p', { class: 'soft' }, `Only the beginning of ${bytes(s.size)} is kept.`));
  if (m.http) el.append(http(m.http));
}

function http(x) {
  const lines = (list) => (list ?? []).map((l) => h('div', null, h('span', { class: 'k' }, l.name), ': ', l.value));
  return h('details', { open: true }, h('summary', null, 'HTTP ', x.status ? h('strong', null, String(x.status)) : '', ' ', x.method), h('div', { class: 'json mono http' }, h('div', null, h('strong', null, `${x.method} ${x.url}`)), lines(x.request), x.status ? h('div', { class: 'answer' }, h('strong', null, String(x.status))) : null, lines(x.response), x.error && h('div', { class: 'bad' }, x.error)));
}

async function compare(place, a, b) {
  try {
    const got = await api.post('wire/compare', { a, b });
    const changed = new Set(got.differences.map((d) => d.pointer));
    fill(place, h('h3', null, got.differences.length ? `${a} and ${b} differ in ${count(got.differences.length, 'place')}` : `${a} and ${b} are the same`),
      h('div', { class: 'sides' }, h('div', null, h('p', { class: 'caption' }, 'Message ' + a), tree(got.a, { changed })), h('div', null, h('p', { class: 'caption' }, 'Message ' + b), tree(got.b, { changed }))));
  } catch (e) { fill(place, h('p', { class: 'state bad block' }, icon('bad'), e.message)); }
  kept = 0;
}

// bare removes the client's own _meta members: the sending client adds them.
function bare(frame) {
  const { method, params } = JSON.parse(frame);
  if (params?._meta) {
    for (const k of Object.keys(params._meta)) if (k.startsWith('io.modelcontextprotocol/') || k === 'progressToken') delete params._meta[k];
    if (!Object.keys(params._meta).length) delete params._meta;
  }
  return { method, params: params ?? {} };
}

function again(place, s, frame) {
  const { method, params } = bare(frame);
  const name = h('input', { value: method, 'aria-label': 'Method' });
  const text = h('textarea', { class: 'mono grow', rows: 6, spellcheck: 'false', 'aria-label': 'Params', value: JSON.stringify(params, null, 2) });
  const out = h('div');
  const send = async () => {
    let p;
    try { p = JSON.parse(text.value || '{}'); } catch (e) { fill(out, h('p', { class: 'wrong' }, 'The params are not JSON: ' + e.message)); return; }
    fill(out, h('p', { class: 'soft' }, 'Sent, waiting for the response …'));
    try {
      const got = await api.post(api.server(s.server) + '/raw', { method: name.value, params: p });
      setTimeout(() => {
        const sent = rows.list.slice(rows.at(got.after + 1)).find((x) => x.server === s.server && x.sent && x.method === name.value);
        fill(out, h('p', { class: 'state ' + (got.error ? 'bad' : 'ok') }, icon(got.error ? 'bad' : 'ok'), got.error ?? 'Response', h('span', { class: 'soft' }, ' ', millis(got.ms)), sent && h('a', { to: '/wire/' + sent.seq }, 'Open')), got.result !== undefined && tree(JSON.stringify(got.result)));
      }, 150);
    } catch (e) { fill(out, h('p', { class: 'state bad block' }, icon('bad'), e.message)); }
  };
  fill(place, h('h3', null, 'Send again to ', s.server), h('div', { class: 'row' }, name), h('div', { class: 'row' }, text), h('div', { class: 'actions' }, button('Send', { class: 'primary', onclick: send }, 'send'), button('Close', { onclick: () => fill(place) })), out);
  text.focus();
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
      fill(out, h('div', { class: 'sides' }, got.runs.map((r) => h('div', null, h('p', { class: 'caption' }, h('strong', null, r.revision), ' ', h('span', { class: 'soft' }, `${count(r.frames.length, 'message')}, ${millis(r.ms)}`)), r.error && h('p', { class: 'state bad block wrap' }, icon('bad'), r.error),
        r.frames.map((f) => h('details', { class: 'frame', open: f.frame.includes(`"${method}"`) }, h('summary', null, icon(f.sent ? 'to' : 'from'), label(f.frame)), tree(f.frame)))))));
      announce('Both calls finished');
    } catch (e) { fill(out, h('p', { class: 'state bad block' }, icon('bad'), e.message)); }
  };
  fill(place, h('h3', null, 'Compare protocol versions'), h('p', { class: 'soft' }, 'The call is made twice, over two new connections.'), h('div', { class: 'actions' }, a, b, button('Call both', { class: 'primary', onclick: run }), button('Close', { onclick: () => fill(place) })), out);
}

function label(frame) {
  try { const f = JSON.parse(frame); return f.method ?? (f.error ? 'error' : 'result') + (f.id !== undefined ? ' #' + f.id : ''); } catch { return frame.slice(0, 40); }
}

// Questions to the person: approvals, forms, pages to open and sampling
// requests. The name of the asking server is shown outside of the server's text.

import { h, button, fill, icon, announce, problem, warnings, alertLine } from './dom.js';
import * as api from './api.js';
import { coded, notOpened, openLink, webAddress, wholeAddress } from './links.js';
import { state, on } from './store.js';
import { form } from './form.js';
import { block, data } from './content.js';
import { copied } from './schema.js';
import { tree } from './json.js';
import { findLink } from './runs.js';

const made = new Map(); // card by question id, so that typed text survives a redraw

// card returns the card of a question: the same element while it is open.
export function card(ask) {
  if (!made.has(ask.id)) {
    const el = make(ask);
    el.inert = true; // what was meant for something else must not answer it
    setTimeout(() => { el.inert = false; }, 500);
    made.set(ask.id, el);
  }
  return made.get(ask.id);
}

const heads = { approval: 'Allow this call?', form: 'asks you to fill in a form', url: 'asks you to open a page', sampling: 'asks to use the model', flow: 'Allow this data to be passed on?' };

function make(ask) {
  const out = alertLine();
  const answer = async (action, content, more) => {
    out.textContent = '';
    try { await api.post('asks/' + encodeURIComponent(ask.id), { action, ...(content === undefined ? {} : { content }), ...more }); } catch (e) { out.textContent = e.message; }
  };
  const body = { approval, form: formAsk, url, sampling, flow }[ask.kind]?.(ask, answer) ?? [];
  return h('section', { class: 'ask' + (ask.loud ? ' loud' : ''), tabindex: -1, 'aria-label': `Question from ${ask.server}` },
    h('h3', null, icon('ask'), ask.kind === 'approval' || ask.kind === 'flow' ? heads[ask.kind] : [h('strong', null, ask.server), ' ' + heads[ask.kind]]), body, out, h('p', { class: 'ask-links' }, ask.call ? h('span', { class: 'soft' }, 'Not sent yet.') : findLink('Its message', { ask: ask.id }), ask.call?.tool && h('a', { to: '/' + ['drive', ask.server, 'tools', ask.call.tool].map(encodeURIComponent).join('/') }, 'The tool')));
}

function approval(ask, answer) {
  const c = ask.call;
  const t = ask.tool;
  const b = (action, text, cls) => button(text, { class: cls, onclick: () => answer(action) });
  const parts = choices(ask, answer);
  return [
    h('p', null, h('strong', null, c.server), ' › ', h('strong', null, t?.title || c.tool), ' ', h('code', null, c.tool)),
    warnings(ask.warnings),
    h('p', { class: ask.loud ? 'state bad block' : 'soft' }, ask.loud && icon('warn'), risk(ask)),
    h('p', { class: 'label' }, 'Arguments'), data(targetsFirst(c.arguments ?? {})),
    edit(ask.diff),
    h('p', { class: 'label' }, ask.message || c.rule),
    ask.repeat > 0 && h('p', { class: 'state wait block' }, icon('warn'), `You were asked about this call ${ask.repeat === 1 ? 'once' : ask.repeat + ' times'} before in this turn.`),
    changes(ask.changes),
    t && (ask.first || ask.changes?.length) ? h('details', { open: true }, h('summary', null, ask.first ? `First use. What the server says about this ${ask.skill ? 'skill' : 'tool'}` : 'Current definition'), h('p', { class: 'wrap quote' }, t.description || '(no description)'), h('details', null, h('summary', null, 'Full definition'), tree(JSON.stringify(t)))) : null,
    h('div', { class: 'actions' }, b('once', 'Allow once', 'primary'), !ask.eachTime && b('session', 'Allow for this session'), !ask.eachTime && b('always', 'Always allow'), b('deny', 'Deny', 'deny'), b('never', 'Always deny', 'deny'), parts.buttons),
    parts.place,
  ];
}

// edit shows what the call would change in a file.
function edit(d) {
  if (!d) return null;
  const tags = { '+': 'ins', '-': 'del' };
  return [h('p', { class: 'label' }, `${d.new ? 'Creates' : 'Changes'} ${d.path}` + (d.text ? ` (${d.added} added, ${d.removed} removed)` : '')), warnings(d.notes),
    d.text && h('pre', { class: 'edit', tabindex: 0, 'aria-label': 'The difference' }, d.text.split('\n').map((l) => h(tags[l[0]] ?? 'span', null, l + '\n'))),
    d.left ? h('p', { class: 'soft' }, `${d.left} more lines are not shown.`) : null];
}

// choices are the answers that need more than a button: similar calls, other
// arguments, and a reason. One of them is open at a time.
function choices(ask, answer) {
  const place = h('div', { class: 'ask-choice', hidden: true });
  const all = [];
  const choice = (text, make) => {
    const b = button(text, { class: 'small quiet', 'aria-expanded': 'false', onclick: () => {
      const open = b.getAttribute('aria-expanded') === 'false';
      for (const other of all) other.setAttribute('aria-expanded', String(other === b && open));
      place.hidden = !open;
      fill(place, open && (b.made ??= make()));
      if (!open) return;
      place.scrollIntoView({ block: 'nearest' });
      place.querySelector('input, textarea, select')?.focus({ preventScroll: true });
    } });
    all.push(b);
  };
  const approval = ask.kind === 'approval';
  if (approval && !ask.eachTime && (ask.proposals?.length || ask.folder)) choice('Allow similar …', () => similar(ask, answer));
  if (approval && !ask.skill) choice('Edit arguments …', () => edited(ask, answer));
  choice('Deny with a reason …', () => denied(ask, answer));
  return { place, buttons: h('span', { class: 'more-choices' }, all) };
}

// similar offers to allow calls like this one.
function similar(ask, answer) {
  const named = [...(ask.proposals ?? []), { id: '', label: 'all calls of this tool' }];
  const name = 'similar-' + ask.id;
  const options = named.map((p, i) => h('label', { class: 'tick' }, h('input', { type: 'radio', name, value: p.id, checked: i === 0 }), h('span', null, p.label)));
  const group = h('div', { class: 'options', role: 'radiogroup', 'aria-label': 'Calls to allow' }, options);
  const allow = (action, text) => button(text, { onclick: () => { const proposal = group.querySelector(':checked').value; answer(action, undefined, proposal ? { proposal } : {}); } });
  return [h('p', { class: 'label' }, 'Allow this call, and later ones without asking:'), group,
    h('div', { class: 'actions' }, allow('session', 'For this session'), ask.folder && allow('project', 'For this project'), allow('always', 'Always'), ask.folder && h('span', { class: 'soft wrap' }, 'The project is ', h('code', null, ask.folder)))];
}

// edited offers to make the call with other arguments.
function edited(ask, answer) {
  const f = form(ask.tool?.inputSchema, { value: copied(ask.call.arguments ?? {}), label: 'Arguments' });
  return [h('p', { class: 'label' }, 'Arguments of this call. The model sees that you changed them.'), f.el,
    h('div', { class: 'actions' }, button('Allow once with these arguments', { onclick: () => { if (!f.problems().length) answer('once', undefined, { arguments: f.value() }); } }))];
}

// denied offers to deny the call and to say why.
function denied(ask, answer) {
  const text = h('textarea', { class: 'grow', rows: 2, maxlength: 2000, 'aria-label': 'Reason', placeholder: 'What should be done instead?' });
  const b = (action, name) => button(name, { class: 'deny', onclick: () => answer(action, undefined, text.value.trim() ? { reason: text.value.trim() } : {}) });
  return [h('p', { class: 'label' }, 'The model reads your reason.'), text, h('div', { class: 'actions' }, b('deny', 'Deny and say why'), ask.kind === 'approval' && b('never', 'Always deny and say why'))];
}

// changes lists what has changed since the person approved it.
export function changes(list) {
  if (!list?.length) return null;
  return [h('p', { class: 'label' }, 'Changed since you approved it'), h('dl', { class: 'changes' }, list.map((x) => [h('dt', null, x.what), h('dd', null, h('del', null, x.before), h('ins', null, x.after))]))];
}

// risk returns the worst that the tool can do, by its annotations.
function risk(ask) {
  if (ask.skill) return `Gives the model instructions that ${ask.server} wrote`;
  const a = ask.tool?.annotations ?? {};
  const outside = a.openWorldHint !== false ? ' · Reaches outside' : '';
  if (a.readOnlyHint === true) return `Only reads (${ask.server} says so)${outside}`;
  return (a.destructiveHint !== false ? 'Can delete or overwrite' : 'Changes things') + outside;
}

const targets = /(^|[_.\- ])(paths?|files?|filename|dir|directory|folder|root|source|src|destination|dest|dst|target|from|to|cc|bcc|ur[il]|host|address|recipients?|email|channel|user|account|repo|repository|branch|database|db|table|command|cmd|sql|query|script|code|id|key|name)($|[_.\- ])/i;

// targetsFirst orders arguments: targets of the call first, then short values, then long ones.
function targetsFirst(args) {
  if (args === null || typeof args !== 'object' || Array.isArray(args)) return args;
  const rank = ([k, v]) => targets.test(k.replace(/([a-z])([A-Z])/g, '$1_$2')) ? 0 : JSON.stringify(v).length <= 60 ? 1 : 2;
  return Object.fromEntries(Object.entries(args).map((e, i) => [rank(e), i, e]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((x) => x[2]));
}

function flow(ask, answer) {
  const parts = choices(ask, answer);
  return [h('p', { class: 'wrap' }, ask.message), h('p', null, 'Data of ', h('strong', null, ask.from), ' to ', h('strong', null, ask.server)), data(ask.call?.arguments ?? {}),
    h('div', { class: 'actions' }, button('Allow once', { class: 'primary', onclick: () => answer('once') }), !ask.eachTime && button('Allow for this session', { onclick: () => answer('session') }), button('Deny', { class: 'deny', onclick: () => answer('deny') }), parts.buttons), parts.place];
}

const mute = (ask, answer) => button('Mute ' + ask.server, { class: 'quiet', title: `Decline this and all further questions from ${ask.server}`, onclick: () => answer('mute') });

function formAsk(ask, answer) {
  const f = form(ask.schema, { raw: false, secret: ask.secret });
  const send = () => { if (!f.problems().length) answer('accept', f.value()); };
  f.el.addEventListener('keydown', (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.target.matches('input'))) { e.preventDefault(); send(); } });
  const wary = ask.secret?.length ? h('p', { class: 'state bad block' }, icon('warn'), `${ask.server} asks for what looks like a secret (${ask.secret.join(', ')}). Servers must not ask for secrets in forms: decline if you are not sure. Your input is hidden here and is sent to ${ask.server}.`) : null;
  return [wary, h('p', { class: 'wrap quote' }, ask.message), f.el, h('p', { class: 'soft' }, 'Your input is sent to ', h('strong', null, ask.server), '. Never send passwords this way.'),
    h('div', { class: 'actions' }, button('Send', { class: 'primary', onclick: send }, 'ok'), button('Decline', { onclick: () => answer('decline') }), button('Cancel', { class: 'quiet', onclick: () => answer('cancel') }), mute(ask, answer))];
}

function url(ask, answer) {
  const u = webAddress(ask.url);
  const open = u && openLink(u, 'Open this page');
  open?.addEventListener('click', () => answer('accept'));
  return [h('p', { class: 'wrap quote' }, ask.message), h('p', { class: 'label' }, 'Full address'), u ? wholeAddress(u) : h('p', { class: 'address' }, h('code', null, ask.url)),
    u ? h('p', { class: 'soft' }, h('strong', null, ask.server), ' sent this address. Open it only if you trust the site. ', coded(u)) : problem(notOpened(ask.url)),
    h('div', { class: 'actions' }, open, button('Decline', { onclick: () => answer('decline') }), button('Cancel', { class: 'quiet', onclick: () => answer('cancel') }), mute(ask, answer))];
}

function sampling(ask, answer) {
  const p = ask.sampling ?? {};
  const blocks = (c) => Array.isArray(c) ? c : [c];
  const words = (c) => blocks(c).filter((x) => x?.type === 'text').map((x) => x.text).join('\n');
  const wants = [p.systemPrompt && [h('p', { class: 'label' }, 'Instructions from the server to the model'), h('p', { class: 'wrap quote' }, p.systemPrompt)],
    (p.messages ?? []).map((m) => h('div', { class: 'chat-entry ' + (m.role === 'assistant' ? 'model' : 'person') }, h('span', { class: 'role' }, m.role), blocks(m.content).map((c) => block(c))))];
  if (!ask.draft) return [h('p', { class: 'wrap' }, ask.message), wants, p.maxTokens && h('p', { class: 'soft' }, `At most ${p.maxTokens} tokens.`), h('div', { class: 'actions' }, button('Allow', { class: 'primary', onclick: () => answer('accept') }), button('Decline', { class: 'deny', onclick: () => answer('decline') }), mute(ask, answer))];
  const before = words(ask.draft.content);
  const text = h('textarea', { class: 'grow', rows: 3, value: before, 'aria-label': 'What is sent to the server' });
  return [h('p', { class: 'wrap' }, ask.message), h('details', null, h('summary', null, 'What the server asked for'), wants), h('p', { class: 'label' }, 'The model’s answer; you can edit it'), text,
    h('div', { class: 'actions' }, button('Send', { class: 'primary', onclick: () => text.value === before ? answer('accept') : answer('accept', text.value) }), button('Decline', { class: 'deny', onclick: () => answer('decline') }), mute(ask, answer))];
}

// inline is the session whose questions the chat view shows.
let inline = '';
export function showsInline(session) { inline = session; draw(); }

let place, heading;

// draw lists the questions, the newest first. While the person is busy with one
// of them the others keep their places, so that no button slips away: new ones
// come last then.
function draw() {
  if (!place) return;
  const all = [...state.asks.values()].filter((a) => !(inline && a.session === inline));
  for (const id of made.keys()) if (!state.asks.has(id)) made.delete(id);
  const want = all.map(card).reverse();
  const cards = [...place.children].filter((el) => el !== heading);
  for (const el of cards) if (!want.includes(el)) el.remove();
  const busy = place.matches(':hover') || place.contains(document.activeElement);
  for (const el of want.filter((x) => !cards.includes(x)).reverse()) {
    if (busy) place.append(el); else heading.after(el);
  }
  if (!busy) want.forEach((el, i) => { if (place.children[i + 1] !== el) place.insertBefore(el, place.children[i + 1] ?? null); });
  heading.replaceChildren(want.length === 1 ? '1 question' : `${want.length} questions`, want.length > 1 ? h('span', { class: 'soft' }, 'newest first') : '');
  place.hidden = !want.length;
}

// tray shows open questions in every view.
export function tray() {
  place = document.getElementById('tray');
  heading = h('h2');
  place.append(heading);
  place.addEventListener('mouseleave', draw);
  let before = new Set();
  on('asks', () => {
    const now = new Set(state.asks.keys());
    for (const [id, a] of state.asks) if (!before.has(id)) announce(`${a.server} has a question. Press a to go to it.`);
    const held = place.contains(document.activeElement);
    before = now;
    draw();
    if (held && !place.contains(document.activeElement)) (document.querySelector('.ask') ?? document.getElementById('main')).focus();
  });
  draw();
}

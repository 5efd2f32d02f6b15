// The chat view: messages, tool calls and questions.

import { h, button, fill, icon, announce, problem, visible, warnings, alertLine } from './dom.js';
import * as api from './api.js';
import { count, day, millis, usage } from './format.js';
import { markdown } from './markdown.js';
import { on, resume, spent, state, turns } from './store.js';
import { data, result, text } from './content.js';
import { card, showsInline } from './asks.js';
import { tree } from './json.js';
import { taskStatus, toBackground } from './tasks.js';
import { findLink } from './runs.js';
import { takeDraft, viewOf } from './apps.js';
import { callWord, mark } from './words.js';

export const name = 'chat';
export const title = 'Chat';

const kept = new Map(); // tool calls seen live, in order, by session, with their whole results
const mostKept = 8, mostCalls = 100; // sessions, and calls of each
let view;

export function show(parts, signal) {
  view = new Chat(signal);
  view.open(parts[1] ?? '');
  return view.el;
}
export function move(parts) {
  if ((parts[1] ?? '') !== view.id) view.open(parts[1] ?? '');
  return true;
}

class Chat {
  constructor(signal) {
    this.signal = signal;
    this.list = h('ul');
    this.log = h('div', { class: 'chat-log', role: 'log', 'aria-label': 'Conversation', tabindex: 0 });
    this.asks = h('div', { class: 'inline-asks' });
    this.input = h('textarea', { rows: 1, class: 'grow', 'data-search': true, 'aria-label': 'Message', placeholder: 'Ask something', 'aria-describedby': 'compose-hint', onkeydown: (e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); this.send(); } } });
    this.sendIt = button('Send', { class: 'primary', onclick: () => this.send() }, 'send');
    this.stop = button('Stop', { class: 'deny', onclick: () => api.post(`sessions/${this.id}/stop`).catch((e) => announce(e.message)) }, 'stop');
    this.model = h('select', { 'aria-label': 'Model', onfocus: () => this.models(), onpointerdown: () => this.models(), onchange: () => this.choose() });
    this.label = h('span', { class: 'modellabel' });
    this.cost = h('span', { class: 'soft', role: 'status' });
    this.drawer = h('div', { class: 'side-panel', hidden: true });
    this.wrong = alertLine();
    this.elsewhere = h('div', { class: 'actions', hidden: true }, button('Take over', { title: 'Continue here; the other process continues in a copy', onclick: () => this.takeOver() }), button('Continue in a copy', { onclick: () => this.copy() }, 'copy'));
    this.waiting = h('ul', { class: 'queued', 'aria-label': 'Queued messages', hidden: true });
    this.redo = button('Redo', { class: 'small', hidden: true, title: 'Bring back the turn that was removed', onclick: () => this.bringBack() }, 'to');
    this.undo = button('Undo', { class: 'small', title: 'Remove the last turn from the conversation', onclick: () => this.takeBack() }, 'from');
    this.el = h('div', { class: 'split chatbox' },
      h('aside', { class: 'sessions', 'aria-label': 'Sessions' }, h('div', { class: 'sessions-head' }, h('h2', null, 'Sessions'), button('New session', { class: 'small', onclick: () => { location.hash = '#/chat'; this.input.focus(); } }, 'plus')), this.list),
      h('div', { class: 'talk' }, h('h1', { class: 'unseen' }, 'Chat'),
        h('div', { class: 'talk-head' }, this.model, this.label, this.cost, this.undo, this.redo, button('What the model saw', { class: 'small', onclick: () => this.saw() }, 'eye'), button('Permissions', { class: 'small', onclick: () => this.rules() }, 'key')),
        h('div', { class: 'scrollbox', onscroll: (e) => { const b = e.currentTarget; this.bottom = b.scrollTop + b.clientHeight > b.scrollHeight - 60; } }, h('h2', { class: 'unseen' }, 'Conversation'), this.log, this.asks),
        h('div', { class: 'composer' }, this.wrong, this.elsewhere, this.waiting, h('div', { class: 'compose-row' }, this.input, this.sendIt, this.stop), h('p', { class: 'soft compose-hint', id: 'compose-hint' }, h('code', null, '@server:uri'), ' attaches a resource, ', h('code', null, '/server:prompt'), ' uses a prompt.'))),
      this.drawer);
    this.box = this.log.parentElement;
    this.bottom = true;
    on('sessions', () => this.drawList(), signal);
    on('chat', (list) => this.onEvents(list), signal);
    on('asks', () => this.drawAsks(), signal);
    on('reload', () => this.open(this.id), signal);
    on('moved', (list) => this.moved(list), signal);
    on('delivered', (list) => { if (list.includes(this.id) && !state.busy.has(this.id)) this.refetch(); }, signal);
    on('model', () => this.drawModel(), signal);
    signal.addEventListener('abort', () => showsInline(''));
    document.addEventListener('draft', (e) => { if (e.detail.session === this.id) { e.preventDefault(); this.draft(e.detail.text); } }, { signal });
    document.addEventListener('shut', () => { this.drawer.hidden = true; }, { signal });
    this.drawModel();
    this.refreshList();
  }

  async open(id) {
    this.id = id;
    this.drawer.hidden = true;
    this.bottom = true;
    this.refused();
    showsInline(id);
    this.messages = [];
    this.redo.hidden = true;
    this.drawQueue([]);
    this.drawList();
    this.summary = null;
    if (id) {
      try {
        if (!await this.fetch(id)) return;
      } catch (e) { this.wrong.textContent = e.message; }
    }
    this.draw();
    const text = takeDraft();
    if (text) this.draft(text);
  }

  // draft puts a message that a view suggested into the input.
  draft(text) {
    this.input.value = this.input.value.trim() ? this.input.value + '\n' + text : text;
    this.input.focus();
    announce('The suggested message is in the input. It is not sent yet.');
  }

  // fetch loads a session and reports whether it is still the one to show. A
  // running turn is shown from its events, not from its saved messages.
  async fetch(id) {
    const asked = this.asking = {};
    const got = await api.get('sessions/' + encodeURIComponent(id));
    if (this.id !== id || this.asking !== asked) return false;
    this.summary = got.session;
    this.views = got.views ?? {};
    this.drawQueue(got.queue ?? []);
    this.messages = (got.messages ?? []).slice(0, got.turn ? got.turn.before : undefined);
    if (!got.turn) this.settle(id);
    if (!got.turn && this.tail?.id !== id) this.tail = { id, list: [...(got.notices ?? []), got.problem && { kind: 'error', text: got.problem }, got.stop && { kind: 'done', stop: got.stop }].filter(Boolean) };
    else resume(id, got.turn);
    return true;
  }

  // settle drops the events of a finished turn, whose messages are saved, and
  // keeps its tool calls, errors and notices.
  settle(id) {
    const live = turns.get(id) ?? [];
    if (live.at(-1)?.kind !== 'done') return;
    const seen = new Map();
    for (const e of live) if (e.kind === 'tool') seen.set(e.call.id, e.call);
    const all = [...(kept.get(id) ?? []), ...seen.values()].slice(-mostCalls);
    kept.delete(id);
    kept.set(id, all);
    if (kept.size > mostKept) kept.delete(kept.keys().next().value);
    this.tail = { id, list: live.filter((e) => e.kind === 'error' || e.kind === 'notice' || e.kind === 'done' && e.stop !== 'end') };
    turns.delete(id);
  }

  drawModel() {
    const m = state.model;
    fill(this.model, h('option', { selected: true }, !m ? 'No model' : m.provider === 'none' ? 'none' : `${m.provider}/${m.name}`));
    fill(this.label, m?.label && [icon('warn'), m.label], (!m || m.provider === 'none') && state.can.connect && h('a', { to: '/connect' }, 'Connect a model'));
    this.asked = false;
  }

  async models() {
    if (this.asked) return;
    this.asked = true;
    const now = this.model.value;
    try {
      const got = await api.get('models');
      const names = [...new Set([now, ...got.models])];
      fill(this.model, names.map((n) => h('option', { value: n, selected: n === now }, n)));
    } catch { this.asked = false; }
  }

  async choose() {
    this.wrong.textContent = '';
    try { await api.post('model', { name: this.model.value }); } catch (e) { this.wrong.textContent = e.message; this.drawModel(); }
  }

  async refreshList() {
    try { state.sessions = (await api.get('sessions')).sessions; this.drawList(); } catch { /* the banner says it */ }
  }

  drawList() {
    const all = state.sessions;
    fill(this.list, all.length ? all.map((x) => h('li', { class: x.id === this.id ? 'now' : null }, h('a', { to: '/chat/' + encodeURIComponent(x.id), 'aria-current': x.id === this.id ? 'true' : null }, h('strong', null, x.title || 'Untitled'), h('span', { class: 'soft' }, state.busy.has(x.id) ? 'working …' : day(x.changed), usage(x.usage) && ' · ' + usage(x.usage))),
      button('Delete ' + (x.title || 'session'), { bare: true, class: 'small', onclick: () => this.remove(x) }, 'bin'))) : h('li', { class: 'soft none' }, 'No sessions yet.'));
  }

  async remove(x) {
    if (!confirm(`Delete “${x.title || 'Untitled'}”? This cannot be undone.`)) return;
    try { await api.post(`sessions/${encodeURIComponent(x.id)}/delete`); if (this.id === x.id) location.hash = '#/chat'; } catch (e) { announce(e.message); }
    this.refreshList();
  }

  async send() {
    const words = this.input.value.trim();
    if (!words) return;
    this.refused();
    try {
      if (state.busy.has(this.id)) {
        await api.post(`sessions/${encodeURIComponent(this.id)}/queue`, { text: words });
        this.input.value = '';
        announce('Queued. The model gets it after this step.');
        return;
      }
      this.redo.hidden = true;
      if (!this.id) {
        const made = await api.post('sessions');
        this.id = made.id;
        this.messages = [];
        showsInline(this.id);
        history.replaceState(null, '', '#/chat/' + encodeURIComponent(this.id));
      }
      this.bottom = this.undo.hidden = true;
      await api.post(`sessions/${encodeURIComponent(this.id)}/send`, { text: words });
      this.input.value = '';
    } catch (e) { this.draw(); this.refused(e); }
  }

  // refused shows an error, or clears it. A session that is open in another
  // process can be taken over or copied.
  refused(e) {
    this.wrong.textContent = e ? e.message : '';
    this.elsewhere.hidden = !e?.openIn;
  }

  async takeOver() {
    try {
      await api.post(`sessions/${encodeURIComponent(this.id)}/take-over`);
      this.refused();
      announce('The session is open here now');
      if (await this.fetch(this.id)) this.draw();
      this.input.focus();
    } catch (e) { this.refused(e); }
  }

  async copy() {
    try {
      const made = await api.post(`sessions/${encodeURIComponent(this.id)}/copy`);
      location.hash = '#/chat/' + encodeURIComponent(made.id);
      this.refreshList();
      this.input.focus();
    } catch (e) { this.refused(e); }
  }

  // drawQueue shows the messages that wait for the running step. Editing one takes
  // it out of the queue.
  drawQueue(all) {
    this.waiting.hidden = !all.length;
    fill(this.waiting, all.map((q) => h('li', null, icon('pause'), h('span', { class: 'grow1' }, q.typed, q.problem && problem(q.problem)), button('Edit', { class: 'small', title: 'Take the message back into the input', onclick: () => this.unqueue(q) }))));
  }

  async unqueue(q) {
    try {
      await api.post(`sessions/${encodeURIComponent(this.id)}/unqueue`, { id: q.id });
      this.input.value = this.input.value.trim() ? q.typed + '\n' + this.input.value : q.typed;
      this.input.focus();
    } catch (e) { this.refused(e); }
  }

  // takeBack removes the last turn and puts its text into the input.
  takeBack() {
    return this.change('undo', (was) => {
      if (!this.input.value.trim()) this.input.value = was.text;
      this.redo.hidden = false;
      return 'The last turn was removed.';
    });
  }

  bringBack() {
    return this.change('redo', (was) => {
      if (this.input.value === was.text) this.input.value = '';
      return 'The turn is back. Its calls were not made again.';
    });
  }

  // change undoes or redoes a turn, and says what its calls have changed.
  async change(how, done) {
    const id = this.id;
    this.refused();
    try {
      const was = await api.post(`sessions/${encodeURIComponent(id)}/${how}`);
      kept.delete(id); // its last calls are gone
      if (this.id !== id) return;
      this.redo.hidden = true;
      const list = [{ kind: 'notice', text: done(was) }];
      const made = (was.calls ?? []).map((c) => `${c.server}/${c.tool}${c.about ? ` (${c.about})` : ''}${c.outcome ? `, ${c.outcome}` : ''}`);
      if (was.unknown) made.push(`${was.unknown} calls of an older version`);
      if (how === 'undo' && made.length) list.push({ kind: 'notice', text: 'What these calls changed stays: ' + made.join('; ') + '.' });
      if (!await this.fetch(id)) return;
      this.tail = { id, list };
      this.draw();
      this.refreshList();
      this.input.focus();
    } catch (e) { this.refused(e); }
  }

  onEvents(list) {
    let over = false;
    for (const e of list) {
      if (!e || e.session !== this.id) { if (e?.kind === 'done') this.refreshList(); continue; }
      if (e.kind === 'done') over = true;
      if (e.kind === 'queue') { this.drawQueue(e.queue ?? []); continue; }
      if (e.kind === 'turn') { this.redo.hidden = true; this.refreshList(); }
      if (e.seq <= this.drawn) continue;
      if (e.kind === 'text' && this.live) { this.live.more(e.text); continue; }
      this.stale = true;
    }
    if (over) { this.finish(); return; }
    if (this.stale) this.draw();
    this.down();
  }

  // moved updates the cards of calls in the background, whose turn has ended.
  moved(list) {
    for (const e of list) {
      const seen = kept.get(e.session);
      const at = seen?.findIndex((c) => c.id === e.call.id) ?? -1;
      if (at >= 0) seen[at] = e.call;
    }
    if (list.some((e) => e.session === this.id)) this.draw();
  }

  async refetch() {
    try { if (!await this.fetch(this.id)) return false; } catch (e) { this.wrong.textContent = e.message; }
    this.draw();
    this.down();
    return true;
  }

  async finish() {
    if (!await this.refetch()) return;
    this.refreshList();
    announce('The answer is complete');
  }

  draw() {
    this.stale = false;
    this.live = null;
    const live = turns.get(this.id) ?? [];
    const items = [];
    this.drawn = live.reduce((n, e) => Math.max(n, e.seq ?? 0), 0);
    this.history(items, this.messages);
    this.now(items, live);
    if (this.tail?.id === this.id && !live.length) items.push(...this.tail.list.map(note));
    if (!items.length) items.push(this.welcome());
    fill(this.log, items);
    const busy = state.busy.has(this.id);
    this.stop.hidden = !busy;
    this.sendIt.hidden = busy;
    this.undo.hidden = busy || !this.id || !this.messages.length;
    fill(this.cost, usage(spent.get(this.id) ?? this.summary?.usage));
    this.drawAsks();
    this.down();
  }

  welcome() {
    const tries = [['Add 20 and 22', 'calc'], ['Search the notes for garden', 'notes'], ['List the tables of the shop', 'shop']].filter(([, s]) => state.servers.has(s));
    return h('div', { class: 'empty' }, h('p', null, 'No messages yet.'), tries.length ? h('p', { class: 'soft' }, 'Try one of these:') : null, h('div', { class: 'choices' }, tries.map(([t]) => button(t, { onclick: () => { this.input.value = t; this.input.focus(); } }))));
  }

  // history draws saved messages. Calls that were seen live keep their cards;
  // older calls are drawn from the saved messages.
  history(items, messages) {
    const all = messages.flatMap((m) => m.parts.filter((p) => p.kind === 'tool_call'));
    const seen = kept.get(this.id) ?? [];
    const results = new Map();
    for (const m of messages) for (const p of m.parts) if (p.kind === 'tool_result') results.set(p.result.call_id, p.result);
    let n = 0;
    for (const m of messages) {
      for (const p of m.parts) {
        if (p.kind === 'text' && m.role !== 'tool') items.push(m.role === 'user' ? person(p.text) : new Model(p.text).el);
        else if (p.kind === 'thinking') items.push(thinking(p.text));
        else if (p.kind === 'tool_call') {
          const at = seen.length - (all.length - n++);
          const known = at >= 0 && seen[at].name === p.call.name ? seen[at] : null;
          items.push(toolCard(known ?? saved(p.call, results.get(p.call.id)), this.id), viewOf(known ?? this.views?.[p.call.id], this.id));
        }
      }
    }
  }

  // now draws the running turn.
  now(items, live) {
    const cards = new Map();
    let text = null, think = null;
    for (const e of live) {
      if (e.kind === 'turn' || e.kind === 'message') { text = think = null; items.push(person(e.text)); }
      else if (e.kind === 'text') { think = null; if (text) text.add(e.text); else { text = new Model(e.text); items.push(text.el); } }
      else if (e.kind === 'thinking') { text = null; if (think) think.lastChild.append(e.text); else { think = thinking(e.text); items.push(think); } }
      else if (e.kind === 'tool') {
        text = think = null;
        if (!cards.has(e.call.id)) { cards.set(e.call.id, items.length); items.push(null); }
        items[cards.get(e.call.id)] = e.call;
      } else if (e.kind !== 'done') { text = null; items.push(note(e)); }
    }
    for (const i of cards.values()) items[i] = [toolCard(items[i], this.id, this.folds ??= new Map()), viewOf(items[i], this.id)];
    text?.show();
    this.live = text;
    if (state.busy.has(this.id) && !live.length) items.push(h('p', { class: 'soft' }, 'Working …'));
  }

  drawAsks() {
    const mine = [...state.asks.values()].filter((a) => a.session && a.session === this.id);
    const want = mine.map(card);
    for (const el of [...this.asks.children]) if (!want.includes(el)) el.remove();
    want.forEach((el, i) => { if (this.asks.children[i] !== el) this.asks.insertBefore(el, this.asks.children[i] ?? null); });
    if (want.length) this.down();
  }

  down() { if (this.bottom) requestAnimationFrame(() => { this.box.scrollTop = this.box.scrollHeight; }); }

  // panel shows something beside the conversation.
  panel(title, ...body) {
    this.drawer.hidden = false;
    fill(this.drawer, h('section', { class: 'panel', 'aria-label': title }, h('div', { class: 'panel-head' }, h('h2', { tabindex: -1 }, title), button('Close', { bare: true, onclick: () => { this.drawer.hidden = true; } }, 'close')), body));
    this.drawer.querySelector('h2').focus();
  }

  // rules lists the rules and answers that decide about calls.
  async rules() {
    const wrong = alertLine();
    try {
      const all = (await api.get('permissions?session=' + encodeURIComponent(this.id))).permissions;
      this.panel('Permissions', h('p', { class: 'soft' }, 'Rules and answers that decide which calls run. A denial counts before everything else.'), wrong,
        Object.entries(scopes).map(([scope, title]) => [scope, title, all.filter((e) => e.scope === scope)]).filter(([, , list]) => list.length).map(([, title, list]) => [h('h3', null, title), h('ul', { class: 'rules' }, list.map((e) => this.rule(e, wrong)))]));
    } catch (e) { this.panel('Permissions', problem(e)); }
  }

  // rule shows a rule. Remove must be pressed twice.
  rule(e, wrong) {
    const [word, sign, tone] = effects[e.effect];
    const name = e.tool !== '*' ? e.server + '/' + e.tool : e.server === '*' ? 'all tools' : 'all tools of ' + e.server;
    const remove = button('Remove', { class: 'small deny', 'aria-label': `Remove: ${word} ${name}`, onclick: async () => {
      if (!remove.dataset.sure) {
        remove.dataset.sure = 'yes';
        fill(remove, 'Remove now');
        remove.setAttribute('aria-label', `Remove now: ${visible(word + ' ' + name)}`);
        return;
      }
      try {
        await api.post('permissions/remove', { id: e.id, session: this.id });
        await this.rules();
        announce('Removed');
      } catch (err) { wrong.textContent = err.message; }
    } });
    return h('li', null, h('div', { class: 'grow1' }, h('span', { class: 'state ' + tone }, icon(sign), word), ' ', h('strong', null, name), e.about && ' ' + e.about, h('p', { class: 'soft' }, e.from, e.since && ' of ' + day(e.since), e.folder && !e.off && ', for ' + e.folder, e.off && ' (not here: ' + e.off + ')', e.fixed && '; to change: ' + e.fixed)), !e.fixed && state.can.remove && remove);
  }

  // saw shows the last request to the model.
  async saw() {
    const frame = (...body) => this.panel('What the model saw', ...body);
    if (!this.id) { frame(h('p', { class: 'soft' }, 'No request was sent to the model yet.')); return; }
    try {
      const r = await api.get(`sessions/${encodeURIComponent(this.id)}/request`);
      frame(h('p', { class: 'soft' }, 'The complete last request to the model.'),
        r.system && [h('h3', null, 'System prompt'), h('p', { class: 'wrap quote' }, r.system)],
        h('h3', null, count((r.tools ?? []).length, 'tool')), (r.tools ?? []).map((t) => h('details', null, h('summary', null, h('code', null, t.name)), h('p', { class: 'wrap' }, t.description), tree(JSON.stringify(t.schema ?? {})))),
        h('h3', null, count(r.messages.length, 'message')), r.messages.map((m) => h('details', null, h('summary', null, h('strong', null, m.role), ' ', h('span', { class: 'soft' }, m.parts.map((p) => p.kind).join(', '))), m.parts.map((p) => p.kind === 'text' ? h('pre', { class: 'plain', tabindex: 0 }, p.text) : p.kind === 'tool_call' ? data(p.call) : p.kind === 'tool_result' ? (p.result.parts ?? []).map((x) => h('pre', { class: 'plain', tabindex: 0 }, x.text ?? x.kind)) : h('p', { class: 'wrap' }, p.text ?? p.mime ?? '')))));
    } catch (e) { frame(h('p', { class: 'soft' }, e.message)); }
  }
}

const scopes = { 'command line': 'Command line', session: 'This session', project: 'This project', user: 'Everywhere', default: 'Without a rule' };
const effects = { allow: ['Allow', 'ok', 'ok'], ask: ['Ask about', 'ask', 'wait'], deny: ['Deny', 'bad', 'bad'] };

const person = (t) => h('div', { class: 'chat-entry person' }, h('span', { class: 'role' }, 'You'), h('p', { class: 'wrap' }, t));
const thinking = (t) => h('details', { class: 'thinking' }, h('summary', null, 'Thinking'), h('p', { class: 'wrap soft' }, t));

const ends = { cancelled: 'Stopped.', length: 'The answer was cut off at the token limit.', refusal: 'The model refused to answer.' };

function note(e) {
  if (e.kind === 'error') return problem(e.text);
  if (e.kind === 'done') return ends[e.stop] ? h('p', { class: 'soft' }, ends[e.stop]) : null;
  return h('p', { class: 'state wait block wrap' }, icon('warn'), e.text);
}

// A Model is an answer that is being streamed.
class Model {
  constructor(t) {
    this.text = t;
    this.body = h('div');
    this.el = h('div', { class: 'chat-entry model' }, h('span', { class: 'role' }, 'Model'), state.model?.label ? h('span', { class: 'unseen' }, state.model.label) : null, this.body);
    this.show();
  }
  add(t) { this.text += t; }
  more(t) { this.text += t; if (!this.due) this.due = requestAnimationFrame(() => { this.due = 0; this.show(); }); }
  show() { fill(this.body, markdown(this.text)); }
}

// ended returns the phase of a saved call. Sessions of older versions only know
// that a call failed.
function ended(r) {
  if (!r?.is_error) return { phase: r ? 'done' : 'cancelled' };
  return r.outcome === 'failed' ? { phase: 'done', result: { isError: true } } : { phase: r.outcome === 'error' ? 'failed' : r.outcome || 'failed', code: r.code };
}

// saved returns the card of a saved call.
function saved(call, r) {
  const [server, tool] = call.name.split('__');
  return { id: call.id, server: tool ? server : '', tool: tool ?? call.name, name: call.name, arguments: call.arguments, ...ended(r), forModel: (r?.parts ?? []).map((p) => p.text ?? `[${p.kind}]`).join('\n') };
}

// toolCard shows a call: its tool, arguments, permission and result.
function toolCard(c, session, folds) {
  const open = folds?.get(c.id) ?? (c.phase === 'failed' || c.phase === 'running' || c.phase === 'done' && !(c.ui && state.can.views)); // a view shows it
  const el = h('details', { class: 'card', open, ontoggle: () => folds?.set(c.id, el.open) },
    h('summary', null, icon('tool'), h('span', { class: 'grow1' }, c.server && h('strong', null, c.server + ' › '), h('strong', null, c.title || c.tool)), mark(callWord(c)), c.tookMs !== undefined && h('span', { class: 'soft' }, millis(c.tookMs))),
    h('div', { class: 'card-body' }, h('p', { class: 'label' }, 'Arguments'), data(c.arguments ?? {}),
      c.rule && h('p', { class: 'label' }, c.rule), warnings(c.warnings),
      c.task && c.phase === 'running' ? h('div', { class: 'progress' }, taskStatus(c.task), c.message && h('span', { class: 'soft' }, c.message), !c.task.background && button('Run in background', { class: 'small', onclick: () => toBackground({ server: c.server, id: c.task.id }) }))
        : c.phase === 'running' && c.progress ? h('div', { class: 'progress' }, c.total ? h('progress', { max: c.total, value: c.progress, 'aria-label': 'Progress' }) : h('progress', { 'aria-label': 'Progress' }), h('span', { class: 'soft' }, c.message)) : null,
      c.result?.content && [h('p', { class: 'label' }, 'Result'), result(c.result)], c.problem && h('p', { class: 'wrap' }, c.problem),
      c.server && ['running', 'done', 'failed'].includes(c.phase) && h('div', { class: 'tools' }, findLink('Its messages', { session, call: c.id })),
      c.forModel && h('details', null, h('summary', null, 'What the model received'), text(c.forModel), c.handle && h('p', { class: 'soft' }, 'Shortened. The whole result has the handle ', h('code', null, c.handle)))));
  return el;
}

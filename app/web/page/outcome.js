// The pane beside the arguments: the runs of a tool, and of one run its result,
// its messages and the log lines of its server while it ran.

import { h, button, fill, icon, announce, copyButton, problem } from './dom.js';
import * as api from './api.js';
import { bytes, clock, millis } from './format.js';
import { on } from './store.js';
import { failure, result } from './content.js';
import { stringify } from './numbers.js';
import { tree } from './json.js';
import { logLine } from './logs.js';
import { sides } from './diff.js';
import { unmatched } from './status.js';
import { runsOf, wholeRun } from './runs.js';
import { callWord, counting, mark } from './words.js';

// renderers may show a result in their own way: functions of the element, and of
// {server, tool, run} with the definition of the tool and the call. The first
// that returns true has shown it.
export const renderers = [];

const parts = [['result', 'Result'], ['messages', 'Messages'], ['logs', 'Logs']];

export class Outcome {
  // hooks: reuse(arguments) fills the form, again(arguments) runs the tool, and
  // open(uri) shows a resource.
  constructor(server, tool, signal, hooks) {
    Object.assign(this, { server, tool, signal, hooks, part: 'result', id: '', other: '' });
    this.chips = h('div', { class: 'run-chips', role: 'group', 'aria-label': 'Runs of this tool' });
    this.tabs = h('div', { class: 'segments', role: 'tablist', 'aria-label': 'This run' }, this.makeTabs());
    this.meta = h('div', { class: 'run-meta' });
    this.result = h('div', { class: 'outcome', role: 'region', 'aria-label': 'Result', tabindex: -1 });
    this.messages = h('div', { class: 'run-messages' });
    this.logs = h('ol', { class: 'logs', 'aria-label': 'Log lines of this run' });
    this.comparison = h('div', { class: 'run-compare' });
    this.el = h('section', { class: 'outcome-pane', 'aria-label': 'Runs' }, h('div', { class: 'outcome-top' }, this.tabs, this.chips), this.meta, this.result, this.messages, this.logs, this.comparison);
    on('run', (list) => { for (const r of list) if (r.server === server && r.tool === tool.name) this.onRun(r); }, signal);
    on('wire', (pieces) => { if (this.run()?.phase === 'running' && pieces.flat().some((m) => m.server === server)) this.fetchSoon(); }, signal);
    this.select(runsOf(server, tool.name).at(-1)?.id ?? '');
  }

  run() { return runsOf(this.server, this.tool.name).find((r) => r.id === this.id); }

  // select shows a run; an empty id means that there is none yet.
  select(id) {
    this.id = id;
    this.other = '';
    this.shown = '';
    this.unmatched = null;
    this.draw();
    if (id) this.fetch();
  }

  onRun(r) {
    if (!this.id) { this.select(runsOf(this.server, this.tool.name).at(-1).id); return; }
    if (r.id === this.id) { this.draw(); if (r.phase !== 'running') this.fetch(); } else this.drawChips();
  }

  draw() {
    const r = this.run();
    this.drawTabs();
    this.drawChips();
    if (!r) {
      fill(this.meta);
      fill(this.result, h('div', { class: 'empty soft' }, h('p', null, 'No result yet.'), h('p', null, 'Fill in the arguments and press Run. The result, the messages of the call and its log lines appear here.')));
    } else {
      this.drawMeta(r);
      const now = r.id + r.phase + (r.omitted ?? ''); // progress must not draw a result again
      if (this.shown !== now || r.phase === 'running') { this.shown = now; this.drawResult(r); }
    }
    this.toggle();
  }

  // makeTabs makes the three tabs once: one that is replaced while it is pressed
  // loses the click.
  makeTabs() {
    return parts.map(([id, text], i) => button(text, { role: 'tab', onclick: () => { this.part = id; this.other = ''; this.draw(); },
      onkeydown: (e) => { const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key]; if (step) { e.preventDefault(); const b = this.tabs.children[(i + step + parts.length) % parts.length]; b.click(); b.focus(); } } }));
  }

  drawTabs() {
    const n = { messages: this.found?.messages.length, logs: this.found?.lines.length };
    parts.forEach(([id, text], i) => {
      const b = this.tabs.children[i], now = this.part === id;
      b.setAttribute('aria-selected', String(now));
      b.tabIndex = now ? 0 : -1;
      fill(b, text, this.id && n[id] !== undefined ? h('span', { class: 'n' }, n[id]) : null);
    });
  }

  drawChips() {
    const all = runsOf(this.server, this.tool.name).toReversed();
    fill(this.chips, all.map((r) => {
      const w = callWord(r), ok = w[1] === 'ok';
      return h('button', { type: 'button', class: 'run-chip ' + w[1], 'aria-pressed': String(r.id === this.id), 'aria-label': ok ? `#${r.n} ${millis(r.ms)}, ok` : null, onclick: () => this.select(r.id) }, '#' + r.n, ' ', ok ? h('span', null, millis(r.ms)) : counting(w));
    }), all.length > 1 && this.id ? this.compareChoice(all) : null);
  }

  // compareChoice chooses the run to compare with the one that is shown.
  compareChoice(all) {
    const sel = h('select', { class: 'small', 'aria-label': 'Compare with another run', onchange: () => { this.other = sel.value; this.drawCompare(); this.toggle(); } },
      h('option', { value: '' }, 'Compare with …'), all.filter((r) => r.id !== this.id).map((r) => h('option', { value: r.id, selected: r.id === this.other }, '#' + r.n)));
    return sel;
  }

  drawMeta(r) {
    fill(this.meta, mark(callWord(r), `#${r.n} `), r.ms !== undefined && h('span', null, millis(r.ms)), h('time', null, clock(r.at)),
      h('span', { class: 'actions' }, button('Use these arguments', { class: 'small quiet', onclick: () => this.hooks.reuse(r.arguments ?? {}) }), button('Run again', { class: 'small', onclick: () => this.hooks.again(r.arguments ?? {}) }, 'again')));
  }

  drawResult(r) {
    if (r.phase === 'running') {
      const p = r.progress;
      const bar = h('progress', { 'aria-label': 'Progress' });
      if (p?.total > 0) { bar.max = Number(p.total); bar.value = Number(p.progress); }
      fill(this.result, h('div', { class: 'progress' }, bar, h('span', { class: 'soft' }, p ? p.message || (p.total ? `${p.progress} of ${p.total}` : String(p.progress)) : 'Waiting for the server …')),
        this.unmatched && h('p', { class: 'state bad block wrap' }, icon('warn'), 'The server has sent a response that belongs to no request: its id is wrong. ', h('a', { to: '/wire/' + this.unmatched }, 'Open it in Wire')));
      return;
    }
    if (r.omitted) {
      fill(this.result, h('p', { class: 'soft' }, 'Loading the result …'));
      wholeRun(r.id).catch((e) => { if (this.id === r.id) fill(this.result, problem(e)); });
      return;
    }
    const place = h('div');
    fill(this.result, place, r.phase === 'cancelled' ? h('p', { class: 'soft' }, 'You cancelled this call.') : r.error && failure({ ...r, code: 0 })); // the status has the code
    if (r.result && !renderers.some((f) => f(place, { server: this.server, tool: this.tool, run: r }))) fill(place, result(r.result, { problem: r.problem, onresource: this.hooks.open }));
  }

  fetchSoon() { this.due ??= setTimeout(() => { this.due = null; if (!this.signal.aborted) this.fetch(); }, 300); }

  async fetch() {
    const id = this.id, mine = this.asked = (this.asked ?? 0) + 1;
    const found = await api.get(`runs/${encodeURIComponent(id)}/messages`).catch(() => null);
    // A response with a wrong id ends no call: say so instead of waiting.
    const r = this.run();
    const near = r?.phase === 'running' ? await api.get(`wire?limit=50&server=${encodeURIComponent(this.server)}`).catch(() => null) : null;
    if (this.signal.aborted || id !== this.id || mine < this.got) return; // a later one has arrived
    this.got = mine;
    this.found = found;
    this.unmatched = near?.messages.find((m) => m.seq > r.after && unmatched(m))?.seq;
    if (this.unmatched) this.draw();
    this.drawTabs();
    this.drawFound();
  }

  drawFound() {
    const { messages = [], lines = [] } = this.found ?? {};
    const open = new Set([...this.messages.querySelectorAll('details[open]')].map((d) => d.dataset.seq));
    fill(this.messages, messages.map((m) => message(m, open.has(String(m.seq)))), !messages.length && h('p', { class: 'empty soft' }, 'No messages: the call was not sent, or they are no longer in the log.'));
    fill(this.logs, lines.map(logLine), !lines.length && h('li', { class: 'empty soft' }, 'The server logged nothing during this run.'));
  }

  drawCompare() {
    const a = runsOf(this.server, this.tool.name).find((r) => r.id === this.other);
    const b = this.run();
    if (!a || !b) { fill(this.comparison); return; }
    if (a.omitted) {
      fill(this.comparison, h('p', { class: 'soft' }, 'Loading the result …'));
      wholeRun(a.id).then(() => this.drawCompare(), (e) => fill(this.comparison, problem(e)));
      return;
    }
    const [x, y] = a.n < b.n ? [a, b] : [b, a];
    const text = (r) => stringify(r.result ?? { error: r.error, code: r.code, data: r.data }, 2);
    fill(this.comparison, h('h3', null, 'Arguments'), sides(stringify(x.arguments ?? {}, 2), stringify(y.arguments ?? {}, 2), `Run ${x.n}`, `Run ${y.n}`),
      h('h3', null, 'Result'), sides(text(x), text(y), `Run ${x.n} · ${millis(x.ms)}`, `Run ${y.n} · ${millis(y.ms)}`), h('div', { class: 'actions' }, button('Close comparison', { class: 'small', onclick: () => { this.other = ''; this.draw(); } })));
    announce(`Comparing run ${x.n} with run ${y.n}`);
  }

  toggle() {
    const comparing = !!this.other;
    this.comparison.hidden = !comparing;
    this.result.hidden = comparing || this.part !== 'result';
    this.messages.hidden = comparing || this.part !== 'messages';
    this.logs.hidden = comparing || this.part !== 'logs';
  }
}

const kinds = { response: 'result', error: 'error', notification: 'notification' };

// message shows one message, which opens to its JSON.
export function message(m, open) {
  const body = h('div');
  let loaded = false;
  const load = async () => {
    if (loaded) return;
    loaded = true;
    try {
      const one = await api.get('wire/' + m.seq);
      fill(body, /^\s*[[{]/.test(one.frame) ? tree(one.frame) : h('pre', { class: 'plain', tabindex: 0 }, one.frame), h('div', { class: 'actions' }, h('a', { class: 'button small', to: '/wire/' + m.seq }, 'Open in Wire'), copyButton(one.frame, 'JSON')));
    } catch (e) { fill(body, h('p', { class: 'soft' }, e.message)); }
  };
  const el = h('details', { class: 'run-message', open, ontoggle: () => { if (el.open) load(); } },
    h('summary', null, icon(m.sent ? 'to' : 'from'), h('code', null, kinds[m.kind] && m.kind !== 'notification' ? kinds[m.kind] : m.method), h('span', { class: 'soft' }, m.id ? 'id ' + m.id : ''), h('span', { class: 'soft' }, bytes(m.size)),
      h('span', { class: 'took' }, m.ms ? millis(m.ms) : ''), m.problems ? h('span', { class: 'state bad' }, icon('warn'), String(m.problems)) : null), body);
  el.dataset.seq = m.seq;
  if (open) load();
  return el;
}

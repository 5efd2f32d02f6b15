// One tool: its arguments as a form with a Run button that stays in sight, and
// beside them its runs.

import { h, button, fill, icon, announce, copyButton, alertLine, warnings } from './dom.js';
import * as api from './api.js';
import { millis } from './format.js';
import { badge } from './links.js';
import { on } from './store.js';
import { stringify } from './numbers.js';
import { copied } from './schema.js';
import { form } from './form.js';
import { changes } from './asks.js';
import { tree } from './json.js';
import { lintTool } from './lint.js';
import { Outcome } from './outcome.js';
import { cancelRun, loadRuns, runsOf, startRun } from './runs.js';
import { callWord, mark } from './words.js';

const marks = { readOnlyHint: 'Only reads', destructiveHint: 'Can delete or overwrite', idempotentHint: 'Idempotent', openWorldHint: 'Reaches outside' };

function annotations(a) {
  const named = Object.entries(marks).filter(([k]) => a?.[k] === true);
  return named.length ? h('span', { class: 'chips', title: 'What the server says about this tool. Not verified.' }, named.map(([, text]) => h('span', { class: 'chip' }, text))) : null;
}

const drafts = new Map(); // typed arguments by server and tool, while the page is open

// A Tool is the form of a tool with its Run button, and its runs.
export class Tool {
  constructor(server, t, signal) {
    this.server = server;
    this.tool = t;
    this.draft = JSON.stringify([server, t.name]);
    this.form = form(t.inputSchema, { label: t.name, value: drafts.get(this.draft), oninput: (v) => drafts.set(this.draft, v) });
    this.held = h('div');
    this.unfit = h('div', { class: 'unfit' });
    this.runIt = button('Run', { class: 'primary', 'aria-keyshortcuts': 'Control+Enter', onclick: () => this.call() }, 'play');
    this.stop = button('Cancel', { hidden: true, onclick: () => this.running().forEach((r) => cancelRun(r.id)) }, 'stop');
    this.last = h('span', { class: 'last soft' });
    this.outcome = new Outcome(server, t, signal, {
      reuse: (args) => { drafts.set(this.draft, copied(args)); this.form.set(copied(args)); announce('Arguments filled in'); },
      again: (args) => this.send(args),
      open: (uri) => { location.hash = '#/' + ['drive', server, 'resources', uri].map(encodeURIComponent).join('/'); },
    });
    this.el = h('div', { class: 'tool', onkeydown: (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey || e.target.matches('.fields input'))) { e.preventDefault(); this.call(); } } },
      h('div', { class: 'tool-body' },
        h('h2', null, badge(t.icons), t.title || t.annotations?.title || t.name), h('p', { class: 'chips' }, h('code', null, t.name), annotations(t.annotations)),
        t.description && h('p', { class: 'wrap' }, t.description), this.held, schemaWarnings(t), this.form.el,
        h('p', { class: 'tool-links' }, copyButton(() => `tenon call ${quote(server)} ${quote(t.name)} ${quote(stringify(this.form.value() ?? {}))}`, 'Copy as tenon call')),
        h('details', null, h('summary', null, 'Definition'), tree(JSON.stringify(t)))),
      h('div', { class: 'runbar' }, this.unfit, h('div', { class: 'runbar-row' }, this.runIt, this.stop, h('kbd', { class: 'unphone' }, 'Ctrl Enter'), this.last)));
    on('run', (list) => { if (list.some((r) => r.server === server && r.tool === t.name)) this.drawBar(); }, signal);
    this.drawBar();
    this.drawHeld();
    loadRuns(server, t.name).catch(() => {});
  }

  running() { return runsOf(this.server, this.tool.name).filter((r) => r.phase === 'running'); }

  drawBar() {
    const all = runsOf(this.server, this.tool.name);
    this.stop.hidden = !this.running().length;
    this.runIt.disabled = this.running().length > 0;
    const r = all.findLast((x) => x.phase !== 'running');
    if (!r) { fill(this.last); return; }
    fill(this.last, 'Last: ', mark(callWord(r)), ' ', millis(r.ms));
  }

  // drawHeld shows why a tool is hidden from the model or what has changed since
  // it was approved, with a button to approve it.
  async drawHeld() {
    const { tools } = await api.get('tools').catch(() => ({ tools: [] }));
    const now = tools.find((x) => x.server === this.server && x.tool.name === this.tool.name);
    if (!now?.held && !now?.changes?.length) { fill(this.held); return; }
    const wrong = alertLine();
    const approve = async () => {
      wrong.textContent = '';
      try { await api.post('tools/approve', { server: this.server, tool: this.tool.name, digest: now.digest }); announce('Approved'); this.drawHeld(); } catch (e) { wrong.textContent = e.message; }
    };
    fill(this.held, h('section', { class: 'note held', 'aria-label': 'Needs approval' },
      h('p', { class: 'state wait block' }, icon('warn'), now.held ? `Hidden from the model: ${now.held}.` : 'The tool or its server has changed since you approved it. You are asked before it runs.'),
      changes(now.changes), warnings(now.warnings),
      h('div', { class: 'actions' }, button('Approve', { class: 'primary', onclick: approve }, 'ok')), wrong));
  }

  // call runs the tool with the arguments of the form, if they fit.
  call() {
    if (this.runIt.disabled) return;
    if (this.form.problems().length) {
      fill(this.unfit, h('p', { class: 'state bad' }, icon('bad'), 'These arguments do not fit the schema.'), button('Send anyway', { class: 'small', onclick: () => this.send(this.form.value()) }));
      announce('The arguments do not fit the schema');
      return;
    }
    this.send(this.form.value());
  }

  async send(args) {
    fill(this.unfit);
    this.runIt.disabled = true;
    try {
      const r = await startRun(this.server, this.tool.name, copied(args));
      this.outcome.select(r.id);
      if (document.getElementById('main').clientWidth < 1000) this.outcome.el.scrollIntoView({ block: 'start' });
    } catch (e) {
      fill(this.unfit, h('p', { class: 'state bad' }, icon('bad'), e.message));
      this.runIt.disabled = false;
    }
  }
}

const quote = (s) => /^[\w./:@-]+$/.test(s) ? s : "'" + String(s).replace(/'/g, `'\\''`) + "'";

// schemaWarnings lists what is wrong with the schemas of a tool.
function schemaWarnings(t) {
  const all = lintTool(t);
  return all.length ? h('details', { class: 'schema-warnings' }, h('summary', null, h('span', { class: 'state wait' }, icon('warn'), all.length === 1 ? '1 warning about the schema' : all.length + ' warnings about the schemas')), h('ul', null, all.map((w) => h('li', null, h('code', null, w.at), ' ', w.text)))) : null;
}

// One server: its tools as forms, its resources, prompts and log lines.

import { h, button, fill, icon, announce, copyButton } from './dom.js';
import * as api from './api.js';
import { ago, clock, millis } from './format.js';
import { badge } from './links.js';
import { muted } from './muted.js';
import { phase } from './phases.js';
import { calls, detail, details, on, state } from './store.js';
import { form } from './form.js';
import { changes } from './asks.js';
import { block, contents, result } from './content.js';
import { tree } from './json.js';

export const name = 'drive';
export const title = 'Server';

const tabs = [['tools', 'Tools'], ['resources', 'Resources'], ['prompts', 'Prompts'], ['logs', 'Logs'], ['about', 'About']];
const address = (...parts) => '/' + ['drive', ...parts].map(encodeURIComponent).join('/');
let view;

export function show(parts, signal) {
  view = new Drive(parts[1] ?? '', signal);
  view.open(parts);
  return view.el;
}

export function move(parts) {
  if (view.server !== parts[1]) return false;
  view.open(parts);
  return true;
}

const usable = (d) => d.phase === 'ready' || d.phase === 'degraded';
const keyOf = (d) => JSON.stringify([d.tools, d.resources, d.templates, d.prompts]);

class Drive {
  constructor(server, signal) {
    this.server = server;
    this.signal = signal;
    this.head = h('div', { class: 'drive-head' });
    this.tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Parts of ' + server });
    this.body = h('div', { class: 'drive-body', role: 'tabpanel', tabindex: -1 });
    this.el = h('div', { class: 'page' }, this.head, this.tabs, this.body);
    on('servers', (names) => { if (names.includes(server) || names.includes(null)) { this.drawHead(); if (!details.has(server)) this.changed(); } }, signal);
    this.drawHead();
  }

  open(parts) {
    const tab = tabs.some(([id]) => id === parts[2]) ? parts[2] : 'tools';
    const item = parts.slice(3).join('/');
    if (this.tab === tab && this.item === item && this.drawn) return;
    this.tab = tab;
    this.item = item;
    this.draw();
  }

  drawHead() {
    const one = state.servers.get(this.server);
    if (!one) {
      fill(this.head, h('h1', null, this.server));
      return;
    }
    const act = (path) => async () => { try { await api.post(`${api.server(this.server)}/${path}`); } catch (e) { announce(e.message); } };
    fill(this.head, h('a', { class: 'back', to: '/server/' + encodeURIComponent(this.server) }, 'Anatomy'), h('h1', null, this.face, this.server), phase(one.phase), one.revision && h('span', { class: 'soft mono' }, one.revision),
      h('span', { class: 'actions' }, h('a', { class: 'button small', to: '/wire/all/' + encodeURIComponent(this.server) }, 'Messages'), button(one.phase === 'disabled' ? 'Switch on' : 'Restart', { class: 'small', onclick: act('restart') }, 'again')), muted(this.server));
  }

  // changed redraws only if the lists differ: a result or a half-filled form
  // must survive a short failure of the server.
  async changed() {
    const d = await detail(this.server).catch(() => null);
    if (this.signal.aborted || !d || this.key && (!usable(d) || d.problems.length || this.key === keyOf(d))) return;
    this.draw();
  }

  async draw() {
    this.drawn = true;
    const one = state.servers.get(this.server);
    if (!one) { fill(this.body, h('p', { class: 'empty' }, 'No server has this name.')); return; }
    let d;
    const asked = detail(this.server);
    const late = setTimeout(() => fill(this.body, h('p', { class: 'soft' }, 'Loading …')), 200);
    try { d = await asked; } catch (e) { clearTimeout(late); fill(this.body, h('p', { class: 'state bad block' }, icon('bad'), e.message)); return; }
    clearTimeout(late);
    if (this.signal.aborted) return;
    this.face = badge(d.server?.icons);
    if (this.face) this.drawHead();
    const n = { tools: d.tools.length, resources: d.resources.length + d.templates.length, prompts: d.prompts.length };
    fill(this.tabs, tabs.map(([id, text]) => h('a', { role: 'tab', id: 'tab-' + id, 'aria-selected': String(id === this.tab), to: address(this.server, id), onkeydown: (e) => this.arrows(e) }, text, n[id] ? h('span', { class: 'n' }, n[id]) : null)));
    this.body.setAttribute('aria-labelledby', 'tab-' + this.tab);
    this.key = usable(d) ? keyOf(d) : '';
    const down = !usable(d) && this.tab !== 'logs' && this.tab !== 'about';
    this.part?.abort();
    this.part = new AbortController();
    this.signal.addEventListener('abort', () => this.part.abort());
    if (down) { fill(this.body, h('div', { class: 'empty' }, h('p', null, phase(one.phase)), one.why && h('p', { class: 'wrap' }, one.why), h('p', { class: 'soft' }, 'Tools, resources and prompts appear when the server is ready.'))); return; }
    fill(this.body, (d.problems ?? []).map((p) => h('p', { class: 'state bad block' }, icon('warn'), p)),
      { tools: () => this.tools(d), resources: () => this.resources(d), prompts: () => this.prompts(d), logs: () => logs(this.server, this.part.signal), about: () => aboutServer(d) }[this.tab]());
  }

  arrows(e) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const all = [...this.tabs.children];
    const next = all[(all.indexOf(e.currentTarget) + step + all.length) % all.length];
    next.focus();
  }

  // list returns the left side: the items, with a filter.
  list(items, key, tab, empty, more) {
    if (!items.length) return h('div', { class: 'empty' }, h('p', null, empty));
    const rows = items.map((i) => {
      const a = h('a', { to: address(this.server, tab, key(i)), 'aria-current': key(i) === this.item ? 'true' : null }, h('strong', null, i.title || i.annotations?.title || i.name || key(i)), (i.title || i.uri || i.uriTemplate) && h('code', null, i.uri ?? i.uriTemplate ?? i.name), i.description && h('span', { class: 'soft two' }, i.description));
      a.dataset.find = [i.name, i.title, i.description, i.uri, i.uriTemplate].join(' ').toLowerCase();
      return h('li', null, a);
    });
    const find = h('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter the list', 'data-search': true, oninput: () => { const q = find.value.toLowerCase(); for (const r of rows) r.hidden = !r.firstChild.dataset.find.includes(q); } });
    return h('div', { class: 'list' }, items.length > 6 && find, h('ul', null, rows), more && h('p', { class: 'soft' }, 'Only the first part is listed; the server has more.'));
  }

  two(list, detailed) { return h('div', { class: 'two-sides' + (this.item ? ' chosen' : '') }, list, h('div', { class: 'detail' }, detailed)); }

  tools(d) {
    if (!this.item && d.tools.length && matchMedia('(min-width: 800px)').matches) this.item = d.tools[0].name;
    const t = d.tools.find((x) => x.name === this.item);
    return this.two(this.list(d.tools, (x) => x.name, 'tools', 'This server has no tools.', d.more?.tools), t ? new Tool(this.server, t, this.part.signal).el : h('p', { class: 'empty soft' }, this.item ? 'This tool no longer exists.' : 'Choose a tool.'));
  }

  resources(d) {
    const all = [...d.resources, ...d.templates];
    const key = (x) => x.uri ?? x.uriTemplate;
    const r = d.resources.find((x) => x.uri === this.item);
    const t = d.templates.find((x) => x.uriTemplate === this.item);
    const body = t ? template(this.server, t, this.part.signal) : this.item ? resource(this.server, this.item, r, this.part.signal) : h('p', { class: 'empty soft' }, 'Choose a resource. Those with {braces} are templates to fill in.');
    return this.two(this.list(all, key, 'resources', 'This server has no resources.', d.more?.resources), body);
  }

  prompts(d) {
    if (!this.item && d.prompts.length && matchMedia('(min-width: 800px)').matches) this.item = d.prompts[0].name;
    const p = d.prompts.find((x) => x.name === this.item);
    return this.two(this.list(d.prompts, (x) => x.name, 'prompts', 'This server has no prompts.', d.more?.prompts), p ? prompt(this.server, p, this.part.signal) : h('p', { class: 'empty soft' }, 'Choose a prompt.'));
  }
}

const marks = { readOnlyHint: ['Only reads', true], destructiveHint: ['Can delete or overwrite', true], idempotentHint: ['Idempotent', true], openWorldHint: ['Reaches outside', true] };

function annotations(a) {
  const said = Object.entries(marks).filter(([k, [, want]]) => a?.[k] === want);
  return said.length ? h('span', { class: 'chips', title: 'What the server says about this tool. Not verified.' }, said.map(([, [text]]) => h('span', { class: 'chip' }, text))) : null;
}

// A Tool is the form of a tool, its Run button and the result.
class Tool {
  constructor(server, t, signal) {
    this.server = server;
    this.tool = t;
    this.form = form(t.inputSchema, { label: t.name });
    this.held = h('div');
    this.run = button('Run', { class: 'primary', title: 'Ctrl+Enter', onclick: () => this.call() }, 'play');
    this.stop = button('Cancel', { hidden: true, onclick: () => api.post('cancel/' + this.id).catch(() => {}) }, 'stop');
    this.progress = h('div', { class: 'progress', hidden: true }, h('progress', { 'aria-label': 'Progress' }), h('span', { class: 'soft' }));
    this.out = h('div', { class: 'outcome', role: 'region', 'aria-label': 'Result', tabindex: -1 });
    this.el = h('div', { class: 'tool', onkeydown: (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey || e.target.matches('.fields input'))) { e.preventDefault(); this.call(); } } },
      h('h2', null, badge(t.icons), t.title || t.annotations?.title || t.name), h('p', { class: 'chips' }, h('code', null, t.name), annotations(t.annotations)),
      t.description && h('p', { class: 'wrap' }, t.description), this.held,
      this.form.el, h('div', { class: 'actions' }, this.run, this.stop), this.progress, this.out,
      h('details', null, h('summary', null, 'Definition'), tree(JSON.stringify(t))));
    on('call', (list) => { for (const c of list) if (c.id === this.id) this.heard(c); }, signal);
    this.drawHeld();
  }

  // drawHeld shows why a tool is hidden from the model or what has changed since
  // it was approved, with a button to approve it.
  async drawHeld() {
    const { tools } = await api.get('tools').catch(() => ({ tools: [] }));
    const now = tools.find((x) => x.server === this.server && x.tool.name === this.tool.name);
    if (!now?.held && !now?.changes?.length) { fill(this.held); return; }
    const wrong = h('p', { class: 'wrong', role: 'alert' });
    const approve = async () => {
      wrong.textContent = '';
      try { await api.post('tools/approve', { server: this.server, tool: this.tool.name, digest: now.digest }); announce('Approved'); this.drawHeld(); } catch (e) { wrong.textContent = e.message; }
    };
    fill(this.held, h('section', { class: 'note held', 'aria-label': 'Needs approval' },
      h('p', { class: 'state wait block' }, icon('warn'), now.held ? `Hidden from the model: ${now.held}.` : 'The tool or its server has changed since you approved it. You are asked before it runs.'),
      changes(now.changes), (now.warnings ?? []).map((w) => h('p', { class: 'state wait block' }, icon('warn'), w)),
      h('div', { class: 'actions' }, button('Approve', { class: 'primary', onclick: approve }, 'ok')), wrong));
  }

  async call() {
    if (this.run.disabled) return;
    const wrong = this.form.problems();
    if (wrong.length && !this.despite) {
      fill(this.out, h('p', { class: 'state bad block' }, icon('bad'), 'These arguments do not fit the schema. '), button('Send anyway', { class: 'small', onclick: () => { this.despite = true; this.call(); } }));
      announce('The arguments do not fit the schema');
      return;
    }
    this.despite = false;
    this.run.disabled = true;
    fill(this.out);
    this.began = performance.now();
    this.waiting = setTimeout(() => { this.stop.hidden = false; this.progress.hidden = false; this.progress.firstChild.removeAttribute('value'); }, 300);
    try {
      const c = await api.post(api.server(this.server) + '/call', { tool: this.tool.name, arguments: this.form.value() });
      this.id = c.id;
      const early = calls.get(c.id);
      if (early) this.heard(early);
    } catch (e) {
      this.heard({ phase: 'failed', error: e.message });
    }
  }

  heard(c) {
    if (c.phase === 'running') {
      if (!c.progress) return;
      this.progress.hidden = false;
      this.stop.hidden = false;
      const bar = this.progress.firstChild;
      if (c.progress.total > 0) { bar.max = c.progress.total; bar.value = c.progress.progress; } else bar.removeAttribute('value');
      fill(this.progress.lastChild, c.progress.message || (c.progress.total ? `${c.progress.progress} of ${c.progress.total}` : String(c.progress.progress)));
      return;
    }
    clearTimeout(this.waiting);
    this.id = null;
    this.run.disabled = false;
    this.stop.hidden = this.progress.hidden = true;
    const head = h('p', { class: 'outcome-head' }, c.phase === 'done' && !c.result?.isError ? h('span', { class: 'state ok' }, icon('ok'), 'Result') : c.phase === 'cancelled' ? h('span', { class: 'state off' }, icon('off'), 'Cancelled') : c.phase === 'denied' ? h('span', { class: 'state bad' }, icon('off'), 'Denied') : h('span', { class: 'state bad' }, icon('bad'), c.phase === 'done' ? 'The tool failed' : 'The call failed'), c.ms !== undefined && h('span', { class: 'soft' }, millis(c.ms)));
    fill(this.out, head, c.result && result(c.result, { onresource: (uri) => { location.hash = '#' + address(this.server, 'resources', uri); } }), c.error && c.phase !== 'cancelled' && h('p', { class: 'wrap mono' }, c.error, c.code ? ` (${c.code})` : ''));
    announce(c.phase === 'done' ? 'Result received' : c.phase === 'denied' ? c.error : 'The call ' + c.phase);
  }
}

// resource shows a resource and can subscribe to its changes.
function resource(server, uri, r, signal) {
  const out = h('div');
  const when = h('span', { class: 'soft' });
  let id = '';
  const read = async () => {
    try {
      const got = await api.post(api.server(server) + '/read', { uri });
      fill(out, (got.contents ?? []).map(contents));
      if (!got.contents?.length) fill(out, h('p', { class: 'soft' }, 'The resource is empty.'));
    } catch (e) { fill(out, h('p', { class: 'state bad block wrap' }, icon('bad'), e.message)); }
  };
  const watch = button('Watch', { 'aria-pressed': 'false', onclick: async () => {
    if (id) { api.post('cancel/' + id).catch(() => {}); over('Stopped watching.'); return; }
    try {
      id = (await api.post(api.server(server) + '/watch', { uri })).id;
      watch.setAttribute('aria-pressed', 'true');
      watch.lastChild.textContent = 'Watching';
      fill(when, 'Reads the resource again when the server reports a change.');
    } catch (e) { fill(when, e.message); }
  } }, 'eye');
  const over = (why) => { id = ''; watch.setAttribute('aria-pressed', 'false'); watch.lastChild.textContent = 'Watch'; fill(when, why); };
  on('updated', (list) => {
    for (const u of list) {
      if (u.id !== id || !id) continue;
      if (u.ended) over('The server ended the subscription: ' + u.ended);
      else if (u.method === 'notifications/resources/updated') { fill(when, 'Changed at ' + clock(Date.parse(u.at) * 1000)); read(); }
    }
  }, signal);
  signal.addEventListener('abort', () => { if (id) api.post('cancel/' + id).catch(() => {}); });
  read();
  return [h('h2', { class: 'wrap' }, r?.title || r?.name || uri), h('p', null, h('code', { class: 'wrap' }, uri)), r?.description && h('p', { class: 'wrap' }, r.description),
    h('div', { class: 'actions' }, button('Read again', { onclick: read }, 'again'), watch, when), out];
}

// suggest offers the server's completions for an argument while it is typed.
function suggest(server, ref, name, input, others) {
  const id = 'sug' + Math.random().toString(36).slice(2);
  const list = h('datalist', { id });
  input.setAttribute('list', id);
  let timer, n = 0;
  const ask = async () => {
    const mine = ++n;
    try {
      const rest = others();
      const c = await api.post(api.server(server) + '/complete', { ref, argument: { name, value: input.value }, ...(Object.keys(rest).length ? { context: { arguments: rest } } : {}) });
      if (mine === n) fill(list, (c.completion?.values ?? []).slice(0, 100).map((v) => h('option', { value: v })));
    } catch { /* no suggestions then */ }
  };
  input.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(ask, 150); });
  input.addEventListener('focus', ask, { once: true });
  return list;
}

// fields returns text inputs for the arguments of prompts and templates.
function fields(server, ref, names, submit) {
  const inputs = new Map();
  const rest = (but) => Object.fromEntries([...inputs].filter(([k, i]) => k !== but && i.value).map(([k, i]) => [k, i.value]));
  const rows = names.map(({ name, title, description, required }, n) => {
    const input = h('input', { id: `arg${n}`, autocomplete: 'off', 'aria-required': required ? 'true' : null, 'aria-describedby': description ? `arg${n}d` : null, onkeydown: (e) => { if (e.key === 'Enter') { e.preventDefault(); submit(); } } });
    inputs.set(name, input);
    return h('div', { class: 'row' }, h('div', { class: 'name' }, h('label', { for: `arg${n}` }, title || name), !required && h('span', { class: 'hint' }, 'optional')), input, suggest(server, ref, name, input, () => rest(name)), description && h('span', { class: 'about', id: `arg${n}d` }, description));
  });
  return { el: h('div', { class: 'fields' }, rows), values: () => rest() };
}

const operator = (expr) => ({ op: /^[+#./;?&]/.test(expr) ? expr[0] : '', names: expr.replace(/^[+#./;?&]/, '').split(',').map((v) => v.replace(/(\*|:\d+)$/, '')) });

// expand fills a URI template (RFC 6570) with texts.
function expand(text, values) {
  return text.replace(/\{([^{}]+)\}/g, (_, expr) => {
    const { op, names } = operator(expr);
    const enc = (v) => op === '+' || op === '#' ? encodeURI(v) : encodeURIComponent(v).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
    const given = names.filter((n) => values[n] !== undefined);
    if (!given.length) return '';
    const [first, sep, named] = { '': ['', ','], '+': ['', ','], '#': ['#', ','], '.': ['.', '.'], '/': ['/', '/'], ';': [';', ';', 1], '?': ['?', '&', 1], '&': ['&', '&', 1] }[op];
    return first + given.map((n) => (named ? n + '=' : '') + enc(values[n])).join(sep);
  });
}

function template(server, t, signal) {
  const names = [...t.uriTemplate.matchAll(/\{([^{}]+)\}/g)].flatMap((m) => operator(m[1]).names);
  const out = h('div');
  const open = () => fill(out, resource(server, expand(t.uriTemplate, f.values()), null, signal));
  const f = fields(server, { type: 'ref/resource', uri: t.uriTemplate }, [...new Set(names)].map((name) => ({ name, required: true })), open);
  return [h('h2', null, t.title || t.name), h('p', null, h('code', { class: 'wrap' }, t.uriTemplate)), t.description && h('p', { class: 'wrap' }, t.description), f.el, h('div', { class: 'actions' }, button('Read', { class: 'primary', onclick: open }, 'right')), out];
}

function prompt(server, p) {
  const out = h('div', { role: 'region', 'aria-label': 'Preview' });
  const fillIn = async () => {
    try {
      const got = await api.post(api.server(server) + '/prompt', { name: p.name, arguments: f.values() });
      fill(out, got.description && h('p', { class: 'soft' }, got.description), (got.messages ?? []).map((m) => h('div', { class: 'said ' + (m.role === 'assistant' ? 'model' : 'person') }, h('span', { class: 'role' }, m.role), block(m.content))));
    } catch (e) { fill(out, h('p', { class: 'state bad block wrap' }, icon('bad'), e.message)); }
  };
  const f = fields(server, { type: 'ref/prompt', name: p.name }, p.arguments ?? [], fillIn);
  return [h('h2', null, badge(p.icons), p.title || p.name), p.description && h('p', { class: 'wrap' }, p.description), f.el,
    h('div', { class: 'actions' }, button('Preview', { class: 'primary', onclick: fillIn }, 'eye'), copyButton(() => `/${server}:${p.name} ` + Object.entries(f.values()).map(([k, v]) => `${k}=${JSON.stringify(v)}`).join(' '), 'Copy for the chat')), out];
}

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

// logs shows the log messages and the stderr of a server.
function logs(server, signal) {
  const list = h('ol', { class: 'logs', tabindex: 0, 'aria-label': 'Log lines' });
  const level = h('select', { 'aria-label': 'Lowest level', onchange: () => draw() }, levels.map((l) => h('option', { value: l, selected: l === 'debug' }, l + ' and above')));
  let lines = [];
  const draw = () => {
    const low = levels.indexOf(level.value);
    const shown = lines.filter((l) => l.source === 'stderr' || levels.indexOf(l.level) >= low);
    fill(list, shown.length ? shown.map((l) => h('li', { class: 'log ' + (levels.indexOf(l.level) >= 4 ? 'bad' : l.level === 'warning' ? 'wait' : '') }, h('time', null, clock(l.at)), h('span', { class: 'level' }, l.source === 'stderr' ? 'stderr' : l.level), h('span', { class: 'wrap' }, l.logger && h('em', null, l.logger + ' '), l.text))) : h('li', { class: 'empty' }, 'No log lines yet. Log messages and stderr appear here.'));
  };
  const load = async () => { try { lines = (await api.get(api.server(server) + '/logs')).lines; draw(); } catch (e) { fill(list, h('li', null, e.message)); } };
  let due;
  on('wire', (pieces) => { if (!due && pieces.flat().some((m) => m.server === server && (m.kind === 'stderr' || m.method === 'notifications/message'))) due = setTimeout(() => { due = 0; load(); }, 400); }, signal);
  load();
  return h('div', { class: 'logbox' }, h('div', { class: 'actions' }, level), list);
}

function aboutServer(d) {
  return h('div', { class: 'aboutbox' },
    h('dl', { class: 'facts' }, [['Name', d.name], ['Reported name', d.server && `${d.server.title ?? d.server.name} ${d.server.version ?? ''}`], ['Command or URL', h('code', { class: 'wrap' }, d.transport)], ['Protocol version', d.revision], ['Up for', d.starts ? ago(d.started) : '']].filter(([, v]) => v).map(([k, v]) => [h('dt', null, k), h('dd', null, v)])),
    d.instructions && [h('h3', null, 'Instructions to the model'), h('p', { class: 'wrap quote' }, d.instructions)],
    d.capabilities && [h('h3', null, 'Capabilities'), tree(JSON.stringify(d.capabilities))],
    d.stderr && [h('h3', null, 'Standard error'), h('pre', { class: 'plain', tabindex: 0 }, d.stderr)]);
}

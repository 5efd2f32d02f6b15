// One server: its tools with their runs, its resources and prompts, its tasks and
// skills, its logs and problems, and requests written by hand.

import { h, button, fill, icon, announce, problem } from './dom.js';
import * as api from './api.js';
import { millis, count } from './format.js';
import { badge } from './links.js';
import { muted } from './muted.js';
import { called, news } from './offers.js';
import { phase } from './phases.js';
import { detail, details, on, state } from './store.js';
import { tree } from './json.js';
import { lintTool } from './lint.js';
import { prompt, resource, template } from './features.js';
import { aboutServer, skillList, taskList } from './about.js';
import { logs } from './logs.js';
import { countProblems, groups, problems } from './problems.js';
import { request } from './send.js';
import { Tool } from './run.js';
import { transports, usable } from './servers.js';

export const name = 'drive';
export const title = 'Server';

const tabs = [['tools', 'Tools'], ['resources', 'Resources'], ['prompts', 'Prompts'], ['skills', 'Skills'], ['tasks', 'Tasks'], ['request', 'Request'], ['logs', 'Logs'], ['problems', 'Problems'], ['about', 'About']];
const always = new Set(['logs', 'about', 'problems', 'tasks']); // also while the server is down
const address = (...parts) => '/' + ['drive', ...parts].map(encodeURIComponent).join('/');
let view;

export function show(parts, signal) {
  view = new View(parts[1] ?? '', signal);
  view.open(parts);
  return view.el;
}

export function move(parts) {
  if (view.server !== parts[1]) return false;
  view.open(parts);
  return true;
}

const keyOf = (d) => JSON.stringify([d.tools, d.resources, d.templates, d.prompts, d.broken, d.skills]);
const some = 50; // items of a list that are drawn at once

// listed draws the items around one of them, with buttons for the others.
function listed(ul, makes, chosen) {
  const begin = Math.max(0, Math.floor(chosen / some) * some);
  const part = (from, to) => makes.slice(from, to).map((make) => make());
  const more = (from, step) => {
    const to = from + step;
    if (from <= 0 && step < 0 || from >= makes.length) return null;
    const li = h('li', null, button(`Show ${Math.min(to, makes.length) > from ? `${from + 1} to ${Math.min(to, makes.length)}` : `${Math.max(0, to) + 1} to ${from}`} of ${makes.length}`, { class: 'small', onclick: () => {
      const rows = step < 0 ? part(to, from) : part(from, to);
      li.replaceWith(...[step < 0 && more(to, step), ...rows, step > 0 && more(to, step)].filter(Boolean));
      rows[0].firstChild.focus();
    } }));
    return li;
  };
  fill(ul, more(begin, -some), part(begin, begin + some), more(begin + some, some));
}

const wide = () => document.getElementById('main').clientWidth >= 800;

class View {
  constructor(server, signal) {
    this.server = server;
    this.signal = signal;
    this.stats = new Map();
    this.head = h('div', { class: 'drive-who' });
    this.tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Parts of ' + server });
    this.acts = h('div', { class: 'drive-acts' });
    this.muted = h('div');
    this.body = h('div', { class: 'drive-body', role: 'tabpanel', tabindex: -1 });
    this.el = h('div', { class: 'page' }, h('div', { class: 'drive-head' }, this.head, this.tabs, this.acts), this.muted, this.body);
    on('servers', (names) => { if (names.includes(server) || names.includes(null)) { this.drawHead(); if (!details.has(server)) this.changed(); } }, signal);
    on('run', (list) => { if (list.some((r) => r.server === server && r.phase !== 'running')) this.refresh(); }, signal);
    on('tasks', () => { if (this.tab === 'tasks') this.draw(); else this.drawTabs(); }, signal);
    this.drawHead();
    this.refresh();
  }

  open(parts) {
    const tab = tabs.some(([id]) => id === parts[2]) ? parts[2] : 'tools';
    const item = parts.slice(3).join('/');
    if (this.tab === tab && this.item === item && this.drawn) return;
    this.tab = tab;
    this.item = item;
    this.draw();
  }

  // refresh fetches the latencies of tools and the problems of messages.
  refresh() {
    this.due ??= setTimeout(async () => {
      const [stats] = await Promise.all([api.get(api.server(this.server) + '/stats').catch(() => null), groups(this.server).catch(() => null)]);
      this.due = null;
      if (this.signal.aborted) return;
      this.stats = new Map((stats?.tools ?? []).map((t) => [t.tool, t]));
      this.drawTabs();
      for (const el of this.body.querySelectorAll('[data-stat]')) fill(el, this.latency(el.dataset.stat));
    }, 400);
  }

  latency(tool) {
    const s = this.stats.get(tool);
    return s ? `${[`p50 ${millis(s.p50)}`, `p95 ${millis(s.p95)}`, count(s.calls, 'call') + (s.failed ? `, ${s.failed} failed` : '')].map((t) => t.replace(/ /g, '\u00a0')).join(' · ')}` : '';
  }

  drawHead() {
    const one = state.servers.get(this.server);
    if (!one) { fill(this.head, h('h1', null, this.server)); fill(this.acts); return; }
    const act = (path) => async () => { try { await api.post(`${api.server(this.server)}/${path}`); } catch (e) { announce(e.message); } };
    fill(this.head, h('h1', null, this.face, this.server), this.own && h('span', { class: 'soft own' }, this.own), phase(one.phase), h('span', { class: 'soft mono' }, [one.revision, transports[one.kind] ?? one.kind].filter(Boolean).join(' · ')));
    fill(this.acts, h('a', { class: 'button small', to: '/wire/all/' + encodeURIComponent(this.server) }, 'All messages'), button(one.phase === 'disabled' ? 'Switch on' : 'Restart', { class: 'small', onclick: act('restart') }, 'again'));
    fill(this.muted, muted(this.server));
  }

  // changed redraws only if the lists differ: a half-filled form must survive a
  // short failure of the server.
  async changed() {
    const d = await detail(this.server).catch(() => null);
    if (this.signal.aborted || !d || this.key && (!usable(d) || news(d, this.d) || this.key === keyOf(d))) return;
    this.draw();
  }

  async draw() {
    this.drawn = true;
    const one = state.servers.get(this.server);
    if (!one) { fill(this.body, h('p', { class: 'empty' }, 'No server has this name.')); return; }
    let d;
    const asked = detail(this.server);
    const late = setTimeout(() => fill(this.body, h('p', { class: 'loading soft' }, 'Loading …')), 200);
    try { d = await asked; } catch (e) { clearTimeout(late); fill(this.body, problem(e)); return; }
    clearTimeout(late);
    if (this.signal.aborted) return;
    this.d = d;
    this.face = badge(d.server?.icons);
    this.own = called(d.server, this.server);
    this.drawHead();
    this.drawTabs();
    this.body.setAttribute('aria-labelledby', 'tab-' + this.tab);
    this.key = usable(d) ? keyOf(d) : '';
    this.part?.abort();
    this.part = new AbortController();
    this.signal.addEventListener('abort', () => this.part.abort());
    if (!usable(d) && !always.has(this.tab)) { fill(this.body, h('div', { class: 'empty' }, h('p', null, phase(one.phase)), one.why && h('p', { class: 'wrap' }, one.why), h('p', { class: 'soft' }, 'Tools, resources and prompts appear when the server is ready.'))); return; }
    const parts = { tools: () => this.tools(d), resources: () => this.resources(d), prompts: () => this.prompts(d), skills: () => skillList(this.server, d), tasks: () => taskList(this.server), request: () => request(this.server, d), logs: () => logs(this.server, this.part.signal), problems: () => problems(this.server, d, () => this.drawTabs()), about: () => aboutServer(d) };
    fill(this.body, parts[this.tab]());
    if (wide()) requestAnimationFrame(() => this.body.querySelector('.list [aria-current]')?.scrollIntoView({ block: 'nearest' }));
  }

  drawTabs() {
    const d = this.d;
    if (!d) return;
    const broken = (...kinds) => d.broken.filter((b) => kinds.includes(b.kind)).length;
    const n = { tools: d.tools.length + broken('tool'), resources: d.resources.length + d.templates.length + broken('resource', 'template'), prompts: d.prompts.length + broken('prompt'), skills: d.skills.length, tasks: state.tasks.filter((t) => t.server === this.server).length, problems: countProblems(this.server, d) };
    const focused = this.tabs.contains(document.activeElement) ? document.activeElement.id : '';
    fill(this.tabs, tabs.filter(([id]) => id !== 'skills' || n.skills || this.tab === id).map(([id, text]) => h('a', { role: 'tab', id: 'tab-' + id, class: id === 'problems' && n.problems ? 'bad' : { tools: 'ink-tools', resources: 'ink-resources', prompts: 'ink-prompts' }[id], 'aria-selected': String(id === this.tab), to: address(this.server, id), onkeydown: (e) => this.arrows(e) }, text, n[id] ? h('span', { class: 'n' }, n[id]) : null)));
    if (focused) document.getElementById(focused)?.focus();
  }

  arrows(e) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const all = [...this.tabs.children];
    all[(all.indexOf(e.currentTarget) + step + all.length) % all.length].focus();
  }

  // list returns the left side: the items with a filter, and the definitions of
  // the same kinds that are left out.
  list(items, key, tab, empty, more, kinds) {
    const bad = this.d.broken.map((b, i) => [b, i]).filter(([b]) => kinds.includes(b.kind));
    if (!items.length && !bad.length) return h('div', { class: 'empty' }, h('p', null, empty));
    const link = (to, cls, ...children) => h('li', null, h('a', { to: address(this.server, tab, to), class: cls, 'aria-current': to === this.item ? 'true' : null }, children));
    const all = items.map((i) => [key(i), [i.name, i.title, i.description, i.uri, i.uriTemplate], () => link(key(i), null,
      h('strong', null, i.title || i.annotations?.title || i.name || key(i), tab === 'tools' && lintTool(i).length ? h('span', { class: 'state wait', title: 'Warnings about its schema' }, icon('warn')) : null),
      tab === 'tools' ? this.under(i) : (i.title || i.uri || i.uriTemplate) && h('code', null, i.uri ?? i.uriTemplate ?? i.name), i.description && h('span', { class: 'soft two' }, i.description))]);
    all.push(...bad.map(([b, i]) => ['~' + i, [b.name, b.problem], () => link('~' + i, 'broken', h('strong', null, b.name), h('span', { class: 'two' }, 'Hidden from models: ' + b.problem))]));
    const none = h('p', { class: 'soft none', hidden: true }, 'Nothing matches.');
    const ul = h('ul', { 'data-arrows': true });
    const find = h('input', { type: 'search', placeholder: 'Search ' + tab, 'aria-label': 'Search ' + tab, 'data-search': true, oninput: () => show() });
    const show = () => {
      const q = find.value.toLowerCase();
      const fit = q ? all.filter(([, words]) => words.join(' ').toLowerCase().includes(q)) : all;
      none.hidden = fit.length > 0;
      listed(ul, fit.map(([, , make]) => make), fit.findIndex(([id]) => id === this.item));
    };
    show();
    return h('div', { class: 'list' }, all.length > 4 && find, ul, none, more && h('p', { class: 'soft' }, 'Only the first part is listed; the server has more.'));
  }

  under(t) {
    const stat = h('span', null, this.latency(t.name));
    stat.dataset.stat = t.name;
    return h('span', { class: 'under-name' }, (t.title || t.annotations?.title) && h('code', null, t.name), stat);
  }

  two(list, detailed) { return h('div', { class: 'two-sides' + (this.item ? ' chosen' : '') }, list, h('div', { class: 'detail' }, detailed)); }

  // hidden returns the detail of a definition that is left out.
  hidden() {
    const b = /^~\d+$/.test(this.item ?? '') && this.d.broken[+this.item.slice(1)];
    return b ? h('div', { class: 'tool-body' }, h('h2', { class: 'wrap' }, b.name), problem(b.problem),
      h('p', null, `This ${b.kind} cannot be used: the model does not see it, and it cannot be called. Fix its definition in the server.`), h('h3', null, 'As the server sent it'), tree(JSON.stringify(b.raw))) : null;
  }

  tools(d) {
    if (!this.item && d.tools.length && wide()) this.item = d.tools[0].name;
    const list = this.list(d.tools, (x) => x.name, 'tools', 'This server has no tools.', d.more?.tools, ['tool']);
    const t = d.tools.find((x) => x.name === this.item);
    if (!t) return this.two(list, this.hidden() ?? h('p', { class: 'empty soft' }, this.item ? 'This tool no longer exists.' : 'Choose a tool.'));
    const tool = new Tool(this.server, t, this.part.signal);
    return h('div', { class: 'two-sides three-sides chosen' }, list, h('div', { class: 'detail' }, tool.el), tool.outcome.el);
  }

  resources(d) {
    const key = (x) => x.uri ?? x.uriTemplate;
    const r = d.resources.find((x) => x.uri === this.item);
    const t = d.templates.find((x) => x.uriTemplate === this.item);
    const body = this.hidden() ?? (t ? template(this.server, t, this.part.signal) : this.item ? resource(this.server, this.item, r, this.part.signal) : h('p', { class: 'empty soft' }, 'Choose a resource. Those with {braces} are templates to fill in.'));
    return this.two(this.list([...d.resources, ...d.templates], key, 'resources', 'This server has no resources.', d.more?.resources, ['resource', 'template']), body);
  }

  prompts(d) {
    if (!this.item && d.prompts.length && wide()) this.item = d.prompts[0].name;
    const p = d.prompts.find((x) => x.name === this.item);
    return this.two(this.list(d.prompts, (x) => x.name, 'prompts', 'This server has no prompts.', d.more?.prompts, ['prompt']), this.hidden() ?? (p ? prompt(this.server, p, this.part.signal) : h('p', { class: 'empty soft' }, 'Choose a prompt.')));
  }
}

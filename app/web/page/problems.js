// The problems of a server: definitions that cannot be used, doubtful schemas,
// lists that failed, and messages that break a rule, grouped by rule.

import { h, fill, icon, button, problem } from './dom.js';
import * as api from './api.js';
import { clock, count } from './format.js';
import { lintTool } from './lint.js';

const cache = new Map(); // groups by server
const address = (...parts) => '/' + ['drive', ...parts].map(encodeURIComponent).join('/');

// groups fetches the rules that a server's messages break.
export async function groups(server) {
  const got = await api.get(api.server(server) + '/problems');
  cache.set(server, got);
  return got;
}

// countProblems returns how many kinds of problems a server has.
export function countProblems(server, d) {
  return d.broken.length + d.problems.length + d.tools.filter((t) => lintTool(t).length).length + (cache.get(server)?.groups.length ?? 0);
}

// problems shows them.
export function problems(server, d, drawn) {
  const place = h('div', { class: 'problems' });
  const draw = (got) => {
    const linted = d.tools.map((t) => [t, lintTool(t)]).filter(([, w]) => w.length);
    const none = !d.broken.length && !d.problems.length && !linted.length && !got.groups.length;
    fill(place, none && h('div', { class: 'empty' }, h('p', { class: 'state ok' }, icon('ok'), 'No problems found.'), h('p', { class: 'soft' }, 'Definitions, schemas and every message in the log were checked.')),
      section('Lists that failed', d.problems.map((p) => h('li', null, h('p', { class: 'state bad' }, icon('bad'), p)))),
      section('Definitions that are left out', d.broken.map((b, i) => h('li', null, h('a', { to: address(server, { tool: 'tools', prompt: 'prompts' }[b.kind] ?? 'resources', '~' + i) }, b.name), h('span', { class: 'chip' }, b.kind), h('p', { class: 'wrap' }, b.problem)))),
      section('Schemas', linted.map(([t, w]) => h('li', null, h('a', { to: address(server, 'tools', t.name) }, t.name), h('ul', { class: 'plainlist' }, w.map((x) => h('li', null, h('code', null, x.at), ' ', x.text)))))),
      section('Messages that break a rule', got.groups.map(rule)), got.more && h('p', { class: 'soft' }, 'Only the latest messages were checked.'),
      !none && h('div', { class: 'actions' }, button('Check again', { class: 'small', onclick: load }, 'again')));
    drawn?.();
  };
  const load = async () => { try { draw(await groups(server)); } catch (e) { fill(place, problem(e)); } };
  fill(place, h('p', { class: 'soft' }, 'Checking …'));
  load();
  return place;
}

const section = (title, items) => items.length ? h('section', null, h('h2', null, title, h('span', { class: 'n' }, items.length)), h('ul', { class: 'problem-list' }, items)) : null;

function rule(g) {
  return h('li', null, h('details', null,
    h('summary', null, h('span', { class: 'state ' + (g.severity === 'doubtful' ? 'wait' : 'bad') }, icon(g.severity === 'doubtful' ? 'warn' : 'bad'), h('code', null, g.rule)), h('span', { class: 'grow1' }, g.text), h('span', { class: 'n' }, count(g.count, 'message'))),
    g.sentence && h('p', { class: 'soft wrap' }, g.sentence, g.page && [' Specification: ', h('code', null, g.page)]),
    h('ul', { class: 'problem-messages' }, g.messages.map((m) => h('li', null, h('a', { to: '/wire/' + m.seq }, icon(m.sent ? 'to' : 'from'), h('code', null, m.method || m.kind), h('span', { class: 'soft' }, m.about), h('time', { class: 'soft' }, clock(m.at))))), g.count > g.messages.length && h('li', { class: 'soft' }, `and ${g.count - g.messages.length} earlier ones`))));
}

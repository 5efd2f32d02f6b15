// What a server says about itself, and what it was offered.

import { h, button, announce, alertLine, facts } from './dom.js';
import * as api from './api.js';
import { ago, day } from './format.js';
import { state } from './store.js';
import { tree } from './json.js';
import { levels } from './logs.js';
import { taskStatus, cancelTask } from './tasks.js';

export function aboutServer(d) {
  return h('div', { class: 'aboutbox' },
    facts(['Name', d.name], ['Reported name', d.server && `${d.server.title ?? d.server.name} ${d.server.version ?? ''}`], ['Command or URL', h('code', { class: 'wrap' }, d.transport)], ['Configured in', d.source && h('code', { class: 'wrap' }, d.source)], ['Protocol version', d.revision], ['Up for', d.starts ? ago(d.started) : '']),
    d.instructions && [h('h3', { 'aria-level': 2 }, 'Instructions to the model'), h('p', { class: 'wrap quote' }, d.instructions)],
    d.capabilities && [h('h3', { 'aria-level': 2 }, 'Capabilities'), tree(JSON.stringify(d.capabilities))],
    d.client && clientSettings(d),
    d.stderr && [h('h3', { 'aria-level': 2 }, 'Standard error'), h('pre', { class: 'plain', tabindex: 0 }, d.stderr)]);
}

// clientSettings shows, and changes, what the client declares to the server.
function clientSettings(d) {
  const level = h('select', { id: 'log-level' }, levels.map((l) => h('option', { value: l, selected: l === d.client.logLevel }, l + ' and above')));
  const roots = h('textarea', { id: 'roots', class: 'mono grow', rows: 2, spellcheck: 'false', placeholder: 'file:///home/you/project', value: (d.client.roots ?? []).map((r) => r.uri).join('\n') });
  const out = alertLine();
  const apply = button('Apply and reconnect', { onclick: async () => {
    out.textContent = '';
    apply.disabled = true;
    try {
      await api.post(api.server(d.name) + '/client', { logLevel: level.value, roots: roots.value.split('\n').map((u) => u.trim()).filter(Boolean).map((uri) => ({ uri })) });
      announce('Reconnecting');
    } catch (e) { out.textContent = e.message; }
    apply.disabled = false;
  } }, 'again');
  return [h('h3', { 'aria-level': 2 }, 'What this client declares'), h('div', { class: 'client-settings' },
    h('div', { class: 'row' }, h('label', { class: 'name', for: 'log-level' }, 'Log messages'), level),
    h('div', { class: 'row' }, h('label', { class: 'name', for: 'roots' }, 'Roots', h('span', { class: 'hint' }, 'one file URI on each line; optional')), roots, h('span', { class: 'about' }, 'Folders that the server may use. Without any, the client does not declare the capability.')),
    h('div', { class: 'actions' }, apply), out)];
}

// taskList shows the tasks of a server.
export function taskList(server) {
  const all = state.tasks.filter((t) => t.server === server).toReversed();
  return h('div', { class: 'aboutbox' }, all.length ? h('ul', { class: 'problem-list' }, all.map((t) => h('li', null, h('strong', null, t.title || t.tool), ' ', taskStatus(t), h('p', { class: 'soft' }, day(t.started), ' · ', h('code', null, t.id), t.session && [' · ', h('a', { to: '/chat/' + encodeURIComponent(t.session) }, 'Conversation')]),
    t.message && h('p', { class: 'wrap' }, t.message), t.problem && h('p', { class: 'wrap' }, t.problem), !t.over && h('div', { class: 'actions' }, button('Cancel task', { class: 'small deny', onclick: () => cancelTask(t) })))))
    : h('div', { class: 'empty' }, h('p', null, 'No tasks.'), h('p', { class: 'soft' }, 'Calls that this server runs as tasks are listed here.')));
}

// skillList shows the skills of a server; a skill is read like a resource.
export function skillList(server, d) {
  return h('div', { class: 'aboutbox' }, h('ul', { class: 'problem-list' }, d.skills.map((s) => h('li', null, h('a', { to: '/' + ['drive', server, 'resources', s.uri].map(encodeURIComponent).join('/') }, s.frontmatter?.name ?? s.name ?? s.uri), h('p', { class: 'wrap' }, s.frontmatter?.description ?? s.description ?? ''), h('code', { class: 'soft' }, s.uri)))));
}

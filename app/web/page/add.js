// Add a server: paste what its documentation shows, see exactly what would be
// written and run, and start it.

import { h, button, fill, icon, announce, problem, warnings, alertLine } from './dom.js';
import * as api from './api.js';
import { state } from './store.js';

export const name = 'add';
export const title = 'Add a server';

const examples = [
  ['Configuration', '{\n  "mcpServers": {\n    "everything": {\n      "command": "npx",\n      "args": ["-y", "@modelcontextprotocol/server-everything"]\n    }\n  }\n}'],
  ['URL', 'https://example.com/mcp'],
  ['Command', 'npx -y @modelcontextprotocol/server-everything'],
  ['Builtin', 'builtin:calc'],
];

let draft = ''; // survives leaving the view

export function show(parts, signal) {
  const text = h('textarea', { id: 'add-text', class: 'mono', rows: 14, spellcheck: 'false', value: draft, placeholder: 'Paste here', 'aria-describedby': 'add-help', oninput: () => { draft = text.value; later(); } });
  const out = h('div', { class: 'proposals', 'aria-live': 'polite' });
  let timer, asked = 0;
  const chosen = new Map(); // what the person entered, by server
  const later = () => { clearTimeout(timer); timer = setTimeout(() => preview(), 350); };
  const preview = async (focus) => {
    const mine = ++asked;
    if (!text.value.trim()) { fill(out, empty()); return; }
    const wanted = [...chosen.values()];
    try {
      const { servers } = await api.post('add/preview', { text: text.value, ...wanted.at(-1) });
      if (mine !== asked || signal.aborted) return;
      fill(out, servers.map((s) => proposal(s, servers.length, { text: () => text.value, chosen, preview })));
      if (focus) out.querySelector(`[data-field="${CSS.escape(focus)}"]`)?.focus();
    } catch (e) { if (mine === asked && !signal.aborted) fill(out, problem(e)); }
  };
  fill(out, empty());
  if (draft) preview();
  if (!state.can.add) return h('div', { class: 'page scroll-page' }, h('div', { class: 'page-head' }, h('h1', null, 'Add a server'), h('p', null, 'Servers cannot be added on this page. Run ', h('code', null, 'tenon config add'), ' in a terminal.')));
  return h('div', { class: 'page scroll-page' }, h('div', { class: 'page-head' }, h('h1', null, 'Add a server'), h('p', { class: 'soft', id: 'add-help' }, 'Paste what the server’s documentation shows: JSON of a configuration (Claude, VS Code, Cursor), a server.json, a URL or a command. Nothing starts before you have seen it.')),
    h('div', { class: 'add-grid' },
      h('div', null, h('label', { class: 'name', for: 'add-text' }, 'Configuration, URL or command'), text, h('p', { class: 'chips examples' }, h('span', { class: 'soft' }, 'Examples:'), examples.map(([label, value]) => button(label, { class: 'small', onclick: () => { chosen.clear(); text.value = draft = value; preview(); text.focus(); } })))),
      out));
}

const empty = () => h('div', { class: 'empty soft' }, h('p', null, 'What would be written and run appears here.'));

// proposal shows one server that would be added.
function proposal(s, n, { text, chosen, preview }) {
  const wrong = alertLine();
  const mine = () => { if (!chosen.has(s.server)) chosen.set(s.server, { server: s.server, inputs: {} }); const it = chosen.get(s.server); chosen.delete(s.server); chosen.set(s.server, it); return it; };
  const field = (label, el, key, about) => { el.dataset.field = s.server + '/' + key; el.id = 'add-' + key.replace(/\W/g, '-'); return h('div', { class: 'row' }, h('label', { class: 'name', for: el.id }, label), el, about && h('span', { class: 'about' }, about)); };
  const named = h('input', { value: s.name, autocomplete: 'off', spellcheck: 'false', onchange: () => { mine().name = named.value.trim(); preview(s.server + '/name'); } });
  const inputs = (s.inputs ?? []).map((i) => {
    const set = (el) => { mine().inputs[i.name] = el.value; preview(s.server + '/input ' + i.name); };
    const now = chosen.get(s.server)?.inputs?.[i.name] ?? (i.secret ? '' : i.default ?? '');
    const el = i.choices?.length ? h('select', { onchange: () => set(el) }, h('option', { value: '' }, '—'), i.choices.map((c) => h('option', { value: c, selected: c === now }, c)))
      : h('input', { type: i.secret ? 'password' : 'text', value: now, autocomplete: i.secret ? 'new-password' : 'off', onchange: () => set(el) });
    return field(i.name + (i.required ? '' : ' (optional)'), el, 'input ' + i.name, [i.description, i.secret && ' Stored in your keyring.']);
  });
  const add = button('Add and start', { class: 'primary', disabled: !!s.refused, onclick: async () => {
    add.disabled = true;
    wrong.textContent = '';
    try {
      const done = await api.post('add', { text: text(), ...(chosen.get(s.server) ?? { server: s.server }), pin: s.pin });
      announce(done.name + ' was added');
      draft = n > 1 ? draft : '';
      chosen.delete(s.server);
      location.hash = '#/drive/' + encodeURIComponent(done.name);
    } catch (e) { wrong.textContent = e.message; add.disabled = false; }
  } }, 'ok');
  const web = s.kind === 'http' || s.kind === 'sse';
  return h('section', { class: 'proposal', 'aria-label': 'Server ' + s.name },
    s.about && h('p', { class: 'wrap' }, s.about),
    s.pin && field('Name', named, 'name'),
    s.options?.length > 1 && field('How to use it', optionChoice(s, mine, preview), 'option'), inputs,
    s.runs && [h('p', { class: 'label' }, web ? 'Connects to' : s.kind === 'builtin' ? 'Uses the builtin server' : 'Runs this program with your rights, without a shell'), h('pre', { class: 'plain cmd', tabindex: 0 }, s.runs)],
    s.writes && [h('p', { class: 'label' }, 'Written to ', h('code', null, s.file)), h('pre', { class: 'plain', tabindex: 0 }, JSON.stringify(s.name) + ': ' + s.writes)],
    s.secrets?.length ? h('p', { class: 'state ok' }, icon('key'), 'Stored in your keyring: ' + s.secrets.join(', ')) : null,
    warnings(s.warnings),
    s.refused && problem(s.refused),
    h('div', { class: 'actions' }, add), wrong);
}

function optionChoice(s, mine, preview) {
  const sel = h('select', { onchange: () => { mine().option = sel.value.split(' ').slice(0, 2).join(' '); preview(s.server + '/option'); } }, s.options.map((o) => h('option', { value: o, selected: o.startsWith(s.option + ' ') }, o)));
  return sel;
}

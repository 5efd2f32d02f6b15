// Resources, templates and prompts of a server: read, watch, fill in.

import { h, button, fill, copyButton, problem } from './dom.js';
import * as api from './api.js';
import { clock } from './format.js';
import { badge } from './links.js';
import { on } from './store.js';
import { block, contents } from './content.js';
import { csv } from './csv.js';

// resource shows a resource and can subscribe to its changes.
export function resource(server, uri, r, signal) {
  const out = h('div');
  const when = h('span', { class: 'soft' });
  let id = '';
  const read = async () => {
    try {
      const got = await api.post(api.server(server) + '/read', { uri });
      fill(out, (got.contents ?? []).map((c) => csv(c) ?? contents(c)));
      if (!got.contents?.length) fill(out, h('p', { class: 'soft' }, 'The resource is empty.'));
    } catch (e) { fill(out, problem(e)); }
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

export function template(server, t, signal) {
  const names = [...t.uriTemplate.matchAll(/\{([^{}]+)\}/g)].flatMap((m) => operator(m[1]).names);
  const out = h('div');
  const open = () => fill(out, resource(server, expand(t.uriTemplate, f.values()), null, signal));
  const f = fields(server, { type: 'ref/resource', uri: t.uriTemplate }, [...new Set(names)].map((name) => ({ name, required: true })), open);
  return [h('h2', null, t.title || t.name), h('p', null, h('code', { class: 'wrap' }, t.uriTemplate)), t.description && h('p', { class: 'wrap' }, t.description), f.el, h('div', { class: 'actions' }, button('Read', { class: 'primary', onclick: open }, 'right')), out];
}

export function prompt(server, p) {
  const out = h('div', { role: 'region', 'aria-label': 'Preview' });
  const fillIn = async () => {
    try {
      const got = await api.post(api.server(server) + '/prompt', { name: p.name, arguments: f.values() });
      fill(out, got.description && h('p', { class: 'soft' }, got.description), (got.messages ?? []).map((m) => h('div', { class: 'chat-entry ' + (m.role === 'assistant' ? 'model' : 'person') }, h('span', { class: 'role' }, m.role), block(m.content))));
    } catch (e) { fill(out, problem(e)); }
  };
  const f = fields(server, { type: 'ref/prompt', name: p.name }, p.arguments ?? [], fillIn);
  return [h('h2', null, badge(p.icons), p.title || p.name), p.description && h('p', { class: 'wrap' }, p.description), f.el,
    h('div', { class: 'actions' }, button('Preview', { class: 'primary', onclick: fillIn }, 'eye'), copyButton(() => `/${server}:${p.name} ` + Object.entries(f.values()).map(([k, v]) => `${k}=${JSON.stringify(v)}`).join(' '), 'Copy for the chat')), out];
}

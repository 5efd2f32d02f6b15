// Views of tools (MCP Apps). A view is HTML of a server. It runs in a frame of
// the sandbox listener and never in this page: page › proxy › view. Here is the
// host's side of the messages between them. Everything that a view sends is
// checked, and everything that it wants goes through Tenon's permissions.
// docs/apps.md describes it.

import { h, button, dialog, fill, icon, lasting } from './dom.js';
import * as api from './api.js';
import { coded, decode, notOpened, openLink, save, webAddress, wholeAddress } from './links.js';
import { bytes } from './format.js';
import { on, state } from './store.js';
import { isObject } from './schema.js';
import { stringify } from './numbers.js';
import { result } from './content.js';
import { renderers } from './outcome.js';

const version = '2026-01-26';
const tallest = 800, lowest = 48; // height of a view inside of the page, in pixels
const mostOpen = 32;              // requests of a view that are not answered yet
const goodbye = 1000;             // milliseconds to answer a teardown
const sandbox = 'ui/notifications/sandbox-';

const live = new Map();    // views by key
const framed = new Set();  // views that have a frame, also those that are ending
export const watchers = new Set(); // functions of the view, whether it was sent, and each message

const granted = new Map(); // the person's answers, by server, tool and what the view wants

// uriOf returns the URI of a tool's view; '' if it has none.
export function uriOf(tool) {
  const m = tool?._meta;
  const uri = m?.ui?.resourceUri ?? m?.['ui/resourceUri'];
  return typeof uri === 'string' && uri.startsWith('ui://') ? uri : '';
}

const started = new Set(['running', 'done', 'failed']);

// viewOf returns the view of a call, always the same element, or null if it has
// none. A call is {id, server, tool, ui, phase, arguments, result, resultMeta}.
export function viewOf(call, session = '') {
  if (!call?.ui || !state.can.views) return null;
  const key = `${session}/${call.server}/${call.id}`;
  let v = live.get(key);
  if (v?.ending) v = null;
  if (!v && !(started.has(call.phase) && (call.phase === 'running' || call.result))) return null;
  if (!v) live.set(key, v = new View(key, call, session));
  v.update(call);
  return v.el;
}

// The pane of a tool shows the view of a run, and its result below.
renderers.push((place, { server, tool, run }) => {
  const v = viewOf({ ...run, server, tool: tool.name, title: tool.title || tool.name, ui: uriOf(tool) });
  if (v) fill(place, v, h('details', null, h('summary', null, 'Result without the view'), result(run.result)));
  return !!v;
});

class Refusal extends Error {
  constructor(code, text) { super(text); this.code = code; }
}
const invalid = (what) => new Refusal(-32602, what);

class View {
  constructor(key, call, session) {
    Object.assign(this, { key, call, session, server: call.server, tool: call.tool });
    this.title = `View of ${call.title || call.tool}`;
    this.mode = 'inline';
    this.box = h('div', { class: 'app-box' });
    this.note = h('div', { class: 'app-note', role: 'status' });
    this.full = button('Full screen', { bare: true, class: 'small', onclick: () => this.setMode(this.mode === 'inline' ? 'fullscreen' : 'inline') }, 'out');
    this.el = h('section', { class: 'app-view', 'aria-label': this.title, onkeydown: (e) => { if (e.key === 'Escape' && this.mode !== 'inline') { e.stopPropagation(); this.setMode('inline'); } } },
      h('div', { class: 'app-head' }, icon('eye'), h('span', { class: 'grow1' }, h('strong', null, this.server + ' › '), this.title), this.full, button('Close the view', { bare: true, class: 'small', onclick: () => this.end() }, 'close')),
      this.box, this.note);
    this.open();
  }

  // open asks Tenon for the view. A view that wants the network or a feature of
  // the browser is shown when the person has answered.
  async open(grant, wants) {
    this.reset();
    fill(this.box, h('p', { class: 'soft' }, 'Loading the view …'));
    let got;
    try { got = await api.post('views', { server: this.server, tool: this.tool, session: this.session, grant, wants }); } catch (e) { fill(this.box, h('p', { class: 'soft' }, 'The view cannot be shown: ' + e.message)); return; }
    if (this.ended) { if (got.id) api.post(`views/${got.id}/close`).catch(() => {}); return; }
    if (got.wants) {
      const key = JSON.stringify([this.server, this.tool, got.wants]);
      if (granted.has(key) && !wants) { this.open(granted.get(key), got.wants); return; }
      this.ask(got.wants, (answer) => { granted.set(key, answer); this.open(answer, got.wants); });
      return;
    }
    this.mount(got);
  }

  reset() {
    this.frame = null;
    this.ready = this.sentInput = this.sentResult = false;
    this.modes = [];
    this.requests = new Map(); // of the view, by id: what aborts them
    this.waiting = new Map();  // our own, by id
    this.numbers = 0;
  }

  ask(wants, answer) {
    const names = { camera: 'the camera', microphone: 'the microphone', geolocation: 'your location', 'clipboard-write': 'the clipboard, to write' };
    fill(this.box, h('div', { class: 'note' }, h('p', { class: 'state wait block' }, icon('warn'), `This view of ${this.server} wants more than to be shown:`),
      h('ul', { class: 'plainlist' }, (wants.domains ?? []).map((d) => h('li', null, 'to reach ', h('code', null, d))), (wants.permissions ?? []).map((p) => h('li', null, 'to use ', names[p] ?? p))),
      (wants.domains ?? []).length > 0 && h('p', { class: 'soft' }, 'What it shows, and what you type there, can be sent to these addresses.'),
      h('div', { class: 'actions' }, button('Show it without', { class: 'primary', onclick: () => answer(false) }), button('Allow and show', { onclick: () => answer(true) }))));
  }

  mount(got) {
    this.id = got.id;
    this.origin = got.origin;
    this.granted = got.granted ?? {};
    this.definition = got.tool;
    this.el.classList.toggle('border', got.border);
    const f = h('iframe', { class: 'app-frame', title: this.title, sandbox: 'allow-scripts allow-same-origin allow-forms', allow: got.allow, referrerpolicy: 'no-referrer' });
    this.frame = f;
    framed.add(this);
    lasting.set(f, () => this.end());
    f.src = got.proxy;
    fill(this.box, (got.problems ?? []).map((p) => h('p', { class: 'state wait block' }, icon('warn'), p)), f);
    this.sized = new ResizeObserver(() => { if (this.box.clientWidth) this.changed({ containerDimensions: this.dimensions() }); });
    this.sized.observe(this.box);
  }

  send(m) {
    const whole = JSON.parse(stringify({ jsonrpc: '2.0', ...m })); // views get plain numbers
    for (const f of watchers) f(this, true, whole);
    this.frame?.contentWindow?.postMessage(whole, this.origin);
  }
  notify(method, params) { this.send({ method, params }); }

  // receive checks a message of the proxy, which is the view's unless its method is
  // one of the sandbox.
  receive(m) {
    for (const f of watchers) f(this, false, m);
    if (!isObject(m) || m.jsonrpc !== '2.0') return;
    if (typeof m.method === 'string' && m.method.startsWith(sandbox)) { this.receiveProxy(m.method.slice(sandbox.length), m.params); return; }
    const hasID = typeof m.id === 'string' && m.id.length < 200 || typeof m.id === 'number';
    if (typeof m.method !== 'string') {
      if (hasID) { this.waiting.get(m.id)?.(m); this.waiting.delete(m.id); }
      return;
    }
    if (m.params !== undefined && !isObject(m.params)) { if (hasID) this.refuse(m.id, invalid('params: expected an object')); return; }
    if (hasID) this.request(m);
    else if (m.id === undefined) this.notified(m.method, m.params ?? {});
  }

  receiveProxy(what, params) {
    if (what === 'proxy-ready') this.notify(sandbox + 'resource-ready', { html: '', sandbox: 'allow-scripts allow-same-origin allow-forms', ...this.granted });
    if (what !== 'dropped') return;
    if (params?.count >= 1000) this.end('The view was stopped: it sent too many messages.');
    else this.say(h('p', { class: 'soft' }, { rate: 'The view sends messages too fast; some were dropped.', size: 'A message of the view was dropped: it has more than 4 MB.' }[params?.why] ?? 'A message of the view was dropped: it is not valid.'));
  }

  refuse(id, e) { this.send({ id, error: { code: e.code ?? -32603, message: String(e.message).slice(0, 1000), ...(e.data === undefined ? {} : { data: e.data }) } }); }

  async request({ id, method, params }) {
    if (this.requests.has(id)) { this.refuse(id, new Refusal(-32600, 'this id is in use')); return; }
    if (this.requests.size >= mostOpen) { this.refuse(id, new Refusal(-32000, 'too many requests at once')); return; }
    const abort = new AbortController();
    this.requests.set(id, abort);
    try {
      const serve = Object.hasOwn(methods, method) && methods[method];
      if (!serve) throw new Refusal(-32601, 'unknown method');
      if (!this.known && method !== 'ui/initialize' && method !== 'ping') throw new Refusal(-32600, 'ui/initialize comes first');
      const result = await serve.call(this, params ?? {}, abort.signal);
      if (!abort.signal.aborted) this.send({ id, result });
    } catch (e) {
      if (!abort.signal.aborted) this.refuse(id, e);
    }
    this.requests.delete(id);
  }

  notified(method, p) {
    switch (method) {
      case 'ui/notifications/initialized':
        if (!this.known || this.ready) return;
        this.ready = true;
        this.pass();
        return;
      case 'ui/notifications/size-changed':
        if (Number.isFinite(p.height) && p.height >= 0) this.resize(p.height);
        return;
      case 'ui/notifications/request-teardown': this.end('The view has closed itself.'); return;
      case 'notifications/cancelled': this.requests.get(p.requestId)?.abort(); return;
      case 'notifications/message':
        if (this.known && typeof p.level === 'string' && p.data !== undefined) this.forward('notifications/message', { level: p.level, logger: typeof p.logger === 'string' ? p.logger : undefined, data: p.data }).catch(() => {});
    }
  }

  // resize applies the last height that the view sent, once for each picture.
  resize(height) {
    this.height = Math.min(tallest, Math.max(lowest, Math.ceil(height)));
    this.due ??= requestAnimationFrame(() => {
      this.due = null;
      if (this.frame && this.mode === 'inline') this.frame.style.height = this.height + 'px';
    });
  }

  // forward passes a request on to Tenon.
  async forward(method, params, signal, progress) {
    const number = ++this.numbers;
    if (progress) this.progress.set(number, progress);
    try {
      const got = await api.post(`views/${this.id}/request`, { method, params, number }, signal);
      if (got.error) throw Object.assign(new Refusal(got.error.code, got.error.message), { data: got.error.data });
      return got.result ?? {};
    } finally { this.progress?.delete(number); }
  }

  // audited records what the person has allowed. If that fails, it must not be done.
  async audited(method, params) {
    try { await this.forward(method, params); } catch (e) { this.say(h('p', { class: 'wrong', role: 'alert' }, e.message)); throw e; }
  }

  // update takes over the state of the call.
  update(call) { this.call = call; this.pass(); }

  // pass sends the view what it may know: the input once, then the outcome once.
  pass() {
    if (!this.ready) return;
    const c = this.call;
    if (!this.sentInput) {
      this.sentInput = true;
      this.notify('ui/notifications/tool-input', { arguments: isObject(c.arguments) ? c.arguments : {} });
    }
    if (this.sentResult || c.phase === 'running') return;
    if (c.result) this.notify('ui/notifications/tool-result', { content: [], ...c.result, ...(c.resultMeta ? { _meta: c.resultMeta } : {}) });
    else if (c.phase === 'cancelled' || c.phase === 'denied' || c.phase === 'failed') this.notify('ui/notifications/tool-cancelled', { reason: c.problem || c.rule || c.phase });
    else return;
    this.sentResult = true;
  }

  dimensions() {
    const width = Math.round(this.box.clientWidth);
    return this.mode === 'inline' ? { width, maxHeight: tallest } : { width, height: Math.round(this.box.clientHeight) };
  }

  context() {
    const touch = matchMedia('(pointer: coarse)').matches;
    return {
      toolInfo: { id: String(this.call.id), tool: this.definition }, theme: theme(), styles: { variables: variables() },
      displayMode: this.mode, availableDisplayModes: ['inline', 'fullscreen'], containerDimensions: this.dimensions(),
      locale: navigator.language, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, userAgent: `tenon/${state.version}`, platform: 'web',
      deviceCapabilities: { touch, hover: matchMedia('(hover: hover)').matches }, safeAreaInsets: { top: 0, right: 0, bottom: 0, left: 0 },
    };
  }

  changed(part) { if (this.ready) this.notify('ui/notifications/host-context-changed', part); }

  setMode(mode) {
    if (!this.frame || mode === this.mode) return;
    if (mode !== 'inline' && state.asks.size) { this.say(h('p', { class: 'soft' }, 'A question waits for you: answer it first.')); return; }
    for (const v of live.values()) if (v !== this && v.mode !== 'inline') v.setMode('inline');
    this.mode = mode;
    this.el.classList.toggle('whole', mode === 'fullscreen');
    if (mode === 'inline') this.full.focus();
    this.full.setAttribute('aria-label', mode === 'inline' ? 'Full screen' : 'Leave full screen');
    this.changed({ displayMode: mode, containerDimensions: this.dimensions() });
  }

  // say shows something about the view below it.
  say(...what) { fill(this.note, what); }

  // end tells the view that it goes, waits for its answer, though not for long,
  // and removes it.
  end(why = '') {
    this.ending ??= (async () => {
      this.ended = true;
      this.setMode('inline');
      for (const a of this.requests.values()) a.abort();
      if (this.ready && this.frame?.isConnected) {
        await new Promise((done) => {
          this.waiting.set('teardown', done);
          this.send({ id: 'teardown', method: 'ui/resource-teardown', params: why ? { reason: why } : {} });
          setTimeout(done, goodbye);
        });
      }
      this.sized?.disconnect();
      lasting.delete(this.frame);
      framed.delete(this);
      const id = this.id;
      this.reset();
      if (live.get(this.key) === this) live.delete(this.key);
      if (id) api.post(`views/${id}/close`).catch(() => {});
      fill(this.note);
      fill(this.box, h('p', { class: 'soft' }, why || 'The view is closed.', ' '), button('Show it again', { class: 'small', onclick: () => { this.ended = false; this.ending = this.known = null; live.set(this.key, this); this.open(); } }));
    })();
    return this.ending;
  }
}
View.prototype.progress = null;

const textOf = (content) => {
  const list = Array.isArray(content) ? content : [content];
  if (!list.length || list.length > 50 || !list.every((c) => isObject(c) && c.type === 'text' && typeof c.text === 'string')) throw invalid('content: expected text');
  return list.map((c) => c.text).join('\n');
};

// served returns a method that Tenon serves, with the members of its params
// that are passed on.
const served = (method, ...names) => async function (p, signal) {
  const params = Object.fromEntries(names.filter((n) => p[n] !== undefined).map((n) => [n, p[n]]));
  if (typeof params.name !== 'string' && names.includes('name') || typeof params.uri !== 'string' && names.includes('uri')) throw invalid('name or uri: expected a string');
  if (params.arguments !== undefined && !isObject(params.arguments)) throw invalid('arguments: expected an object');
  const token = p._meta?.progressToken;
  this.progress ??= new Map();
  const progress = token === undefined ? null : (n) => this.notify('notifications/progress', { progressToken: token, ...n });
  return this.forward(method, params, signal, progress);
};

// The requests of views.
const methods = {
  ping: async () => ({}),

  async 'ui/initialize'(p) {
    if (typeof p.protocolVersion !== 'string' || !isObject(p.appInfo) || typeof p.appInfo.name !== 'string' || !isObject(p.appCapabilities)) throw invalid('expected protocolVersion, appInfo and appCapabilities');
    this.known = true;
    const modes = p.appCapabilities.availableDisplayModes;
    this.modes = Array.isArray(modes) ? modes.filter((m) => typeof m === 'string') : [];
    const text = { text: {} };
    return {
      protocolVersion: version, hostInfo: { name: 'tenon', title: 'Tenon', version: state.version || '0' },
      hostCapabilities: {
        openLinks: {}, downloadFile: {}, serverTools: {}, serverResources: {}, logging: {}, sandbox: this.granted, message: text,
        ...(this.session ? { updateModelContext: { ...text, structuredContent: {} } } : {}), ...(state.model && state.model.provider !== 'none' ? { sampling: {} } : {}),
      },
      hostContext: this.context(),
    };
  },

  // A link is shown whole before the person opens it.
  async 'ui/open-link'(p) {
    if (typeof p.url !== 'string') throw invalid('url: expected a string');
    const u = p.url.length < 4000 ? webAddress(p.url) : null;
    if (!u) throw new Refusal(-32000, notOpened(p.url.slice(0, 4000)));
    const yes = await this.dialog('Open this address?', [wholeAddress(u), coded(u) && h('p', { class: 'state wait block' }, icon('warn'), coded(u))], button('Open in a new tab', { class: 'primary' }, 'out'));
    if (!yes) return { isError: true };
    await this.audited('ui/open-link', { url: u.href });
    openLink(u, '').click();
    return {};
  },

  // A message is a suggestion: the person decides whether it becomes theirs.
  async 'ui/message'(p) {
    if (p.role !== 'user') throw invalid('role: expected user');
    const text = textOf(p.content);
    if (text.length > 20_000) throw invalid('content: too long');
    await this.forward('ui/message', { role: 'user', text });
    this.say(h('p', { class: 'label' }, 'The view suggests that you say:'), h('p', { class: 'wrap quote' }, text),
      h('div', { class: 'actions' }, button('Put into the chat', { class: 'small primary', onclick: () => { fill(this.note); draft(this.session, text); } }), button('Dismiss', { class: 'small', onclick: () => fill(this.note) })));
    return {};
  },

  async 'ui/update-model-context'(p) {
    if (!this.session) throw new Refusal(-32601, 'this view is not in a conversation');
    const params = {};
    if (p.content !== undefined && !(Array.isArray(p.content) && !p.content.length)) params.content = [{ type: 'text', text: textOf(p.content) }];
    if (p.structuredContent !== undefined) {
      if (!isObject(p.structuredContent)) throw invalid('structuredContent: expected an object');
      params.structuredContent = p.structuredContent;
    }
    const done = await this.forward('ui/update-model-context', params);
    const text = [params.content?.[0].text, params.structuredContent && JSON.stringify(params.structuredContent)].filter(Boolean).join('\n');
    this.say(text && h('details', { class: 'soft' }, h('summary', null, 'The model gets something from this view with your next message'), h('pre', { class: 'plain', tabindex: 0 }, text.slice(0, 10_000))));
    return done;
  },

  // A view fills the screen only if it said that it can, and after a click or
  // key of the person.
  async 'ui/request-display-mode'(p) {
    if (typeof p.mode !== 'string') throw invalid('mode: expected a string');
    if (this.modes.includes(p.mode) && (p.mode === 'inline' || p.mode === 'fullscreen' && navigator.userActivation?.isActive !== false)) this.setMode(p.mode);
    return { mode: this.mode };
  },

  async 'ui/download-file'(p) {
    if (!Array.isArray(p.contents) || !p.contents.length || p.contents.length > 20) throw invalid('contents: expected 1 to 20 files');
    const files = p.contents.map((c) => {
      const r = c?.type === 'resource' ? c.resource : c;
      if (!isObject(r) || typeof r.uri !== 'string' || c.type !== 'resource' && c.type !== 'resource_link') throw invalid('contents: expected resources');
      const name = (typeof r.name === 'string' && r.name || r.uri.split(/[?#]/)[0].split('/').at(-1) || 'file').replace(/[^\w.-]+/g, '_').replace(/^\.+/, '').slice(-80) || 'file';
      const data = typeof r.text === 'string' ? new TextEncoder().encode(r.text) : typeof r.blob === 'string' ? decode(r.blob.replace(/\s/g, '')) : null;
      if (!data && c.type === 'resource') throw invalid('contents: a file without text or blob');
      return { name, data, uri: r.uri };
    });
    const yes = await this.dialog('Save these files?', [h('ul', { class: 'plainlist' }, files.map((f) => h('li', null, h('code', null, f.name), ' ', f.data ? bytes(f.data.length) : h('span', { class: 'soft' }, `from ${this.server}: ${f.uri}`))))], button('Save', { class: 'primary' }));
    if (!yes) return { isError: true };
    await this.audited('ui/download-file', { names: files.map((f) => f.name) });
    for (const f of files) {
      if (!f.data) {
        const c = (await this.forward('resources/read', { uri: f.uri })).contents?.[0] ?? {};
        f.data = typeof c.blob === 'string' ? decode(c.blob) : new TextEncoder().encode(c.text ?? '');
      }
      save(f.name, 'application/octet-stream', f.data);
    }
    return {};
  },

  'tools/call': served('tools/call', 'name', 'arguments'),
  'tools/list': served('tools/list'),
  'resources/list': served('resources/list', 'cursor'),
  'resources/templates/list': served('resources/templates/list', 'cursor'),
  'resources/read': served('resources/read', 'uri'),
  async 'sampling/createMessage'(p, signal) {
    if (!Array.isArray(p.messages) || p.tools !== undefined) throw invalid('expected messages, and no tools');
    return served('sampling/createMessage', 'messages', 'systemPrompt', 'maxTokens', 'temperature', 'stopSequences').call(this, { maxTokens: 1000, ...p }, signal);
  },
};

// dialog asks the person something for a view. One at a time for each view.
View.prototype.dialog = async function (title, body, yes) {
  if (this.asking) throw new Refusal(-32000, 'the person is being asked already');
  this.asking = true;
  const box = dialog(title, h('p', { class: 'soft' }, `The ${this.title[0].toLowerCase()}${this.title.slice(1)} of ${this.server} wants this.`), body,
    h('div', { class: 'actions' }, yes, button('Cancel', { autofocus: true, onclick: () => box.close() })));
  yes.inert = true; // what was meant for something else must not answer
  setTimeout(() => { yes.inert = false; }, 500);
  let answer = false;
  yes.addEventListener('click', () => { answer = true; setTimeout(() => box.close()); });
  await new Promise((done) => box.addEventListener('close', done));
  this.asking = false;
  return answer;
};

let drafted = null; // a message for the chat that is not open yet

function draft(session, text) {
  const e = new CustomEvent('draft', { detail: { session, text }, cancelable: true });
  if (!document.dispatchEvent(e)) return;
  drafted = text;
  location.hash = '#/chat/' + encodeURIComponent(session);
}

// takeDraft returns a message that a view suggested before the chat was open.
export function takeDraft() {
  const text = drafted;
  drafted = null;
  return text;
}

const theme = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));

// Names of styles that views know, with ours.
const colours = {
  'background-primary': 'surface', 'background-secondary': 'bg', 'background-tertiary': 'raised', 'background-inverse': 'text', 'background-info': 'tint', 'background-danger': 'bad-tint', 'background-warning': 'wait-tint', 'background-success': 'raised', 'background-disabled': 'raised',
  'text-primary': 'text', 'text-secondary': 'soft', 'text-tertiary': 'soft', 'text-inverse': 'surface', 'text-info': 'accent', 'text-danger': 'bad', 'text-warning': 'wait', 'text-success': 'ok', 'text-disabled': 'soft',
  'border-primary': 'line', 'border-secondary': 'line', 'border-tertiary': 'line', 'border-inverse': 'text', 'border-info': 'accent', 'border-danger': 'bad', 'border-warning': 'wait', 'border-success': 'ok', 'border-disabled': 'line',
  'ring-inverse': 'surface', 'ring-primary': 'accent', 'ring-secondary': 'edge', 'ring-info': 'accent', 'ring-danger': 'bad', 'ring-warning': 'wait', 'ring-success': 'ok',
};
const sizes = { 'text-xs': [12, 16], 'text-sm': [13, 20], 'text-md': [15, 24], 'text-lg': [17, 24], 'heading-xs': [13, 20], 'heading-sm': [15, 24], 'heading-md': [18, 24], 'heading-lg': [20, 32], 'heading-xl': [24, 32], 'heading-2xl': [28, 40], 'heading-3xl': [32, 40] };

function variables() {
  const now = getComputedStyle(document.documentElement);
  const dark = theme() === 'dark';
  const value = (name) => { const v = now.getPropertyValue('--' + name).trim(); const m = /^light-dark\(\s*([^,]+),\s*([^)]+)\)$/.exec(v); return m ? m[dark ? 2 : 1].trim() : v; };
  const out = { '--font-sans': value('sans'), '--font-mono': value('mono'), '--font-weight-normal': '400', '--font-weight-medium': '500', '--font-weight-semibold': '650', '--font-weight-bold': '700', '--border-width-regular': '1px', '--color-background-ghost': 'transparent', '--color-border-ghost': 'transparent', '--color-text-ghost': value('soft'),
    '--shadow-hairline': `0 0 0 1px ${value('line')}`, '--shadow-sm': '0 1px 2px rgb(0 0 0 / .1)', '--shadow-md': '0 2px 8px rgb(0 0 0 / .12)', '--shadow-lg': '0 8px 24px rgb(0 0 0 / .16)',
    '--border-radius-xs': '2px', '--border-radius-sm': '4px', '--border-radius-md': '6px', '--border-radius-lg': '8px', '--border-radius-xl': '12px', '--border-radius-full': '9999px' };
  for (const [name, ours] of Object.entries(colours)) out['--color-' + name] = value(ours);
  for (const [name, [size, line]] of Object.entries(sizes)) { out[`--font-${name}-size`] = size + 'px'; out[`--font-${name}-line-height`] = line + 'px'; }
  return out;
}

const restyled = () => { for (const v of framed) v.changed({ theme: theme(), styles: { variables: variables() } }); };
document.addEventListener('theme', restyled);

addEventListener('message', (e) => {
  for (const v of framed) if (e.source === v.frame.contentWindow && e.origin === v.origin) { v.receive(e.data); return; }
});
// A question must be seen: a view that fills the screen makes room for it.
on('asks', () => { if (state.asks.size) for (const v of live.values()) v.setMode('inline'); });
on('view', (list) => { for (const u of list) for (const v of framed) if (v.id === u.id) v.progress?.get(u.number)?.(u.progress); });
addEventListener('pagehide', () => { for (const v of framed) if (v.ready) v.send({ id: 'teardown', method: 'ui/resource-teardown', params: {} }); });
// A view whose element was removed without fill is over, too, also one that never
// got a frame.
setInterval(() => { for (const v of live.values()) if (!v.el.isConnected) v.end(); }, 3000);

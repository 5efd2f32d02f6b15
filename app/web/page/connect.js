// Connect a model: choose a provider and enter its key. The key goes to the
// keyring; the page does not keep it and never gets it back.

import { h, button, fill, icon, announce, problem } from './dom.js';
import * as api from './api.js';
import { on, state } from './store.js';

export const name = 'connect';
export const title = 'Connect a model';

export function show(parts, signal) {
  const box = h('div', { class: 'connect-box' }, h('p', { class: 'soft' }, 'Looking for providers …'));
  const now = h('p', { class: 'soft' });
  const drawNow = () => { const m = state.model; fill(now, m && m.provider !== 'none' ? ['Connected: ', h('strong', null, `${m.provider}/${m.name}`)] : 'No model is connected. The chat matches keywords until you connect one.'); };
  on('model', drawNow, signal);
  drawNow();
  if (state.can.connect) load(box, signal); else fill(box, h('p', null, 'A model cannot be connected on this page. Set a key such as ', h('code', null, 'ANTHROPIC_API_KEY'), ' and start tenon again.'));
  return h('div', { class: 'page scroll-page' }, h('div', { class: 'page-head' }, h('h1', null, 'Connect a model'), now), box);
}

async function load(box, signal) {
  let all;
  try { all = (await api.get('models/providers')).providers; } catch (e) { fill(box, problem(e)); return; }
  if (signal.aborted) return;
  const provider = h('select', { id: 'model-provider', onchange: () => draw() }, all.map((p) => h('option', { value: p.name }, p.name + (p.found ? ' · found' : p.key ? '' : ' · on this machine'))));
  const key = h('input', { id: 'model-key', type: 'password', autocomplete: 'new-password', spellcheck: 'false' });
  const url = h('input', { id: 'model-url', type: 'url', autocomplete: 'off', spellcheck: 'false' });
  const model = h('input', { id: 'model-name', autocomplete: 'off', spellcheck: 'false', placeholder: 'the provider’s default' });
  const about = h('p', { class: 'about' });
  const keyAbout = h('span', { class: 'about' });
  const out = h('div', { role: 'status' });
  const go = button('Connect', { class: 'primary', onclick: () => send() }, 'ok');
  const draw = () => {
    const p = all.find((x) => x.name === provider.value);
    url.placeholder = p.url;
    fill(about, p.found ? `Found: ${p.found}.` : '');
    fill(keyAbout, p.key ? 'Stored in your keyring and sent only to the provider. It is not shown again.' : 'Most local servers need none.', p.variable && ` The variable ${p.variable} works, too.`);
  };
  const send = async () => {
    go.disabled = true;
    fill(out, h('p', { class: 'soft' }, 'Asking the provider …'));
    const q = { provider: provider.value, key: key.value, url: url.value.trim(), model: model.value.trim() };
    key.value = ''; // not kept, whatever happens
    try {
      const got = await api.post('models/connect', q);
      fill(out, h('p', { class: 'state ok block' }, icon('ok'), `${got.model.provider}/${got.model.name}. ${got.note}`), h('div', { class: 'actions' }, h('a', { class: 'button', to: '/chat' }, 'Open the chat')));
      announce('Connected');
    } catch (e) { fill(out, problem(e)); }
    go.disabled = false;
  };
  const row = (id, label, el, more) => h('div', { class: 'row' }, h('label', { class: 'name', for: id }, label), el, more);
  fill(box, h('div', { onkeydown: (e) => { if (e.key === 'Enter' && e.target.matches('input')) { e.preventDefault(); send(); } } },
    row('model-provider', 'Provider', provider, about), row('model-key', 'Key', key, keyAbout),
    h('details', null, h('summary', null, 'Address and model'), row('model-url', 'Address', url), row('model-name', 'Model', model)), h('div', { class: 'actions' }, go), out));
  draw();
}

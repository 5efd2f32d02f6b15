// Requests to the API, which docs/api.md describes.

import { parseLater, stringify } from './numbers.js';

class Refused extends Error {
  constructor(status, text, more) {
    super(text);
    this.status = status;
    this.code = more?.code;
    this.data = more?.data;
    this.openIn = more?.openIn; // the process that has the session open
  }
}

async function request(method, path, body, type = 'application/json', signal = undefined) {
  const o = { method, headers: {}, credentials: 'same-origin', cache: 'no-store', signal };
  if (method === 'POST') {
    o.headers['Content-Type'] = type;
    o.body = type === 'application/json' ? stringify(body ?? {}) : body;
  }
  let r;
  try {
    r = await fetch('/api/v1/' + path, o);
  } catch {
    throw new Refused(0, 'Tenon is not responding: it was stopped, or the connection was lost.');
  }
  const text = await whole(r);
  let out;
  // Messages come as text, and the page reads them where it shows them.
  try { out = path.startsWith('wire') ? JSON.parse(text) : await parseLater(text); } catch { out = null; }
  if (!r.ok) throw new Refused(r.status, out?.error ?? `HTTP status ${r.status}`, out);
  return out;
}

// whole reads a response piece by piece: a large one would block the page.
async function whole(r) {
  const decoder = new TextDecoder();
  let text = '';
  for (const from = r.body.getReader(); ;) {
    const { done, value } = await from.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
  }
}

// login exchanges the token that the address had (see first.js) for a cookie. One
// that was used before is no problem if there is a cookie.
export async function login() {
  const token = window.loginToken;
  delete window.loginToken;
  if (!token) return;
  if (location.hash === '#token=' + token) history.replaceState(null, '', location.pathname + '#/');
  try { await post('login', { token }); } catch (e) { if (e.status !== 401) throw e; }
}

export const get = (path) => request('GET', path);
export const post = (path, body, signal) => request('POST', path, body, undefined, signal);
export const upload = (path, text) => request('POST', path, text, 'application/x-txtar');
export const server = (name) => 'servers/' + encodeURIComponent(name);

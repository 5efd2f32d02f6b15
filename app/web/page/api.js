// Requests to the API, which docs/api.md describes.

export class Refused extends Error {
  constructor(status, text, more) {
    super(text);
    this.status = status;
    this.code = more?.code;
    this.openIn = more?.openIn; // the process that has the session open
  }
}

async function request(method, path, body, type = 'application/json') {
  const o = { method, headers: {}, credentials: 'same-origin', cache: 'no-store' };
  if (method === 'POST') {
    o.headers['Content-Type'] = type;
    o.body = type === 'application/json' ? JSON.stringify(body ?? {}) : body;
  }
  let r;
  try {
    r = await fetch('/api/v1/' + path, o);
  } catch {
    throw new Refused(0, 'Tenon is not responding: it was stopped, or the connection was lost.');
  }
  const text = await r.text();
  let out;
  try { out = JSON.parse(text); } catch { out = null; }
  if (!r.ok) throw new Refused(r.status, out?.error ?? `HTTP status ${r.status}`, out);
  return out;
}

export const get = (path) => request('GET', path);
export const post = (path, body) => request('POST', path, body);
export const upload = (path, text) => request('POST', path, text, 'application/x-txtar');
export const server = (name) => 'servers/' + encodeURIComponent(name);

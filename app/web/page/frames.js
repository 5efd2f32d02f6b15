// What the messages of a call say, in a few words.

// read returns a frame as a value, or null if it is not JSON.
export const read = (frame) => { try { return JSON.parse(frame); } catch { return null; } };
const cut = (text, n) => text.length > n ? text.slice(0, n - 1) + '…' : text;

// Methods that a person means by "a call". All others keep the connection going
// and are never animated.
const calls = new Set(['tools/call', 'resources/read', 'prompts/get', 'elicitation/create', 'sampling/createMessage']);
export const isCall = (method) => calls.has(method);

// named returns a request with what it is about: tools/call add.
export const named = (m) => m.about ? `${m.method} ${cut(m.about, 28)}` : m.method;

// args returns the arguments of a request: a 20, b 22.
export function args(frame, most = 60) {
  const p = read(frame)?.params;
  const a = p?.arguments ?? (p?.uri ? { uri: p.uri } : null);
  if (!a || typeof a !== 'object') return '';
  return cut(Object.entries(a).map(([k, v]) => `${k} ${typeof v === 'string' ? v : JSON.stringify(v)}`).join(', '), most);
}

// outcome returns what a response says: its text, its values, or the error.
export function outcome(frame, most = 60) {
  const m = read(frame);
  if (!m) return cut(String(frame), most);
  if (Array.isArray(m)) return `${m.length} responses`;
  if (m.error) return cut(`error ${m.error.code}: ${m.error.message}`, most);
  const r = m.result ?? {};
  if (r.resultType === 'input_required') return 'input required';
  const text = r.content?.find?.((c) => c.type === 'text')?.text ?? r.contents?.find?.((c) => c.text !== undefined)?.text ?? r.messages?.[0]?.content?.text;
  if (text !== undefined) return cut(String(text).replace(/\s+/g, ' '), most);
  if (r.structuredContent) return cut(JSON.stringify(r.structuredContent), most);
  if (r.action) return r.action;
  return cut(JSON.stringify(r), most);
}

export const failed = (frame) => { const m = read(frame); return !!(m?.error || m?.result?.isError); };

// The messages of one call in one line each, with the way to the whole message.

import { h, icon } from './dom.js';
import { failed, isCall, named, outcome, read } from './frames.js';
import { bytes } from './format.js';

// Everything that belongs to a call: not the handshake, not lists.
const isShown = (m) => isCall(m.method) || m.method === 'notifications/message' || m.method === 'notifications/progress' || m.kind === 'batch';

// lines returns what the messages of a run say.
export function lines(messages) {
  return messages.filter(isShown).map((m) => ({ seq: m.seq, sent: !!m.sent, size: m.size, text: text(m), bad: m.kind === 'error' || m.kind === 'response' && failed(m.frame) }));
}

function text(m) {
  const f = read(m.frame) ?? {};
  if (m.kind === 'request') return named(m) + (f.params?.inputResponses ? ' with the answer' : '');
  if (m.kind === 'notification') return m.method === 'notifications/progress' ? `progress ${f.params?.progress} of ${f.params?.total}` : `log: ${typeof f.params?.data === 'string' ? f.params.data : f.params?.data?.msg ?? f.params?.data?.message ?? JSON.stringify(f.params?.data)}`;
  const asks = f.result?.inputRequests;
  if (asks) return 'input required: ' + Object.values(asks).map((q) => q.method).join(', ');
  return outcome(m.frame, 120);
}

// answered shows the messages of a run, each with a link to the wire.
export function answered(messages) {
  return h('ol', { class: 'exchange' }, lines(messages).map((l) => {
    const li = h('li', { class: (l.sent ? 'sent' : 'got') + (l.bad ? ' bad' : '') }, icon(l.sent ? 'to' : 'from'), h('span', { class: 'unseen' }, l.sent ? 'To the server: ' : 'From the server: '), h('span', { class: 'mono wrap' }, l.text), h('a', { to: '/wire/' + l.seq, title: 'Open the message' }, bytes(l.size), h('span', { class: 'unseen' }, ', message ', String(l.seq))));
    li.dataset.seq = l.seq;
    return li;
  }));
}

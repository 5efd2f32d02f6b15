// How a message ended, in the words of words.js.

import { rows, state } from './store.js';
import { word } from './words.js';

const kinds = { notification: ['notification', ''], batch: ['batch', ''], noise: ['invalid', 'bad', 'bad'], stderr: ['stderr', ''], event: ['event', ''] };

// status returns the word, the tone and the icon of a message.
export function status(m) {
  if (m.outcome === 'error' || m.outcome === 'http' || m.outcome && m.kind !== 'event' && m.kind !== 'notification') return word(m.outcome, m.code);
  if (m.kind === 'request') {
    if (!rows.open(m, state.servers)) return word('lost');
    return m.method === 'subscriptions/listen' ? ['listening', ''] : word('waiting', 0, m.at / 1000);
  }
  return unmatched(m) ? ['unmatched', 'bad', 'bad'] : kinds[m.kind] ?? [m.kind, ''];
}

// unmatched reports whether a response belongs to no request.
export const unmatched = (m) => (m.kind === 'response' || m.kind === 'error') && !m.outcome;

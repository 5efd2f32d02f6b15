// Other hosts on this machine whose servers run through tenon tap.

import * as api from './api.js';
import { on, state } from './store.js';

// hosts calls f with the list, now and when another one appears or one ends.
export function hosts(f, signal) {
  let last = '', timer = null;
  const ask = async () => {
    timer = null;
    try {
      const list = (await api.get('hosts')).hosts;
      const now = JSON.stringify(list);
      if (now === last || signal.aborted) return;
      last = now;
      f(list);
    } catch { /* the banner says it */ }
  };
  ask();
  on('wire', (pieces) => { if (!timer && pieces.flat().some((m) => !state.servers.has(m.server))) timer = setTimeout(ask, 400); }, signal);
}

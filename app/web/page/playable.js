// A tool call that can be played on the servers that are here: harmless, and
// with arguments that are known.

import * as api from './api.js';
import { usable } from './servers.js';
import { detail, state } from './store.js';

// playable makes a real call and returns why it could not, or ''.
export async function playable() {
  let other = null;
  for (const one of state.servers.values()) {
    if (!usable(one)) continue;
    const d = await detail(one.name).catch(() => null);
    const add = d?.tools.find((t) => t.name === 'add' && ['a', 'b'].every((k) => t.inputSchema?.properties?.[k]?.type === 'number'));
    if (add) return call(one.name, 'add', { a: 20, b: 22 });
    const free = d?.tools.find((t) => t.annotations?.readOnlyHint && !t.inputSchema?.required?.length);
    if (free && !other) other = [one.name, free.name];
  }
  if (other) return call(other[0], other[1], {});
  return 'No server here has a tool that only reads and needs no arguments. Run one in Servers or in the chat, and it is shown here.';
}

async function call(server, tool, args) {
  await api.post(api.server(server) + '/call', { tool, arguments: args });
  return '';
}

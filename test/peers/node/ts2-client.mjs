// Starts an MCP server, or reaches one over HTTP, and runs the script against
// it with @modelcontextprotocol/client (version 2, every revision).
//
//   node ts2-client.mjs [-revision R] command [argument ...]
//   node ts2-client.mjs [-revision R] -http URL [-sse]
//
// Without -revision the client probes. On stdio it does so with a process of
// its own, so the server is started twice.

import { Client, LOG_LEVEL_META_KEY, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Collection, commandLine, runScript } from './script.mjs';

const modern = '2026-07-28';
const { revision, command, args, url, older } = commandLine();

const logged = new Collection();
const changed = new Collection();
const options = {
  capabilities: { elicitation: { form: {} } },
  versionNegotiation: { mode: 'auto' },
  listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => changed.add(true) } }
};
if (revision >= modern) options.versionNegotiation.mode = { pin: revision };
else if (revision) {
  options.versionNegotiation.mode = 'legacy';
  options.supportedProtocolVersions = [revision];
}
const client = new Client({ name: 'ts2-client', version: '1.0.0' }, options);
client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
client.setNotificationHandler('notifications/message', n => logged.add(n.params.data));

function transport() {
  if (older) return new SSEClientTransport(url);
  if (url) return new StreamableHTTPClientTransport(url);
  return new StdioClientTransport({ command, args, stderr: 'inherit' });
}

await runScript({
  client,
  logged,
  changed,
  async connect() {
    await client.connect(transport());
    return { revision: client.getNegotiatedProtocolVersion(), server: client.getServerVersion()?.name };
  },
  call(name, params, { meta, ...options } = {}) {
    return client.callTool({ name, arguments: params, ...(meta && { _meta: meta }) }, options);
  },
  async wantLogs() {
    if (client.getNegotiatedProtocolVersion() >= modern) return { [LOG_LEVEL_META_KEY]: 'info' };
    await client.setLoggingLevel('info');
  }
});

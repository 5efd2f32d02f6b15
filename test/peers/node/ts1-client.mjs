// Starts an MCP server, or reaches one over HTTP, and runs the script against
// it with @modelcontextprotocol/sdk (version 1, legacy revisions only).
//
//   node ts1-client.mjs command [argument ...]
//   node ts1-client.mjs -http URL [-sse]

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { Collection, commandLine, runScript } from './script.mjs';

const { revision, command, args, url, older } = commandLine();
if (revision) {
  process.stderr.write('this SDK cannot be told which revision to ask for\n');
  process.exit(2);
}

const logged = new Collection();
const changed = new Collection();
const client = new Client({ name: 'ts1-client', version: '1.0.0' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }));
client.setNotificationHandler(LoggingMessageNotificationSchema, n => logged.add(n.params.data));
client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.add(true));

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
    // The SDK hands the negotiated revision to the transport and nowhere else.
    const to = transport();
    const set = to.setProtocolVersion?.bind(to);
    let negotiated = '';
    to.setProtocolVersion = version => {
      negotiated = version;
      set?.(version);
    };
    await client.connect(to);
    return { revision: negotiated, server: client.getServerVersion()?.name };
  },
  call(name, params, { meta, ...options } = {}) {
    return client.callTool({ name, arguments: params, ...(meta && { _meta: meta }) }, undefined, options);
  },
  async wantLogs() {
    await client.setLoggingLevel('info');
  }
});

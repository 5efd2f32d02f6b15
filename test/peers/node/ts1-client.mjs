// Starts an MCP server and runs the script against it with
// @modelcontextprotocol/sdk (version 1, legacy revisions only).
//
//   node ts1-client.mjs command [argument ...]

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { Collection, commandLine, runScript } from './script.mjs';

const { revision, command, args } = commandLine();
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

await runScript({
  client,
  logged,
  changed,
  async connect() {
    const transport = new StdioClientTransport({ command, args, stderr: 'inherit' });
    // The SDK hands the negotiated revision to the transport and nowhere else.
    let negotiated = '';
    transport.setProtocolVersion = version => (negotiated = version);
    await client.connect(transport);
    return { revision: negotiated, server: client.getServerVersion()?.name };
  },
  call(name, params, { meta, ...options } = {}) {
    return client.callTool({ name, arguments: params, ...(meta && { _meta: meta }) }, undefined, options);
  },
  async wantLogs() {
    await client.setLoggingLevel('info');
  }
});

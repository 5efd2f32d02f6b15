// Calls tools as tasks of either form with @modelcontextprotocol/ext-tasks.
//
//   node ext-tasks.mjs -revision R command [argument ...]
//   node ext-tasks.mjs -revision R -http URL
//
// The package leaves the messages of the newer form to the program, since the
// SDK rejects them: raw sends them, over HTTP only.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { commandLine } from './script.mjs';
import { runTasks } from './tasks-script.mjs';

const modern = '2026-07-28';
const { revision, command, args, url } = commandLine();
const isModern = revision >= modern;
const clientInfo = { name: 'ext-tasks', version: '1.0.0' };
const capabilities = { elicitation: { form: {} } };
const client = new Client(clientInfo, {
  capabilities,
  versionNegotiation: { mode: isModern ? { pin: revision } : 'legacy' },
  ...(!isModern && { supportedProtocolVersions: [revision] })
});

let lastID = 1000;
async function raw(request, options) {
  const name = request.params?.taskId ?? request.params?.name;
  const response = await fetch(url, {
    method: 'POST',
    signal: options?.signal,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': revision,
      'Mcp-Method': request.method,
      ...(name && { 'Mcp-Name': name })
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: ++lastID, ...request })
  });
  let body = await response.text();
  if (response.headers.get('Content-Type')?.includes('event-stream')) body = body.split('\n').filter(l => l.startsWith('data:')).at(-1).slice(5);
  const message = JSON.parse(body);
  return message.error ? { kind: 'error', error: message.error } : { kind: 'result', result: message.result };
}

const names = ['Ada', 'Bob'];
let session;

await runTasks({
  async connect() {
    await client.connect(url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport({ command, args, stderr: 'inherit' }));
    session = createTaskSessionFromClient(client, {
      endpointId: 'tenon',
      onInputRequest: async () => ({ action: 'accept', content: { name: names.shift() } }),
      ...(isModern && { rawDispatch: raw, v2RequestFraming: { protocolVersion: revision, clientInfo, clientCapabilities: capabilities } })
    });
    return { server: client.getServerVersion()?.name };
  },
  async run(tool) {
    const execution = await session.callTool(tool, {}, { task: { preference: 'require' } });
    if (execution.kind !== 'task') throw new Error('the call did not become a task');
    const { outcome } = await execution.settle();
    return { result: resultFromTaskOutcome(outcome) };
  },
  async cancel(tool) {
    const execution = await session.callTool(tool, {}, { task: { preference: 'require' } });
    await execution.cancel();
    const { outcome } = await execution.settle();
    return { outcome: outcome.kind ?? outcome.status ?? Object.keys(outcome) };
  },
  async close() {
    await session.close();
    await client.close();
  }
});

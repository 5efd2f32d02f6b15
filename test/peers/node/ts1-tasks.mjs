// Calls tools as tasks of 2025-11-25 with @modelcontextprotocol/sdk.
//
//   node ts1-tasks.mjs command [argument ...]
//   node ts1-tasks.mjs -http URL

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { commandLine } from './script.mjs';
import { runTasks } from './tasks-script.mjs';

const { command, args, url } = commandLine();
const client = new Client({ name: 'ts1-tasks', version: '1.0.0' }, { capabilities: { elicitation: {} } });
const names = ['Ada', 'Bob'];
client.setRequestHandler(ElicitRequestSchema, request => {
  if (!request.params._meta?.['io.modelcontextprotocol/related-task']?.taskId) throw new Error('no related task');
  return { action: 'accept', content: { name: names.shift() } };
});
const tasks = client.experimental.tasks;
const stream = tool => tasks.callToolStream({ name: tool, arguments: {} }, CallToolResultSchema, { task: { ttl: 60_000 } });

await runTasks({
  async connect() {
    await client.connect(url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport({ command, args, stderr: 'inherit' }));
    const { tools } = await client.listTools();
    return { server: client.getServerVersion()?.name, support: tools.find(t => t.name === 'task-asks')?.execution?.taskSupport };
  },
  async run(tool) {
    const statuses = [];
    for await (const message of stream(tool)) {
      if (message.type === 'taskCreated' || message.type === 'taskStatus') statuses.push(message.task.status);
      else if (message.type === 'error') throw message.error;
      else return { statuses, result: message.result };
    }
    throw new Error('the stream ended without a result');
  },
  async cancel(tool) {
    for await (const message of stream(tool)) {
      if (message.type !== 'taskCreated') continue;
      const { taskId } = message.task;
      const cancelled = (await tasks.cancelTask(taskId)).status;
      const again = await tasks.cancelTask(taskId).then(() => 'accepted', error => error.code);
      return { cancelled, later: (await tasks.getTask(taskId)).status, again };
    }
  },
  async list() {
    return (await tasks.listTasks()).tasks.length;
  },
  close: () => client.close()
});

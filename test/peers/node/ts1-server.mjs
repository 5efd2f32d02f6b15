// The test server, written with @modelcontextprotocol/sdk (version 1), on
// stdin and stdout.

import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import { sleep, startsWith, text } from './server-parts.mjs';

const server = new McpServer({ name: 'ts1-server', version: '1.0.0' }, { capabilities: { logging: {} } });

server.registerTool(
  'add',
  {
    description: 'adds two integers',
    inputSchema: { a: z.number().int(), b: z.number().int() },
    outputSchema: { sum: z.number().int() }
  },
  ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } })
);
server.registerTool('echo', { description: 'says the message again', inputSchema: { msg: z.string() } }, ({ msg }) => text(msg));
server.registerTool('ask', { description: 'asks for a name and greets', inputSchema: {} }, async () => {
  const answer = await server.server.elicitInput({
    message: 'What is your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  });
  return text(answer.action === 'accept' ? `Hello, ${answer.content.name}!` : 'Hello, whoever you are!');
});
server.registerTool(
  'slow',
  { description: 'takes ms milliseconds, in three parts', inputSchema: { ms: z.number().int() } },
  async ({ ms }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let i = 1; i <= 3; i++) {
      if (progressToken !== undefined) {
        await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress: i, total: 3 } });
      }
      await sleep(ms / 3, extra.signal);
    }
    return text('done');
  }
);
server.registerTool('log', { description: 'logs three lines', inputSchema: {} }, async () => {
  for (const data of ['one', 'two', 'three']) await server.sendLoggingMessage({ level: 'info', logger: 'peer', data });
  return text('logged');
});
server.registerTool('grow', { description: 'adds the tool grown', inputSchema: {} }, () => {
  server.registerTool('grown', { description: 'was added at run time', inputSchema: {} }, () => text('grown'));
  return text('added');
});

const contents = (uri, text) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text }] });
server.registerResource('static', 'test://static', { mimeType: 'text/plain' }, uri => contents(uri, 'static text'));
server.registerResource(
  'welcome',
  new ResourceTemplate('welcome://{userId}', { list: undefined }),
  { mimeType: 'text/plain' },
  (uri, { userId }) => contents(uri, `Welcome, ${userId}!`)
);
server.registerPrompt(
  'greet',
  { description: 'asks for a greeting', argsSchema: { name: completable(z.string(), startsWith) } },
  ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${name}.` } }] })
);

await server.connect(new StdioServerTransport());

// The test server, written with @modelcontextprotocol/sdk (version 1), on
// stdin and stdout or over HTTP: -http ADDRESS serves /mcp, and HTTP+SSE at /sse.

import { randomUUID } from 'node:crypto';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { Events, httpAddress, listen, sleep, startsWith, text } from './server-parts.mjs';

function addTools(server) {
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
}

function addRest(server) {
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
}

function newServer() {
  const server = new McpServer({ name: 'ts1-server', version: '1.0.0' }, { capabilities: { logging: {} } });
  addTools(server);
  addRest(server);
  return server;
}

// Every session has a server of its own.
const sessions = new Map();

async function serve(req, res) {
  const { pathname, searchParams } = new URL(req.url, 'http://host');
  if (pathname === '/sse' && req.method === 'GET') {
    const transport = new SSEServerTransport('/message', res);
    sessions.set(transport.sessionId, transport);
    return newServer().connect(transport);
  }
  if (pathname === '/message') return sessions.get(searchParams.get('sessionId')).handlePostMessage(req, res);
  if (pathname !== '/mcp') return res.writeHead(404).end();
  const id = req.headers['mcp-session-id'];
  if (id) {
    if (sessions.has(id)) return sessions.get(id).handleRequest(req, res);
    return res.writeHead(404).end();
  }
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new Events(),
    retryInterval: 50,
    onsessioninitialized: id => sessions.set(id, transport),
    onsessionclosed: id => sessions.delete(id)
  });
  await newServer().connect(transport);
  return transport.handleRequest(req, res);
}

if (httpAddress()) listen(httpAddress(), serve);
else await newServer().connect(new StdioServerTransport());

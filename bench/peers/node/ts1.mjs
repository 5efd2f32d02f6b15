// The measured server and client, written with @modelcontextprotocol/sdk
// (version 1).

import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { blob, calls, flag, has, listen, many, structured, text } from './parts.mjs';

const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js');

function newServer() {
  const server = new McpServer({ name: 'bench', version: '1' });
  const addAdd = name =>
    server.registerTool(
      name,
      { description: 'adds two integers', inputSchema: { a: z.number().int(), b: z.number().int() }, outputSchema: { sum: z.number().int() } },
      ({ a, b }) => structured({ sum: a + b })
    );
  addAdd('add');
  server.registerTool('echo', { description: 'says the message again', inputSchema: { msg: z.string() } }, ({ msg }) => text(msg));
  server.registerTool('steps', { description: 'reports progress once', inputSchema: {} }, async (_, extra) => {
    const progressToken = extra._meta?.progressToken;
    if (progressToken !== undefined) await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } });
    return text('done');
  });
  server.registerTool('blob', { description: 'returns a text of this size', inputSchema: { size: z.number().int() } }, blob);
  server.registerTool(
    'length',
    { description: 'counts the bytes of a text', inputSchema: { text: z.string() }, outputSchema: { length: z.number().int() } },
    args => structured({ length: args.text.length })
  );
  for (const name of many(5)) addAdd(name);
  server.registerResource('static', 'test://static', { mimeType: 'text/plain' }, uri => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'static text' }]
  }));
  server.registerPrompt('greet', { description: 'asks for a greeting', argsSchema: { name: z.string() } }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Please greet "${name}".` } }]
  }));
  return server;
}

// Every session has a server of its own.
const sessions = new Map();

async function serveHTTP(address) {
  const { StreamableHTTPServerTransport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js');
  listen(address, async (req, res) => {
    const id = req.headers['mcp-session-id'];
    if (id) return sessions.get(id).handleRequest(req, res);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: !has('sse'),
      onsessioninitialized: id => sessions.set(id, transport)
    });
    await newServer().connect(transport);
    return transport.handleRequest(req, res);
  });
}

async function client(url) {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const c = new Client({ name: 'bench', version: '1' });
  await c.connect(new StreamableHTTPClientTransport(new URL(url)));
  await c.listTools();
  await calls(() => c.callTool({ name: 'add', arguments: { a: 20, b: 22 } }));
}

if (flag('call')) await client(flag('call'));
else if (flag('http')) await serveHTTP(flag('http'));
else {
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  await newServer().connect(new StdioServerTransport());
}

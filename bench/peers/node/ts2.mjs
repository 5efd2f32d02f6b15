// The measured server and client, written with @modelcontextprotocol/server
// and client (version 2).

import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { blob, calls, flag, has, listen, many, structured, text } from './parts.mjs';

async function serve() {
  const { McpServer, WebStandardStreamableHTTPServerTransport, createMcpHandler } = await import('@modelcontextprotocol/server');

  function newServer() {
    const server = new McpServer({ name: 'bench', version: '1' });
    const addAdd = name =>
      server.registerTool(
        name,
        {
          description: 'adds two integers',
          inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
          outputSchema: z.object({ sum: z.number().int() })
        },
        ({ a, b }) => structured({ sum: a + b })
      );
    addAdd('add');
    server.registerTool('echo', { description: 'says the message again', inputSchema: z.object({ msg: z.string() }) }, ({ msg }) => text(msg));
    server.registerTool('steps', { description: 'reports progress once', inputSchema: z.object({}) }, async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      if (progressToken !== undefined) await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } });
      return text('done');
    });
    server.registerTool('blob', { description: 'returns a text of this size', inputSchema: z.object({ size: z.number().int() }) }, blob);
    server.registerTool(
      'length',
      { description: 'counts the bytes of a text', inputSchema: z.object({ text: z.string() }), outputSchema: z.object({ length: z.number().int() }) },
      args => structured({ length: args.text.length })
    );
    for (const name of many(5)) addAdd(name);
    server.registerResource('static', 'test://static', { mimeType: 'text/plain' }, uri => ({
      contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'static text' }]
    }));
    server.registerPrompt('greet', { description: 'asks for a greeting', argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Please greet "${name}".` } }]
    }));
    return server;
  }

  if (!flag('http')) {
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
    serveStdio(newServer, { legacy: 'serve' });
    return;
  }
  const { getRequestListener } = await import('@hono/node-server');
  if (has('modern')) {
    const handler = createMcpHandler(newServer, { legacy: 'reject' });
    listen(flag('http'), getRequestListener(request => handler.fetch(request)));
    return;
  }
  const sessions = new Map();
  const legacy = async request => {
    const id = request.headers.get('mcp-session-id');
    if (id) return sessions.get(id).handleRequest(request);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: !has('sse'),
      onsessioninitialized: id => sessions.set(id, transport)
    });
    await newServer().connect(transport);
    return transport.handleRequest(request);
  };
  listen(flag('http'), getRequestListener(legacy));
}

async function client(url) {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const c = new Client({ name: 'bench', version: '1' });
  await c.connect(new StreamableHTTPClientTransport(new URL(url)));
  await c.listTools();
  await calls(() => c.callTool({ name: 'add', arguments: { a: 20, b: 22 } }));
}

if (flag('call')) await client(flag('call'));
else await serve();

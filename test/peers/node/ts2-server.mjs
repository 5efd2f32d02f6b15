// The test server, written with @modelcontextprotocol/server (version 2), on
// stdin and stdout or, with -http ADDRESS, over HTTP at /mcp. -modern makes it
// refuse legacy clients. Over HTTP legacy clients have sessions, as the SDK's
// documentation advises; -stateless leaves them to the SDK, which keeps none.

import { randomUUID } from 'node:crypto';
import { getRequestListener } from '@hono/node-server';
import {
  McpServer,
  ResourceTemplate,
  WebStandardStreamableHTTPServerTransport,
  acceptedContent,
  completable,
  createMcpHandler,
  inputRequired,
  isLegacyRequest
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { Events, httpAddress, listen, sleep, startsWith, text } from './server-parts.mjs';

const none = z.object({});

// Over HTTP the SDK makes a new server for every modern request, and news has
// to be told to its handler.
let hasGrown = false;
let toolsChanged = () => {};

function addTools(server) {
  server.registerTool(
    'add',
    {
      description: 'adds two integers',
      inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
      outputSchema: z.object({ sum: z.number().int() })
    },
    ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } })
  );
  server.registerTool('echo', { description: 'says the message again', inputSchema: z.object({ msg: z.string() }) }, ({ msg }) =>
    text(msg)
  );
  // The question is returned. The SDK hands it to a modern client as it is,
  // and puts it to a legacy client as a request.
  server.registerTool('ask', { description: 'asks for a name and greets', inputSchema: none }, (_, ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, 'name');
    if (answer) return text(`Hello, ${answer.name}!`);
    return inputRequired({
      inputRequests: {
        name: inputRequired.elicit({
          message: 'What is your name?',
          requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
        })
      },
      requestState: 'asked'
    });
  });
  server.registerTool(
    'slow',
    { description: 'takes ms milliseconds, in three parts', inputSchema: z.object({ ms: z.number().int() }) },
    async ({ ms }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (let i = 1; i <= 3; i++) {
        if (progressToken !== undefined) {
          await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: i, total: 3 } });
        }
        await sleep(ms / 3, mcpReq.signal);
      }
      return text('done');
    }
  );
  server.registerTool('log', { description: 'logs three lines', inputSchema: none }, async (_, { mcpReq }) => {
    for (const line of ['one', 'two', 'three']) await mcpReq.log('info', line, 'peer');
    return text('logged');
  });
  const grown = () => server.registerTool('grown', { description: 'was added at run time', inputSchema: none }, () => text('grown'));
  server.registerTool('grow', { description: 'adds the tool grown', inputSchema: none }, () => {
    hasGrown = true;
    grown();
    toolsChanged();
    return text('added');
  });
  if (hasGrown) grown();
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
    { description: 'asks for a greeting', argsSchema: z.object({ name: completable(z.string(), startsWith) }) },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${name}.` } }] })
  );
}

function newServer() {
  const server = new McpServer({ name: 'ts2-server', version: '1.0.0' }, { capabilities: { logging: {} } });
  addTools(server);
  addRest(server);
  return server;
}

const has = flag => process.argv.includes(flag);

// Every legacy session has a server of its own.
const sessions = new Map();

async function serveLegacy(request) {
  const id = request.headers.get('mcp-session-id');
  if (id) return sessions.get(id)?.handleRequest(request) ?? new Response(null, { status: 404 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new Events(),
    retryInterval: 50,
    onsessioninitialized: id => sessions.set(id, transport),
    onsessionclosed: id => sessions.delete(id)
  });
  await newServer().connect(transport);
  return transport.handleRequest(request);
}

function serveHTTP(address) {
  const stateless = has('-stateless');
  const handler = createMcpHandler(newServer, { legacy: stateless ? 'stateless' : 'reject' });
  toolsChanged = () => handler.notify.toolsChanged();
  const serve = async request => {
    if (!stateless && !has('-modern') && (await isLegacyRequest(request))) return serveLegacy(request);
    return handler.fetch(request);
  };
  listen(address, getRequestListener(serve));
}

if (httpAddress()) serveHTTP(httpAddress());
else serveStdio(newServer, { legacy: has('-modern') ? 'reject' : 'serve' });

// The script that both JavaScript clients run, and its printing: one JSON line
// for each step. The README lists the steps and the values to expect.

const patience = 10_000;

function print(line) {
  process.stdout.write(JSON.stringify(line) + '\n');
}

export async function step(name, run) {
  try {
    print({ step: name, ok: true, value: await run() });
  } catch (error) {
    print({ step: name, ok: false, error: String(error?.message ?? error) });
  }
}

// commandLine splits the command line: [-revision R] command [argument ...],
// or [-revision R] -http URL [-sse].
export function commandLine() {
  const args = process.argv.slice(2);
  let revision = '';
  if (args[0] === '-revision') [, revision] = args.splice(0, 2);
  if (args[0] === '-http' && args.length > 1) return { revision, url: new URL(args[1]), older: args[2] === '-sse' };
  if (args.length === 0) {
    process.stderr.write('usage: node client.mjs [-revision R] command [argument ...], or -http URL [-sse]\n');
    process.exit(2);
  }
  return { revision, command: args[0], args: args.slice(1) };
}

// A collection gathers what notifications bring.
export class Collection {
  items = [];
  #wake = () => {};
  add(item) {
    this.items.push(item);
    this.#wake();
  }
  async wait(n) {
    const end = Date.now() + patience;
    while (this.items.length < n && Date.now() < end) {
      await new Promise(resolve => {
        const timer = setTimeout(resolve, end - Date.now());
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.items;
  }
}

function text(result) {
  const found = result.content?.find(c => c.type === 'text')?.text ?? '';
  if (result.isError) throw new Error('the tool failed: ' + found);
  return found;
}

// runScript runs every step. peer has:
//   connect()                        -> { revision, server }
//   call(name, arguments, options)   -> the result; options: meta, onprogress, signal
//   wantLogs()                       -> the _meta that asks for log lines, after asking in any other way
//   logged, changed                  -> Collections
//   client                           -> the SDK's client, for what both SDKs do the same way
export async function runScript(peer) {
  try {
    print({ step: 'connect', ok: true, value: await peer.connect() });
  } catch (error) {
    print({ step: 'connect', ok: false, error: String(error?.message ?? error) });
    process.exit(1);
  }
  const { client } = peer;
  const tools = async () => (await client.listTools()).tools.map(t => t.name).sort();
  await step('tools', tools);
  await step('add', async () => (await peer.call('add', { a: 2, b: 3 })).structuredContent);
  await step('echo', async () => text(await peer.call('echo', { msg: 'hello' })));
  await step('ask', async () => text(await peer.call('ask', {})));
  await step('slow', async () => {
    const progress = new Collection();
    const result = await peer.call('slow', { ms: 300 }, { onprogress: p => progress.add(p.progress) });
    // This SDK forgets the handler when the result comes, so late news is lost.
    return { progress: progress.items, text: text(result) };
  });
  await step('cancel', () => cancel(peer));
  await step('log', async () => {
    const meta = await peer.wantLogs();
    await peer.call('log', {}, { meta });
    return await peer.logged.wait(3);
  });
  await step('read-static', async () => (await client.readResource({ uri: 'test://static' })).contents[0].text);
  await step('read-template', async () => (await client.readResource({ uri: 'welcome://ada' })).contents[0].text);
  await step('prompt', async () => {
    const result = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
    return result.messages[0].content.text;
  });
  await step('complete', async () => {
    const result = await client.complete({
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'name', value: 'A' }
    });
    return result.completion.values;
  });
  await step('unknown-tool', () => unknown(peer));
  await step('grow', async () => {
    await peer.call('grow', {});
    const heard = (await peer.changed.wait(1)).length > 0;
    return { heard, listed: (await tools()).includes('grown') };
  });
  await step('close', async () => {
    await client.close();
  });
}

// cancel gives up a call after its first progress, and makes another one.
async function cancel(peer) {
  const control = new AbortController();
  let ended = '';
  try {
    await peer.call('slow', { ms: 600_000 }, { signal: control.signal, onprogress: () => control.abort('enough') });
    ended = 'a result';
  } catch (error) {
    if (!control.signal.aborted) ended = String(error?.message ?? error);
  }
  if (ended) throw new Error('the cancelled call ended with ' + ended);
  return text(await peer.call('echo', { msg: 'alive' }));
}

// unknown calls a tool that does not exist. Servers answer with an error or
// with a failed result; both are printed.
async function unknown(peer) {
  let result;
  try {
    result = await peer.call('no-such-tool', {});
  } catch (error) {
    if (typeof error.code !== 'number') throw error;
    return { code: error.code };
  }
  if (!result.isError) throw new Error('the call of an unknown tool succeeded');
  return { isError: true };
}

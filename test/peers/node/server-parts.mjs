// What the two JavaScript servers share: parts that do not touch an SDK.

import { createServer } from 'node:http';

// httpAddress is what follows -http on the command line, if it is there.
export function httpAddress() {
  const at = process.argv.indexOf('-http');
  return at < 0 ? '' : process.argv[at + 1];
}

// listen serves at host:port, prints the URL, and goes on until it is killed.
export function listen(address, serve) {
  const [host, port] = address.split(':');
  const server = createServer(serve);
  server.listen(Number(port), host, () => {
    process.stdout.write(`http://${host}:${server.address().port}/mcp\n`);
  });
}

// Events keeps what was sent, so that a stream can be taken up again.
export class Events {
  #sent = [];
  async storeEvent(stream, message) {
    this.#sent.push({ stream, message });
    return String(this.#sent.length);
  }
  async getStreamIdForEventId(id) {
    return this.#sent[Number(id) - 1]?.stream;
  }
  async replayEventsAfter(last, { send }) {
    const { stream } = this.#sent[Number(last) - 1];
    for (let i = Number(last); i < this.#sent.length; i++) {
      // A message without content marks the start of a stream.
      if (this.#sent[i].stream === stream && 'jsonrpc' in this.#sent[i].message) await send(String(i + 1), this.#sent[i].message);
    }
    return stream;
  }
}

export const text = s => ({ content: [{ type: 'text', text: s }] });

export const startsWith = value => ['Ada', 'Alan', 'Grace'].filter(name => name.startsWith(value ?? ''));

// sleep ends early, with an error and a line on stderr, when the call is
// cancelled.
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      process.stderr.write('slow: cancelled\n');
      reject(new Error('cancelled'));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

// Loaded before a server that can only be told its port: has it listen on a
// free port of the loopback, and print the URL.

import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  this.once('listening', () => process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`));
  return listen.call(this, 0, '127.0.0.1', ...args.filter(a => typeof a === 'function'));
};

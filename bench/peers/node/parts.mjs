// What both TypeScript programs share: parts that touch no SDK.

import { createServer } from 'node:http';
import { createServer as createSocket } from 'node:net';

export function flag(name) {
  const at = process.argv.indexOf('-' + name);
  return at < 0 ? undefined : (process.argv[at + 1] ?? '');
}

export const has = name => process.argv.includes('-' + name);

// Answers questions about memory: a line "gc" gives back what can be given.
if (process.env.BENCH_STATS) {
  createSocket(socket => {
    socket.on('data', line => {
      if (String(line).startsWith('gc')) globalThis.gc?.();
      socket.write('{"mallocs":0,"bytes":0,"goroutines":0}\n');
    });
  }).listen(process.env.BENCH_STATS);
}

export function listen(address, serve) {
  const [host, port] = address.split(':');
  createServer(serve).listen(Number(port), host);
}

const line = 'Measure it, said the first, and wrote 0123456789 down on a line of text.\n';
const texts = new Map();
if (flag('http')) for (const size of [1 << 20, 10 << 20]) texts.set(size, line.repeat(size / line.length + 1).slice(0, size));

export const text = s => ({ content: [{ type: 'text', text: s }] });
export const structured = v => ({ ...text(JSON.stringify(v)), structuredContent: v });
export const blob = ({ size }) => text(texts.get(size));

// names of the tools that bring the number to what -tools says
export function many(have) {
  const names = [];
  for (let i = have; i < Number(flag('tools') ?? 0); i++) names.push('tool_' + String(i).padStart(4, '0'));
  return names;
}

// calls makes n calls after a tenth of that, and prints what they cost.
export async function calls(call) {
  const n = Number(flag('n'));
  const one = async () => {
    const sum = (await call()).structuredContent.sum;
    if (sum !== 42) throw new Error(`20 + 22 = ${sum}`);
  };
  for (let i = 0; i < Math.max(1, n / 10); i++) await one();
  const before = process.cpuUsage();
  const start = process.hrtime.bigint();
  for (let i = 0; i < n; i++) await one();
  const wall = Number(process.hrtime.bigint() - start) / 1e3;
  const used = process.cpuUsage(before);
  process.stdout.write(JSON.stringify({ calls: n, cpu: (used.user + used.system) / n, wall: wall / n, allocs: 0, bytes: 0 }) + '\n');
  process.exit(0);
}

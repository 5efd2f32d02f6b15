// The messages that the host still holds, ordered by number, and the calls that
// they belong to. A request gets its outcome when a message ends it.

const most = 100_000;

// The methods that clients use to get to know a server and to stay in touch.
const quiet = new Set(['initialize', 'notifications/initialized', 'server/discover', 'ping', 'subscriptions/listen', 'notifications/subscriptions/acknowledged', 'resources/subscribe', 'resources/unsubscribe', 'logging/setLevel']);
const bad = new Set(['failed', 'invalid', 'error', 'http', 'lost']);

// housekeeping reports whether a message only keeps a connection going. One that
// failed or breaks a rule is not: it is worth seeing.
export function housekeeping(m) {
  if (m.problems) return false;
  if (m.kind === 'event') return m.status > 0 && (m.status < 400 || m.status === 405);
  if (!quiet.has(m.method) && !m.method?.endsWith('/list')) return false;
  return !bad.has(m.outcome) || m.method === 'server/discover' && (m.code === -32601 || m.status === 400 || m.status === 404); // an older server is asked for its age so
}

export class Rows {
  list = [];         // by number
  whole = false;     // all messages that the host holds are loaded
  dropped = false;   // older messages were dropped
  version = 0;       // grows when rows are removed or inserted before others
  ends = 0;          // grows when a request ends
  kids = new Map();  // messages by the number of the request that they belong to
  conns = new Map(); // the latest connection by server
  inits = new Map(); // the latest initialize by connection

  add(more, lost) {
    if (lost) this.dropped = true;
    for (const m of more) {
      const last = this.list.at(-1);
      if (last && m.seq <= last.seq) continue;
      this.list.push(m);
      this.#join(m);
    }
    if (this.list.length > most * 1.1) {
      for (const m of this.list.slice(0, -most)) this.kids.delete(m.seq);
      this.list = this.list.slice(-most);
      this.dropped = true;
      this.version++;
    }
  }

  // before adds older messages, which are given latest first.
  before(older) {
    const first = this.list[0]?.seq ?? Infinity;
    const fit = older.filter((m) => m.seq < first);
    if (!fit.length) return;
    this.list = fit.toReversed().concat(this.list);
    for (const m of fit) this.#join(m, true);
    this.version++;
  }

  clear() {
    this.list = [];
    this.kids.clear();
    this.dropped = false;
    this.version++;
  }

  #join(m, first) {
    if (m.conn > (this.conns.get(m.server) ?? 0)) this.conns.set(m.server, m.conn);
    if (m.method === 'initialize' && m.kind === 'request' && !(this.inits.get(m.conn) > m.seq)) this.inits.set(m.conn, m.seq);
    if (m.joins) {
      const kids = this.kids.get(m.joins);
      if (!kids) this.kids.set(m.joins, [m]);
      else if (first) kids.unshift(m);
      else kids.push(m);
    }
    if (first) { for (const k of this.kids.get(m.seq) ?? []) this.#end(k); return; } // the host knows how it ended, except for what just came
    this.#end(m);
  }

  // #end gives requests the outcome that a message brings.
  #end(m) {
    const all = m.ends ?? (m.outcome && m.joins && m.kind !== 'request' ? [{ seq: m.joins, outcome: m.outcome, code: m.code, ms: m.ms }] : []);
    for (const e of all) {
      const asked = this.get(e.seq);
      if (!asked || asked.outcome === 'cancelled' || m.kind === 'event' && asked.answer) continue;
      asked.outcome = e.outcome;
      asked.code = e.code;
      asked.ms = e.ms || (m.at - asked.at) / 1000;
      if (m.kind === 'response' || m.kind === 'error') asked.answer = m.seq;
      this.ends++;
    }
  }

  // root returns the message that a message is listed under: the request that
  // it belongs to, or itself.
  root(m) {
    for (let n = 0; m.joins && n < 8; n++) {
      const up = this.get(m.joins);
      if (!up) break;
      m = up;
    }
    return m;
  }

  depth(m) {
    let n = 0;
    for (let up = m; up?.joins && n < 8; n++) { up = this.get(up.joins); if (!up) break; }
    return n;
  }

  // below returns the messages under a root, in their order.
  below(m, out = []) {
    for (const k of this.kids.get(m.seq) ?? []) {
      out.push(k);
      if (out.length < 5000) this.below(k, out);
    }
    return out.sort((a, b) => a.seq - b.seq);
  }

  // open reports whether a request may still be answered: it has no outcome and
  // its connection was not replaced by a newer one.
  open(m, servers) {
    if (m.outcome || m.kind !== 'request' && m.kind !== 'batch') return false;
    if (m.method === 'server/discover' && this.inits.get(m.conn) > m.seq) return false; // the client went on without an answer
    const one = servers.get(m.server);
    if (!one) return true; // a tapped host or a recording
    return m.conn >= (this.conns.get(m.server) ?? 0) && !['failed', 'disabled', 'closed', 'restarting'].includes(one.phase);
  }

  // at returns the index of a message, or where it would be inserted.
  at(seq) {
    let low = 0, high = this.list.length;
    // Without gaps the place can be computed.
    const guess = seq - (this.list[0]?.seq ?? 0);
    if (this.list[guess]?.seq === seq) return guess;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.list[mid].seq < seq) low = mid + 1; else high = mid;
    }
    return low;
  }

  get(seq) {
    const m = this.list[this.at(seq)];
    return m?.seq === seq ? m : undefined;
  }
}

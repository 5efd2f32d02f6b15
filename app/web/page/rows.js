// The messages that passed, as rows: all that the host still keeps. Requests
// learn of their answers as these come.

const most = 100_000;

export class Rows {
  list = [];        // by number
  whole = false;    // everything that is kept was asked for
  dropped = false;  // older messages are gone
  version = 0;      // grows when rows go away or come before others

  add(more, lost) {
    if (lost) this.dropped = true;
    for (const m of more) {
      const last = this.list.at(-1);
      if (last && m.seq <= last.seq) continue;
      this.list.push(m);
      this.#join(m);
    }
    if (this.list.length > most * 1.1) {
      this.list = this.list.slice(-most);
      this.dropped = true;
      this.version++;
    }
  }

  // before adds older messages, given the latest first.
  before(older) {
    const first = this.list[0]?.seq ?? Infinity;
    const fit = older.filter((m) => m.seq < first).reverse();
    if (!fit.length) return;
    this.list = fit.concat(this.list);
    for (const m of fit) this.#join(m);
    this.version++;
  }

  clear() {
    this.list = [];
    this.dropped = false;
    this.version++;
  }

  #join(m) {
    if (!m.joins || (m.kind !== 'response' && m.kind !== 'error')) return;
    const asked = this.get(m.joins);
    if (!asked || asked.answer) return;
    asked.answer = m.seq;
    asked.failed = m.kind === 'error';
    asked.took = m.ms;
    if (m.status && !asked.status) asked.status = m.status;
  }

  // at is where a message stands, or would.
  at(seq) {
    let low = 0, high = this.list.length;
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

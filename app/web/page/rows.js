// The messages that the host still holds, ordered by number. A request gets
// the number of its response when that arrives.

const most = 100_000;

export class Rows {
  list = [];        // by number
  whole = false;    // all messages that the host holds are loaded
  dropped = false;  // older messages were dropped
  version = 0;      // grows when rows are removed or inserted before others

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

  // before adds older messages, which are given latest first.
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

  // at returns the index of a message, or where it would be inserted.
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

// JSON with the digits that came. JavaScript reads 9007199254740993 as …992 and
// 1.0 as 1. parse keeps such a number as Digits, which JSON.stringify writes as
// it was; every other number is a number.
//
//   parse(text)             a value; throws if the text is not JSON
//   parseLater(text)        the same for a large text, in short slices
//   stringify(value, step)  JSON with all digits
//   number(text)            a number as a person types it, or undefined
//   isNumber(value)         a number or Digits

// Digits is a number that JavaScript would write differently.
export class Digits {
  constructor(text) { this.text = text; }
  [Symbol.toPrimitive](hint) { return hint === 'number' ? Number(this.text) : this.text; }
  toJSON() { return JSON.rawJSON ? JSON.rawJSON(this.text) : mark + this.text; }
}

const mark = `digits ${crypto.getRandomValues(new Uint32Array(4)).join('')} `; // for browsers without JSON.rawJSON
const marked = new RegExp(`"${mark}([^"]*)"`, 'g');

export const isNumber = (v) => typeof v === 'number' || v instanceof Digits;

const exact = (text) => String(Number(text)) === text ? Number(text) : new Digits(text);
const numeral = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export function number(text) {
  text = String(text).trim();
  return numeral.test(text) ? exact(text) : undefined;
}

export function stringify(v, step) {
  const text = JSON.stringify(v, null, step);
  return JSON.rawJSON || text === undefined ? text : text.replace(marked, '$1');
}

// risky finds digits that JSON.parse may change. It may also find some inside of
// strings.
const risky = /[\d.]{16}|\.\d*0(?!\d)|\d[eE]|-0(?![.\d])|\.0{6}/;

export function parse(text) {
  if (!risky.test(text)) return JSON.parse(text);
  const b = new Builder();
  new Reader(text, b).run();
  return b.value;
}

const large = 100_000; // characters to read at once

export async function parseLater(text) {
  if (text.length < large) return parse(text);
  const b = new Builder();
  await readLater(text, b);
  return b.value;
}

// readLater reads a text in slices and rests between them.
export async function readLater(text, sink, signal) {
  const r = new Reader(text, sink);
  while (!r.run(performance.now() + 12)) {
    await rest();
    if (signal?.aborted) return;
  }
}

// rest lets the browser paint and handle input.
export const rest = () => globalThis.scheduler?.yield ? scheduler.yield() : new Promise((r) => setTimeout(r));

// A Builder makes values of what a Reader finds.
class Builder {
  stack = [];
  open(list) { const v = list ? [] : {}; this.put(v); this.stack.push(this.into); this.into = v; }
  close() { this.into = this.stack.pop(); }
  key(text) { this.name = JSON.parse(text); }
  scalar(text) { const c = text.charCodeAt(0); this.put(c === 45 || c >= 48 && c <= 57 ? exact(text) : JSON.parse(text)); }
  put(v) {
    if (!this.into) this.value = v;
    else if (Array.isArray(this.into)) this.into.push(v);
    else if (this.name === '__proto__') Object.defineProperty(this.into, this.name, { value: v, enumerable: true, configurable: true, writable: true });
    else this.into[this.name] = v;
  }
}

const plain = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
const [VALUE, FIRST, KEY, NAME, AFTER] = [0, 1, 2, 3, 4]; // what may come next

// A Reader reads JSON and passes its parts to a sink: open(list, from), close(from),
// key(text, from) and scalar(text, from).
export class Reader {
  #i = 0;
  #next = VALUE;
  #lists = []; // of the open containers: whether it is a list

  constructor(text, sink) {
    this.text = text;
    this.sink = sink;
  }

  // run reads until the end and returns true, or until a time and returns false.
  run(until = Infinity) {
    const t = this.text;
    for (let n = 1; ; n++) {
      if ((n & 255) === 0 && performance.now() > until) return false;
      let c = t.charCodeAt(this.#i);
      while (c === 32 || c === 10 || c === 13 || c === 9) c = t.charCodeAt(++this.#i);
      if (Number.isNaN(c)) {
        if (this.#next === AFTER && !this.#lists.length) return true;
        this.#fail();
      }
      this.#step(c);
    }
  }

  #fail() { throw new SyntaxError(this.#i < this.text.length ? `unexpected ${JSON.stringify(this.text[this.#i])} at position ${this.#i}` : 'the text ends too early'); }

  #step(c) {
    const next = this.#next;
    if (next === AFTER) this.#after(c);
    else if ((c === 93 || c === 125) && (next === FIRST || next === KEY)) this.#close(c);
    else if (next === KEY || next === NAME) this.#key(c);
    else this.#value(c);
  }

  #after(c) {
    if (c === 93 || c === 125) this.#close(c);
    else if (c === 44 && this.#lists.length) { this.#i++; this.#next = this.#lists.at(-1) ? VALUE : NAME; } else this.#fail();
  }

  #close(c) {
    if (!this.#lists.length || this.#lists.at(-1) !== (c === 93)) this.#fail();
    this.#lists.pop();
    this.sink.close(this.#i++);
    this.#next = AFTER;
  }

  #key(c) {
    if (c !== 34) this.#fail();
    const from = this.#i;
    const text = this.#string();
    while (' \n\r\t'.includes(this.text[this.#i] ?? 'x')) this.#i++;
    if (this.text[this.#i] !== ':') this.#fail();
    this.#i++;
    this.sink.key(text, from);
    this.#next = VALUE;
  }

  #value(c) {
    const from = this.#i;
    if (c === 91 || c === 123) {
      this.#lists.push(c === 91);
      this.#i++;
      this.sink.open(c === 91, from);
      this.#next = c === 91 ? FIRST : KEY;
      return;
    }
    let text;
    if (c === 34) text = this.#string();
    else {
      plain.lastIndex = from;
      text = plain.exec(this.text)?.[0];
      if (!text) this.#fail();
      this.#i += text.length;
    }
    this.#next = AFTER;
    this.sink.scalar(text, from);
  }

  // #string returns a string with its quotes.
  #string() {
    const t = this.text, from = this.#i;
    for (let end = t.indexOf('"', from + 1); end >= 0; end = t.indexOf('"', end + 1)) {
      let b = end;
      while (t.charCodeAt(b - 1) === 92) b--;
      if ((end - b) % 2) continue;
      this.#i = end + 1;
      return t.slice(from, end + 1);
    }
    this.#i = t.length;
    this.#fail();
  }
}

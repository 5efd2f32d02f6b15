// The three primitives, each with who decides to use it and an example that
// really runs, and the way back: what a server can ask of its client.

import { h, button, fill, icon, problem } from './dom.js';
import * as api from './api.js';
import { count, millis } from './format.js';
import { answered, lines } from './exchange.js';
import { numbers, playButton } from './controls.js';
import { offers } from './offers.js';
import { usable } from './servers.js';
import { detail, on, state } from './store.js';
import { Player } from './travel.js';

const offered = [
  { id: 'tool', kind: 'tools', title: 'Tools', who: 'The model decides', flow: ['Model', 'Server'], what: 'Functions that do something: calculate, search, write a file. The model picks one and its arguments; you approve the call.', example: (n) => `calc: add a ${n.a}, b ${n.b}` },
  { id: 'resource', kind: 'resources', title: 'Resources', who: 'The application decides', flow: ['Host', 'Server'], what: 'Things to read: files, notes, rows. Each has an address. The host reads what it wants to put before the model.', example: () => 'calc: read welcome://you' },
  { id: 'prompt', kind: 'prompts', title: 'Prompts', who: 'The person decides', flow: ['You', 'Server'], what: 'Texts that are ready to use, with blanks to fill in. You choose one, and it becomes a message of yours.', example: (n) => `calc: explain ${n.a} + ${n.b}` },
];
const back = [
  { id: 'elicitation', kind: 'ask', title: 'Elicitation', who: 'The server asks you', flow: ['Server', 'You'], what: 'A tool needs something that only you know. The host shows a form; you answer, decline or mute the server.', example: () => 'calc: average, which asks for two numbers' },
  { id: 'sampling', kind: 'ask', title: 'Sampling', who: 'The server asks the model', flow: ['Server', 'Model'], what: 'A tool wants a text from your model. You see the request and the answer, and can change or refuse both.', example: () => 'demo: write_line, which asks your model' },
  { id: 'logging', kind: 'ask', title: 'Logging', who: 'The server tells the host', flow: ['Server', 'Host'], what: 'While a tool works it reports progress and writes log messages. Nothing is answered: these are notifications.', example: () => 'demo: count to 3' },
];

export function show(parts, signal, { head, tools }) {
  const pick = numbers();
  const cards = new Map([...offered, ...back].map((p) => [p.id, new Card(p, pick, signal)]));
  const player = new Player({ label: 'The three calls', signal, show: (step) => { for (const c of cards.values()) { c.el.classList.toggle('active', c.p.id === step.card); c.point(step.seq); } }, reset: () => { for (const c of cards.values()) { c.el.classList.remove('active'); c.point(0); } } });
  const play = async () => {
    const steps = [];
    for (const p of offered) {
      const run = await cards.get(p.id).run();
      if (!run) return;
      for (const l of lines(run.messages)) steps.push({ title: l.sent ? p.who.replace(' decides', ' asks') : 'Server answers', text: l.text, code: true, card: p.id, seq: l.seq });
    }
    player.load(steps, `Three calls, each made just now over a connection to calc; shown slowly.`);
    player.play();
  };
  tools.append(playButton('Play all three', play), pick.el);
  const group = (title, text, list) => h('section', { class: 'primitives', 'aria-label': title }, h('h2', null, title), h('p', { class: 'soft' }, text), h('div', { class: 'cards3' }, list.map((p) => cards.get(p.id).el)));
  return h('div', { class: 'scroll-page learn-page' }, head,
    group('What a server offers', 'Three kinds, in three colours that mean the same in every view. The difference is who decides.', offered), player.el,
    group('The way back', 'A server can also ask, but only while it works on a call, only through its client, and only if the host allows it.', back));
}

class Card {
  constructor(p, pick, signal) {
    this.p = p;
    this.pick = pick;
    this.signal = signal;
    this.out = h('div', { class: 'exchange-box', 'aria-live': 'polite' });
    this.here = h('p', { class: 'soft here' });
    this.button = button('Run it', { class: 'small', onclick: () => this.run() }, 'play');
    this.example = h('code');
    this.el = h('article', { class: 'prim ' + p.kind }, h('div', { class: 'prim-head' }, h('h3', null, p.title), h('span', { class: 'who' }, p.who)),
      h('p', { class: 'flow', 'aria-hidden': 'true' }, h('span', null, p.flow[0]), icon('to'), h('span', null, p.flow[1])),
      h('p', null, p.what), this.here, h('div', { class: 'example' }, this.example, this.button), this.out);
    this.draw();
    pick.el.addEventListener('input', () => this.draw());
    if (p.kind !== 'ask') { this.total(); on('servers', () => this.total(), signal); }
  }

  draw() { fill(this.example, this.p.example(this.pick.get())); }

  // total counts what the servers here offer of this kind.
  async total() {
    let n = 0, from = 0;
    const some = [];
    for (const one of state.servers.values()) {
      const d = usable(one) ? await detail(one.name).catch(() => null) : null;
      const o = d && offers(d).find((x) => x.kind === this.p.kind);
      if (o) { n += o.list.length; from++; some.push(o.list[0]); }
    }
    const one = this.p.kind.slice(0, -1);
    fill(this.here, n ? [h('strong', { class: 'ink-' + this.p.kind }, count(n, one)), ` on ${count(from, 'server')} here: ${some.slice(0, 3).join(', ')}${n > some.length ? ' …' : ''}`] : `No server here offers ${this.p.title.toLowerCase()}.`);
  }

  async run() {
    this.button.disabled = true;
    const waits = this.p.id === 'elicitation' || this.p.id === 'sampling';
    fill(this.out, h('p', { class: 'state wait' }, icon('dots'), waits ? 'Waiting for you: the question is at the edge of the page.' : 'Running …'));
    try {
      const run = await api.post('learn/run', { example: this.p.id, ...this.pick.get() });
      if (this.signal.aborted) return null;
      fill(this.out, answered(run.messages), h('p', { class: 'soft small-note' }, `${run.server}, ${run.revision}, ${millis(run.ms)}`, run.error ? ` · ${run.error}` : ''));
      return run;
    } catch (e) {
      fill(this.out, problem(e));
      return null;
    } finally { this.button.disabled = false; }
  }

  point(seq) { for (const li of this.out.querySelectorAll('[data-seq]')) li.classList.toggle('active', li.dataset.seq === String(seq)); }
}

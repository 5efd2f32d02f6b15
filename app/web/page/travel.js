// A Player shows the steps of something that has really happened, one after
// another and slowly enough to read: play, pause, step, replay. Each diagram of
// Learn has one.

import { h, button, fill, icon, announce } from './dom.js';

const still = matchMedia('(prefers-reduced-motion: reduce)');

const readable = 1100; // milliseconds for each step

export class Player {
  // The step at an index is shown by show(step, animate), which may return an
  // animation; reset clears the drawing.
  constructor({ label, show, reset, signal }) {
    this.show = show;
    this.reset = reset ?? (() => {});
    this.steps = [];
    this.at = -1;
    this.playing = false;
    this.toggle = button('Pause', { class: 'small', onclick: () => this.playing ? this.pause() : this.play() });
    this.back = button('Step back', { bare: true, class: 'small', onclick: () => this.go(this.at - 1) }, 'back');
    this.next = button('Step forward', { bare: true, class: 'small', onclick: () => this.go(this.at + 1) }, 'right');
    this.again = button('Replay', { class: 'small', onclick: () => this.replay() }, 'again');
    this.controls = h('div', { class: 'player-controls', role: 'group', 'aria-label': label + ': playback' }, this.toggle, this.back, this.next, this.again);
    this.list = h('ol', { class: 'steps' });
    this.caption = h('p', { class: 'soft player-caption' });
    this.el = h('section', { class: 'player', 'aria-label': label, hidden: true }, h('div', { class: 'player-bar' }, this.controls, this.caption), this.list);
    this.el.addEventListener('keydown', (e) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (by && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); this.go(this.at + by); }
    });
    signal.addEventListener('abort', () => this.halt());
  }

  // load takes the steps of a recording: a title and a text each.
  load(steps, caption) {
    this.halt();
    this.reset();
    this.steps = steps;
    this.at = -1;
    this.el.hidden = !steps.length;
    fill(this.caption, caption);
    this.cards = steps.map((s, i) => h('button', { type: 'button', class: 'step', onclick: () => this.go(i) }, h('strong', null, `${i + 1} ${s.title}`), h('span', { class: 'soft' + (s.code ? ' mono' : '') }, s.text)));
    fill(this.list, this.cards.map((c) => h('li', null, c)));
    this.mark();
  }

  play() {
    if (!this.steps.length) return;
    if (this.at >= this.steps.length - 1) { this.reset(); this.at = -1; }
    this.playing = true;
    this.mark();
    if (this.moving?.playState === 'paused') this.moving.play();
    else this.run(this.at + 1);
  }

  pause() {
    this.playing = false;
    clearTimeout(this.timer);
    this.moving?.pause();
    this.mark();
  }

  replay() { this.halt(); this.reset(); this.at = -1; this.play(); }

  // go shows one step at once and pauses.
  go(i) {
    if (i < 0 || i >= this.steps.length) return;
    this.halt();
    this.at = i;
    this.show(this.steps[i], false, i);
    this.mark();
    announce(`${this.steps[i].title}: ${this.steps[i].text}`);
  }

  run(i) {
    if (!this.playing) return;
    if (i >= this.steps.length) { this.playing = false; this.mark(); return; }
    this.at = i;
    const moving = this.show(this.steps[i], !still.matches, i);
    this.mark();
    const on = () => { this.moving = null; this.timer = setTimeout(() => this.run(i + 1), moving ? readable / 3 : readable); };
    this.moving = moving;
    if (moving) moving.onfinish = on; else on();
  }

  halt() {
    this.playing = false;
    clearTimeout(this.timer);
    if (this.moving) { this.moving.onfinish = null; this.moving.cancel(); this.moving = null; }
  }

  mark() {
    fill(this.toggle, icon(this.playing ? 'pause' : 'play'), this.playing ? 'Pause' : 'Play');
    this.back.disabled = this.at <= 0;
    this.next.disabled = this.at >= this.steps.length - 1;
    this.cards?.forEach((c, i) => {
      c.classList.toggle('past', i < this.at);
      if (i === this.at) { c.setAttribute('aria-current', 'step'); this.list.scrollLeft = c.offsetLeft - (this.list.clientWidth - c.offsetWidth) / 2; } else c.removeAttribute('aria-current');
    });
  }
}

// fly moves a label from one element to another inside a box, along the line
// between them, above an element, and returns the animation. Without motion it is
// just there.
export function fly(box, label, from, to, animate, above) {
  const frame = box.getBoundingClientRect();
  box.append(label);
  const half = label.offsetWidth / 2;
  const inside = (x) => Math.max(half, Math.min(box.clientWidth - half, x));
  const end = (el, other) => {
    const r = el.getBoundingClientRect(), o = other.getBoundingClientRect();
    let x = r.x + r.width / 2;
    if (r.width > 120) { // a wide one is reached where its near edge is
      const away = Math.abs(r.x > o.x ? r.left - o.right : o.left - r.right) + Math.min(o.width, 120) / 2;
      const short = Math.min(half, Math.max(0, away - half)) - 10;
      x = r.x > o.x ? r.left - short : r.right + short;
    }
    return inside(x - frame.x);
  };
  const x1 = end(from, to), x2 = end(to, from);
  const y = above.getBoundingClientRect().top - frame.y - 2;
  const place = (x) => `translate(${x}px, ${y}px) translate(-50%, -100%)`;
  if (!animate) { // in the middle of the line
    const [l, r] = [from.getBoundingClientRect(), to.getBoundingClientRect()].sort((a, b) => a.left - b.left);
    label.style.transform = place(inside((l.right + r.left) / 2 - frame.x));
    return null;
  }
  label.style.transform = place(x2);
  return label.animate([{ transform: place(x1) }, { transform: place(x2) }], { duration: 1300, easing: 'cubic-bezier(.45,.05,.35,1)', fill: 'backwards' });
}

// How states of servers and calls look: a sign and a word, and a colour that
// says the same.

import { h, icon } from './dom.js';

const phases = {
  ready: ['ok', 'ok', 'ready'], starting: ['dots', 'wait', 'starting'], degraded: ['warn', 'bad', 'does not answer well'],
  'needs login': ['key', 'wait', 'needs a login'], restarting: ['again', 'bad', 'restarting'], failed: ['bad', 'bad', 'failed'],
  disabled: ['off', 'off', 'switched off'], closed: ['off', 'off', 'closed'],
  proposed: ['dots', 'wait', 'proposed'], waiting: ['ask', 'wait', 'waits for you'], running: ['dots', 'wait', 'running'],
  done: ['ok', 'ok', 'done'], denied: ['off', 'bad', 'denied'], cancelled: ['off', 'off', 'cancelled'],
};

export const tone = (phase) => phases[phase]?.[1] ?? 'off';
export const word = (phase) => phases[phase]?.[2] ?? phase;
export const phase = (p) => h('span', { class: 'state ' + tone(p) }, icon(phases[p]?.[0] ?? 'off'), word(p));

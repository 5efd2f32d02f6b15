// The phases of servers and calls: an icon, a colour and a word for each.

import { h, icon } from './dom.js';

const phases = {
  ready: ['ok', 'ok', 'ready'], starting: ['dots', 'wait', 'starting'], degraded: ['warn', 'bad', 'not responding'],
  'needs login': ['key', 'wait', 'needs login'], restarting: ['again', 'bad', 'restarting'], failed: ['bad', 'bad', 'failed'],
  disabled: ['off', 'off', 'switched off'], closed: ['off', 'off', 'closed'],
  proposed: ['dots', 'wait', 'proposed'], waiting: ['ask', 'wait', 'waiting for you'], running: ['dots', 'wait', 'running'],
  done: ['ok', 'ok', 'done'], denied: ['off', 'bad', 'denied'], cancelled: ['off', 'off', 'cancelled'],
};

export const tone = (phase) => phases[phase]?.[1] ?? 'off';
export const word = (phase) => phases[phase]?.[2] ?? phase;
export const phase = (p) => h('span', { class: 'state ' + tone(p) }, icon(phases[p]?.[0] ?? 'off'), word(p));

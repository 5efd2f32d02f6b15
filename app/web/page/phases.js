// The phases of servers: an icon, a colour and a word for each.

import { h, icon } from './dom.js';

const phases = {
  ready: ['ok', 'ok', 'ready'], starting: ['dots', 'wait', 'starting'], degraded: ['warn', 'bad', 'not responding'],
  'needs login': ['key', 'wait', 'needs login'], restarting: ['again', 'bad', 'restarting'], failed: ['bad', 'bad', 'failed'],
  disabled: ['off', 'off', 'switched off'], closed: ['off', 'off', 'closed'],
};

export const tone = (phase) => phases[phase]?.[1] ?? 'off';
export const phase = (p) => h('span', { class: 'state ' + tone(p) }, icon(phases[p]?.[0] ?? 'off'), phases[p]?.[2] ?? p);

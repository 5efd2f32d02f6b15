// Muted servers: their questions are declined until they are unmuted.

import { h, button, icon, announce } from './dom.js';
import * as api from './api.js';
import { state } from './store.js';

// muted returns a note with an Unmute button for a muted server, or null.
export function muted(server) {
  const why = state.muted.get(server);
  if (!why) return null;
  const unmute = async () => { try { await api.post(api.server(server) + '/unmute'); } catch (e) { announce(e.message); } };
  return h('p', { class: 'muted' }, h('span', { class: 'state wait' }, icon('off'), `${why}. Its questions are declined.`), ' ', button('Unmute', { class: 'small', onclick: unmute }));
}

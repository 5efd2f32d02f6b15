// The list of tasks: calls that servers run, or have run, as tasks.

import { h, button, fill, icon, announce } from './dom.js';
import * as api from './api.js';
import { count, day } from './format.js';
import { on, state } from './store.js';

const words = { working: 'working', input_required: 'waiting for your answer', completed: 'completed', failed: 'failed', cancelled: 'cancelled' };
const tones = { working: ['dots', 'wait'], input_required: ['ask', 'wait'], completed: ['ok', 'ok'], failed: ['bad', 'bad'], cancelled: ['off', 'off'] };

// taskWords describes the status of a task.
function taskWords(t) {
  const text = words[t.status] ?? t.status;
  return t.background && !t.over && (t.status === 'working' || t.status === 'input_required') ? text + ', in the background' : text;
}

// taskStatus shows the status of a task with its icon.
export const taskStatus = (t) => h('span', { class: 'state ' + (tones[t.status]?.[1] ?? 'off') }, icon(tones[t.status]?.[0] ?? 'off'), taskWords(t));

// toBackground and cancel act on a task.
async function act(action, t) { try { await api.post('tasks/' + action, { server: t.server, id: t.id }); } catch (e) { announce(e.message); } }
export const toBackground = (t) => act('background', t);
export const cancelTask = (t) => act('cancel', t);

// tasks returns the button that shows the list. It is hidden while there are no
// tasks.
export function tasks() {
  const place = document.getElementById('tasks');
  const open = button('Tasks', { class: 'tasks', onclick: () => { if (place.childElementCount) fill(place); else { list(place); place.firstChild.focus(); } } });
  const draw = () => {
    const running = state.tasks.filter((t) => !t.over).length;
    open.hidden = state.tasks.length === 0;
    fill(open, icon('dots'), h('span', null, running ? count(running, 'task') + ' running' : 'Tasks'));
    if (place.childElementCount) list(place);
  };
  on('tasks', draw);
  document.addEventListener('shut', () => fill(place));
  draw();
  return open;
}

function list(place) {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key ?? 'head' : '';
  fill(place, h('h2', { tabindex: -1, 'data-key': 'head' }, 'Tasks'),
    h('ul', null, state.tasks.toReversed().map((t) => h('li', null, h('time', { class: 'soft' }, day(t.started)),
      h('div', null, h('a', { to: '/chat/' + encodeURIComponent(t.session) }, t.server + ' › ' + (t.title || t.tool)), ' ', taskStatus(t),
        t.message && !t.over && h('p', { class: 'wrap soft' }, t.message), t.problem && h('p', { class: 'wrap' }, t.problem),
        !t.over && h('div', { class: 'actions' },
          !t.background && button('Run in background', { class: 'small', 'data-key': 'b' + t.id, onclick: () => act('background', t) }),
          button('Cancel', { class: 'small deny', 'data-key': 'c' + t.id, onclick: () => act('cancel', t) })))))),
    h('div', { class: 'actions' }, button('Close', { class: 'small', 'data-key': 'close', onclick: () => fill(place) })));
  if (focused) ([...place.querySelectorAll('[data-key]')].find((el) => el.dataset.key === focused) ?? place.firstChild).focus();
}

// Formatting of numbers, times and sizes.

export function bytes(n) {
  if (n < 1000) return `${n} B`;
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)} kB`;
  return `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)} MB`;
}

export function millis(ms) {
  if (ms === undefined || ms === null) return '';
  if (ms < 1) return ms.toFixed(2) + ' ms';
  if (ms < 10) return ms.toFixed(1) + ' ms';
  if (ms < 1000) return Math.round(ms) + ' ms';
  if (ms < 60e3) return (ms / 1000).toFixed(1) + ' s';
  return `${Math.floor(ms / 60e3)} min ${Math.round(ms / 1000) % 60} s`;
}

const two = (n) => String(n).padStart(2, '0');

// clock formats microseconds since 1970 as the time of day.
export function clock(us) {
  const d = new Date(us / 1000);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${String(d.getMilliseconds()).padStart(3, '0')}`;
}

export function ago(when) {
  const s = Math.max(0, (Date.now() - new Date(when)) / 1000);
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
  return `${Math.floor(s / 86400)} d`;
}

export function day(when) {
  const d = new Date(when);
  if (d.getFullYear() < 2000) return '';
  const time = `${two(d.getHours())}:${two(d.getMinutes())}`;
  return d.toDateString() === new Date().toDateString() ? time : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${time}`;
}

// minus writes a number with a minus sign that is as wide as its digits.
export const minus = (n) => String(n).replace('-', '−');

export const count = (n, one, many = one + 's') => `${n} ${n === 1 ? one : many}`;

// usage formats the tokens and, if known, the cost of a conversation.
export function usage(u) {
  if (!u) return '';
  const read = (u.input ?? 0) + (u.cache_read ?? 0) + (u.cache_write ?? 0);
  if (!read && !u.output) return '';
  return `${read} in, ${u.output ?? 0} out` + (u.cost ? `, $${u.cost.toFixed(u.cost < 0.1 ? 4 : 2)}` : '');
}

// Addresses and images that servers send. Whatever is not known to be harmless
// is shown as text.

import { h, button, copy, dialog, icon, visible } from './dom.js';

// webAddress returns an address that may be opened: https, or http on this
// machine. Everything else, javascript: first of all, is null.
export function webAddress(text) {
  let u;
  try { u = new URL(text); } catch { return null; }
  if (u.username || u.password) return null;
  const here = u.hostname === 'localhost' || u.hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(u.hostname);
  if (u.protocol === 'https:' && u.hostname || u.protocol === 'http:' && here) return u;
  return null;
}

// notOpened returns why webAddress is null for an address.
export function notOpened(text) {
  try {
    const u = new URL(text);
    if (u.username || u.password) return `This address is not opened: the text before the @ is a user name, and the page is on ${u.host}.`;
  } catch { /* no address at all */ }
  return 'This address is not opened: only https addresses are.';
}

// coded returns a warning about an internationalized host name, or ''.
export function coded(u) {
  return u.hostname.split('.').some((l) => l.startsWith('xn--')) ? 'The host name uses letters of other alphabets and may imitate a name that you know.' : '';
}

// openLink is the only place where an address from a server becomes a link of
// the browser.
export function openLink(u, text) {
  const a = h('a', { target: '_blank', rel: 'noopener noreferrer', class: 'button' }, icon('out'), text);
  a.href = u.href;
  return a;
}

// link shows the text of a link. A click shows the full address before
// anything is opened.
export function link(address, text) {
  const u = webAddress(address);
  if (!u) return h('span', { class: 'nolink', title: 'This address is not opened: ' + address }, text || address, text && text !== address ? [' (', h('code', null, address), ')'] : null);
  return button(text || address, { class: 'link', title: u.href, onclick: () => confirmOpen(u) });
}

// wholeAddress shows an address with its host set apart.
export const wholeAddress = (u) => h('p', { class: 'address' }, h('code', null, u.protocol + '//'), h('strong', null, u.host), h('code', null, u.href.slice(u.protocol.length + 2 + u.host.length)));

function confirmOpen(u) {
  const box = dialog('Open this address?',
    h('p', { class: 'soft' }, 'A server sent this address. It leads outside this page.'),
    wholeAddress(u),
    h('div', { class: 'actions' }, openLink(u, 'Open in a new tab'), button('Copy', { onclick: () => copy(u.href) }, 'copy'), button('Close', { onclick: () => box.close() })));
  box.querySelector('a').addEventListener('click', () => box.close());
}

const kinds = { 'image/png': png, 'image/gif': gif, 'image/jpeg': jpeg, 'image/webp': webp };

// picture shows an image of a message, if it is one of the kinds that hold
// pixels and not larger than most pixels on a side. It returns null otherwise.
export function picture(mime, base64, alt, most = 8192, weight = 32 << 20) {
  const size = kinds[String(mime).toLowerCase().split(';')[0].trim()];
  const data = String(base64 ?? '').replace(/\s/g, '');
  if (!size || data.length > weight * 4 / 3 || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return null;
  const dim = size(decode(data, 1 << 18));
  if (!dim || !dim[0] || !dim[1] || dim[0] > most || dim[1] > most) return null;
  const img = h('img', { alt: visible(alt || 'picture'), width: dim[0], height: dim[1], decoding: 'async' });
  img.src = `data:${mime.toLowerCase().split(';')[0].trim()};base64,${data}`;
  return img;
}

// badge shows the icon of a server or tool: data only, small only.
export function badge(icons) {
  for (const i of Array.isArray(icons) ? icons : []) {
    const m = /^data:([a-z/+.-]+);base64,([\s\S]+)$/i.exec(String(i?.src ?? '').slice(0, 200_000));
    const img = m && picture(m[1], m[2], '', 1024, 100_000);
    if (img) {
      img.alt = '';
      img.width = img.height = 20;
      img.className = 'badge';
      return img;
    }
  }
  return null;
}

// sound plays audio of a message.
export function sound(mime, base64) {
  if (!/^audio\/[a-z0-9.+-]+$/i.test(mime ?? '') || !/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(base64 ?? '')) return null;
  const a = h('audio', { controls: true, preload: 'metadata' });
  a.src = `data:${mime};base64,${base64.replace(/\s/g, '')}`;
  return a;
}

// save offers bytes of a message as a file.
export function save(name, mime, data) {
  const u = URL.createObjectURL(new Blob([data], { type: mime || 'application/octet-stream' }));
  const a = h('a', { download: visible(name).replace(/[^\w.-]+/g, '_').slice(-80) || 'file' });
  a.href = u;
  a.click();
  setTimeout(() => URL.revokeObjectURL(u), 10_000);
}

export function decode(base64, most = Infinity) {
  const text = atob(base64.slice(0, Math.ceil(Math.min(base64.length, most) / 4) * 4));
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

const be = (b, i, n) => { let v = 0; for (let k = 0; k < n; k++) v = v * 256 + (b[i + k] ?? 0); return v; };
const le = (b, i, n) => { let v = 0; for (let k = n - 1; k >= 0; k--) v = v * 256 + (b[i + k] ?? 0); return v; };
const tag = (b, i, text) => [...text].every((c, k) => b[i + k] === c.charCodeAt(0));

function png(b) { return tag(b, 1, 'PNG') && tag(b, 12, 'IHDR') ? [be(b, 16, 4), be(b, 20, 4)] : null; }
function gif(b) { return tag(b, 0, 'GIF8') ? [le(b, 6, 2), le(b, 8, 2)] : null; }

function webp(b) {
  if (!tag(b, 0, 'RIFF') || !tag(b, 8, 'WEBP')) return null;
  if (tag(b, 12, 'VP8X')) return [le(b, 24, 3) + 1, le(b, 27, 3) + 1];
  if (tag(b, 12, 'VP8L')) { const v = le(b, 21, 4); return [(v & 0x3fff) + 1, ((v >> 14) & 0x3fff) + 1]; }
  if (tag(b, 12, 'VP8 ')) return [le(b, 26, 2) & 0x3fff, le(b, 28, 2) & 0x3fff];
  return null;
}

function jpeg(b) {
  if (b[0] !== 0xff || b[1] !== 0xd8) return null;
  for (let i = 2; i + 9 < b.length;) {
    if (b[i] !== 0xff) return null;
    const m = b[i + 1];
    if (m === 0xff) { i++; continue; }
    if (m >= 0xc0 && m <= 0xcf && m !== 0xc4 && m !== 0xc8 && m !== 0xcc) return [be(b, i + 7, 2), be(b, i + 5, 2)];
    i += 2 + be(b, i + 2, 2);
  }
  return null;
}

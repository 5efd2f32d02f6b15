// Markdown as nodes: headings, lists, tables, code, emphasis, links. Nothing in
// it is ever markup, pictures are not fetched, and links go through links.js.

import { h, say } from './dom.js';
import { link } from './links.js';

export function looksLikeMarkdown(text) {
  return /^(#{1,6} |\s*[-*+] \S|\s*\d+[.)] \S|> |```|\|.*\|)/m.test(text) || /\*\*[^*\n]+\*\*|\[[^\]\n]+\]\([^)\n]+\)|`[^`\n]+`/.test(text);
}

export function markdown(text) {
  const lines = text.replace(/\r\n?/g, '\n').slice(0, 400_000).split('\n');
  const end = lines[0] === '---' ? lines.indexOf('---', 1) : 0; // of the front matter
  return h('div', { class: 'md' }, end > 0 && h('pre', { class: 'plain', tabindex: 0 }, lines.slice(1, end).join('\n')), blocks(end > 0 ? lines.slice(end + 1) : lines, 0));
}

function blocks(lines, depth) {
  const out = [];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i];
    let m;
    if (/^\s*$/.test(line)) { i++; continue; }
    if ((m = /^\s{0,3}(\x60{3,}|~~~+)\s*(\S*)/.exec(line))) {
      const body = [];
      for (i++; i < lines.length && !lines[i].trim().startsWith(m[1]); i++) body.push(lines[i]);
      i++;
      out.push(h('pre', { tabindex: 0 }, h('code', null, body.join('\n'))));
    } else if ((m = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line))) {
      out.push(h('p', { class: 'head head' + m[1].length, role: 'heading', 'aria-level': Math.min(6, m[1].length + 2) }, inline(m[2])));
      i++;
    } else if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) {
      out.push(h('hr'));
      i++;
    } else if (/^\s{0,3}>/.test(line) && depth < 6) {
      const body = [];
      for (; i < lines.length && /^\s{0,3}>/.test(lines[i]); i++) body.push(lines[i].replace(/^\s{0,3}> ?/, ''));
      out.push(h('blockquote', null, blocks(body, depth + 1)));
    } else if (/\|/.test(line) && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] ?? '') && /\|/.test(lines[i + 1])) {
      const cells = (l) => l.trim().replace(/^\||\|$/g, '').split('|').map((c) => c.trim());
      const head = cells(line);
      const body = [];
      for (i += 2; i < lines.length && lines[i].includes('|'); i++) body.push(cells(lines[i]));
      out.push(h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Table' }, h('table', null,
        h('thead', null, h('tr', null, head.map((c) => h('th', { scope: 'col' }, inline(c))))),
        h('tbody', null, body.map((r) => h('tr', null, head.map((_, k) => h('td', null, inline(r[k] ?? '')))))))));
    } else if ((m = bullet(line)) && depth < 8) {
      const ordered = m.ordered;
      const items = [];
      while (i < lines.length) {
        const b = bullet(lines[i]);
        if (!b || b.ordered !== ordered || b.indent !== m.indent) break;
        const body = [b.text];
        for (i++; i < lines.length && (/^\s*$/.test(lines[i]) ? /^\s{2,}\S/.test(lines[i + 1] ?? '') : indent(lines[i]) > m.indent); i++) body.push(lines[i].slice(Math.min(b.width, indent(lines[i]))));
        items.push(h('li', null, body.length === 1 ? inline(b.text) : blocks(body, depth + 1)));
        while (i < lines.length && /^\s*$/.test(lines[i]) && bullet(lines[i + 1] ?? '')) i++;
      }
      out.push(h(ordered ? 'ol' : 'ul', null, items));
    } else {
      const body = [line];
      for (i++; i < lines.length && !/^\s*$/.test(lines[i]) && !/^(#{1,6}\s|\s{0,3}(\x60{3}|~~~|>))/.test(lines[i]) && !bullet(lines[i]); i++) body.push(lines[i]);
      out.push(h('p', null, inline(body.join('\n'))));
    }
  }
  return out;
}

const indent = (l) => l.length - l.trimStart().length;

function bullet(l) {
  const m = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(\S.*)$/.exec(l);
  return m && { indent: m[1].length, ordered: /\d/.test(m[2]), width: m[1].length + m[2].length + m[3].length, text: m[4] };
}

// The parts of a line: each alternative is linear, and none crosses a line.
const parts = /(\x60+)([^\x60\n]+)\1|!?\[([^\]\n]{0,500})\]\(([^)\s]{1,2000})(?:\s+"[^"\n]*")?\)|<(https?:\/\/[^>\s]{1,2000})>|(https?:\/\/[^\s<>()[\]"'\x60]{1,2000})|\*\*([^*\n]+)\*\*|__([^_\n]+)__|\*([^*\s][^*\n]*)\*|\b_([^_\s][^_\n]*)_\b|~~([^~\n]+)~~/g;

function inline(text, depth = 0) {
  const out = [];
  let from = 0;
  for (const m of depth > 4 ? [] : text.matchAll(parts)) {
    if (m.index > from) out.push(say(text.slice(from, m.index)));
    from = m.index + m[0].length;
    if (m[1]) out.push(h('code', null, m[2]));
    else if (m[4]) out.push(m[0].startsWith('!') ? h('span', { class: 'nolink' }, '[picture: ', m[3] || m[4], ']') : link(m[4], m[3]));
    else if (m[5] || m[6]) {
      const trimmed = (m[5] || m[6]).replace(m[5] ? '' : /[.,;:!?]+$/, '');
      out.push(link(trimmed, trimmed));
      if (!m[5]) from -= m[6].length - trimmed.length;
    } else if (m[7] || m[8]) out.push(h('strong', null, inline(m[7] || m[8], depth + 1)));
    else if (m[9] || m[10]) out.push(h('em', null, inline(m[9] || m[10], depth + 1)));
    else out.push(h('s', null, inline(m[11], depth + 1)));
  }
  if (from < text.length) out.push(say(text.slice(from)));
  return out;
}

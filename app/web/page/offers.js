// What a server offers, in the three colours that the page uses everywhere.

import { h, icon } from './dom.js';
import { count } from './format.js';

// offers returns the kinds that a server offers: a class, a count and names.
export function offers(d) {
  const resources = [...d.resources, ...d.templates];
  return [
    { kind: 'tools', one: 'tool', list: d.tools.map((t) => t.name) },
    { kind: 'resources', one: 'resource', list: resources.map((r) => r.name ?? r.uri ?? r.uriTemplate) },
    { kind: 'prompts', one: 'prompt', list: d.prompts.map((p) => p.name) },
  ].filter((o) => o.list.length).map((o) => ({ ...o, text: count(o.list.length, o.one) }));
}

// chip shows the number of offers of a kind.
export const chip = (o) => h('span', { class: 'offer ' + o.kind }, h('strong', null, o.text));

// flaws shows how many lists failed and how many definitions are left out.
export function flaws(d) {
  const n = d.problems.length + d.broken.length;
  return n ? h('span', { class: 'state bad flaws' }, icon('warn'), count(n, 'problem')) : null;
}

// news reports whether a list failed that did not fail before.
export const news = (now, before) => now.problems.some((p) => !before.problems.includes(p));

// called returns the name that a server reports for itself, if it says more
// than the name in the configuration.
export function called(info, name) {
  const own = info?.title || info?.name;
  return own && own.toLowerCase() !== name.toLowerCase() ? own : '';
}

const programs = /^(node|nodejs|npx|npm|bun|bunx|deno|python[\d.]*|uv|uvx|pipx|ruby|php|java|dotnet|docker|podman|go|sh|bash|env|tenon|tapped)(-\d+)?$/;

// names returns the name to show first and the one beside it. A server that is
// known by the program that runs it shows the name that it reports.
export function names(name, info) {
  const own = called(info, name);
  return own && programs.test(name) ? { main: own, sub: name } : { main: name, sub: own };
}

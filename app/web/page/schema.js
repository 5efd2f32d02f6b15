// JSON Schema, as far as a form needs it: what a value must be, and whether
// one is. The server has the last word; this is so that people need not wait
// for it.

import { isNumber, Digits, parse, stringify } from './numbers.js';

const own = (o, k) => Object.prototype.hasOwnProperty.call(o, k);
export const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v) && !(v instanceof Digits);

// copied returns a copy of a JSON value.
export const copied = (v) => parse(stringify(v));

// resolve follows references within the schema, and folds allOf into one.
export function resolve(schema, root, hops = 0) {
  if (schema === true || schema === undefined) return {};
  if (schema === false) return { not: {} };
  if (!isObject(schema) || hops > 20) return {};
  if (typeof schema.$ref === 'string') {
    const there = pointed(root, schema.$ref);
    const { $ref, ...rest } = schema;
    return merge(resolve(there, root, hops + 1), rest);
  }
  if (Array.isArray(schema.allOf)) {
    const { allOf, ...rest } = schema;
    return allOf.reduce((all, part) => merge(all, resolve(part, root, hops + 1)), rest);
  }
  return schema;
}

function merge(a, b) {
  const out = { ...a, ...b };
  if (a.properties && b.properties) out.properties = { ...a.properties, ...b.properties };
  if (a.required && b.required) out.required = [...new Set([...a.required, ...b.required])];
  return out;
}

// pointed returns what a reference within the schema leads to, or undefined.
export function pointed(root, ref) {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return anchored(root, ref.slice(1));
  let at = root;
  for (const part of ref.slice(2).split('/')) {
    let key = part;
    try { key = decodeURIComponent(part); } catch { /* as it is */ }
    key = key.replace(/~1/g, '/').replace(/~0/g, '~');
    if (at === null || typeof at !== 'object' || !own(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

function anchored(root, name) {
  return Object.values({ ...root?.$defs, ...root?.definitions }).find((d) => d?.$anchor === name);
}

function typeOf(v) {
  if (v === null) return 'null';
  if (Array.isArray(v)) return 'array';
  if (isNumber(v)) return Number.isInteger(Number(v)) ? 'integer' : 'number';
  return typeof v;
}

const fits = (v, type) => typeOf(v) === type || type === 'number' && isNumber(v);

export function types(schema) {
  if (Array.isArray(schema.type)) return schema.type;
  if (schema.type) return [schema.type];
  if (schema.properties) return ['object'];
  if (schema.items || schema.prefixItems) return ['array'];
  if (schema.pattern !== undefined || schema.minLength !== undefined) return ['string'];
  return [];
}

export function same(a, b) {
  if (a === b || isNumber(a) && isNumber(b) && Number(a) === Number(b) && (Math.abs(a) < 2 ** 53 || String(a) === String(b))) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((v, i) => same(v, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((k) => own(b, k) && same(a[k], b[k]));
}

const formats = {
  email: [/^[^\s@]+@[^\s@]+$/, 'an e-mail address'],
  uri: [/^[a-z][a-z0-9+.-]*:\S*$/i, 'an address such as https://example.com'],
  date: [/^\d{4}-\d\d-\d\d$/, 'a date such as 2026-11-15'],
  'date-time': [/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/, 'a time such as 2026-11-15T09:30:00Z'],
  time: [/^\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?$/, 'a time such as 09:30:00Z'],
  ipv4: [/^(\d{1,3}\.){3}\d{1,3}$/, 'an IPv4 address'],
  uuid: [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'a UUID'],
};

// A pattern of a stranger could keep the page busy for ever. Those in which a
// repetition is repeated are left to the server.
const risky = /[*+}]\??\)+[*+{]|\|[^)]*\)[*+{]|\\[1-9]|(\.[*+].*){4}/;

function matcher(pattern) {
  if (typeof pattern !== 'string' || pattern.length > 300 || risky.test(pattern)) return null;
  try { return new RegExp(pattern, 'u'); } catch { return null; }
}

// check lists what is wrong with a value: [{at: path, text}].
export function check(value, schema, root = schema, at = [], out = [], depth = 0) {
  if (out.length > 50 || depth > 40) return out;
  const s = resolve(schema, root);
  const wrong = (text, where = at) => { out.push({ at: where, text }); };
  const want = types({ type: s.type });
  if (want.length && !want.some((t) => fits(value, t))) {
    wrong(`must be ${want.map(article).join(' or ')}`);
    return out;
  }
  if (own(s, 'const') && !same(value, s.const)) wrong(`must be ${stringify(s.const)}`);
  if (Array.isArray(s.enum) && !s.enum.some((e) => same(e, value))) wrong('must be one of the choices');
  if (typeof value === 'string') text(value, s, wrong);
  if (isNumber(value)) number(value, s, wrong);
  if (Array.isArray(value)) list(value, s, root, at, out, wrong, depth);
  if (isObject(value)) members(value, s, root, at, out, wrong, depth);
  choices(value, s, root, at, out, wrong, depth);
  return out;
}

const article = (t) => ({ string: 'text', integer: 'a whole number', number: 'a number', boolean: 'true or false', array: 'a list', object: 'an object', null: 'null' })[t] ?? t;

function text(v, s, wrong) {
  const n = [...v].length;
  if (n < s.minLength) wrong(s.minLength === 1 ? 'must not be empty' : `needs at least ${s.minLength} characters`);
  if (n > s.maxLength) wrong(`may have at most ${s.maxLength} characters, and has ${n}`);
  if (s.pattern !== undefined && v.length < 5000) {
    const m = matcher(s.pattern);
    if (m && !m.test(v)) wrong(`must match ${s.pattern}`);
  }
  const f = formats[s.format];
  if (f && !f[0].test(v)) wrong(`must be ${f[1]}`);
}

function number(v, s, wrong) {
  if (v < s.minimum) wrong(`must be ${s.minimum} or more`);
  if (v > s.maximum) wrong(`must be ${s.maximum} or less`);
  if (v <= s.exclusiveMinimum) wrong(`must be more than ${s.exclusiveMinimum}`);
  if (v >= s.exclusiveMaximum) wrong(`must be less than ${s.exclusiveMaximum}`);
  if (s.multipleOf > 0 && Math.abs(v / s.multipleOf - Math.round(v / s.multipleOf)) > 1e-9) wrong(`must be a multiple of ${s.multipleOf}`);
}

function list(v, s, root, at, out, wrong, depth) {
  if (v.length < s.minItems) wrong(`needs at least ${s.minItems}`);
  if (v.length > s.maxItems) wrong(`may have at most ${s.maxItems}`);
  if (s.uniqueItems && v.some((x, i) => v.slice(0, i).some((y) => same(x, y)))) wrong('has the same item twice');
  v.slice(0, 500).forEach((x, i) => {
    const one = s.prefixItems?.[i] ?? s.items;
    if (one !== undefined) check(x, one, root, [...at, i], out, depth + 1);
  });
}

function members(v, s, root, at, out, wrong, depth) {
  for (const k of s.required ?? []) if (!own(v, k)) wrong('is required', [...at, k]);
  for (const [k, needs] of Object.entries(s.dependentRequired ?? {})) {
    if (own(v, k)) for (const n of needs) if (!own(v, n)) wrong(`is required with ${k}`, [...at, n]);
  }
  const n = Object.keys(v).length;
  if (n < s.minProperties) wrong(`needs at least ${s.minProperties} members`);
  if (n > s.maxProperties) wrong(`may have at most ${s.maxProperties} members`);
  for (const [k, x] of Object.entries(v)) {
    if (own(s.properties ?? {}, k)) { check(x, s.properties[k], root, [...at, k], out, depth + 1); continue; }
    const pattern = Object.keys(s.patternProperties ?? {}).find((p) => matcher(p)?.test(k));
    if (pattern !== undefined) check(x, s.patternProperties[pattern], root, [...at, k], out, depth + 1);
    else if (s.additionalProperties === false) wrong('is not in the schema', [...at, k]);
    else if (isObject(s.additionalProperties)) check(x, s.additionalProperties, root, [...at, k], out, depth + 1);
  }
}

function choices(v, s, root, at, out, wrong, depth) {
  const good = (x) => check(v, x, root, [], [], depth + 1).length === 0;
  if (Array.isArray(s.oneOf) || Array.isArray(s.anyOf)) {
    const all = s.oneOf ?? s.anyOf;
    const n = all.filter(good).length;
    if (n === 0) {
      const near = all.map((x) => check(v, x, root, at, [], depth + 1)).sort((a, b) => a.length - b.length)[0] ?? [];
      out.push(...near.slice(0, 3));
      if (!near.length) wrong('matches none of the choices');
    } else if (s.oneOf && n > 1) wrong('matches more than one of the choices');
  }
  if (s.not !== undefined && good(s.not)) wrong('is not allowed');
  if (s.if !== undefined) {
    const then = good(s.if) ? s.then : s.else;
    if (then !== undefined) check(v, then, root, at, out, depth + 1);
  }
}

// start is the value that a form begins with: defaults and constants, and
// objects that must be there.
export function start(schema, root, needed = true, depth = 0) {
  const s = resolve(schema, root);
  if (own(s, 'default')) return copied(s.default);
  if (own(s, 'const')) return needed ? s.const : undefined;
  const t = types(s);
  if (t[0] === 'object' && t.length === 1 && depth < 6) {
    const out = {};
    for (const [k, p] of Object.entries(s.properties ?? {})) {
      const v = start(p, root, (s.required ?? []).includes(k), depth + 1);
      if (v !== undefined) out[k] = v;
    }
    return needed || Object.keys(out).length ? out : undefined;
  }
  if (t[0] === 'array' && t.length === 1 && needed) return [];
  return undefined;
}

// Warnings about a JSON Schema: what makes a form wrong, or makes clients and
// models refuse the tool.

import { step } from './json.js';
import { isObject, pointed } from './schema.js';

const known = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
const inside = ['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'];
const one = ['items', 'additionalProperties', 'contains', 'not', 'if', 'then', 'else', 'propertyNames', 'unevaluatedProperties', 'unevaluatedItems'];
const several = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];

// lint returns the warnings of a schema: [{at, text}].
export function lint(schema) {
  const out = [];
  if (isObject(schema)) walk(schema, schema, '', out, 0);
  return out;
}

function walk(s, root, at, out, depth) {
  if (!isObject(s) || depth > 30 || out.length >= 50) return;
  const warn = (text, where = at) => out.push({ at: where || '/', text });
  for (const t of Array.isArray(s.type) ? s.type : s.type === undefined ? [] : [s.type]) {
    if (!known.has(t)) warn(`unknown type ${JSON.stringify(t)}${nearest(t)}`, at + '/type');
  }
  if (s.$ref !== undefined) reference(s.$ref, root, (text) => warn(text, at + '/$ref'));
  for (const p of [s.pattern, ...Object.keys(isObject(s.patternProperties) ? s.patternProperties : {})]) {
    if (p === undefined) continue;
    try { new RegExp(p, 'u'); } catch (e) { warn(`the pattern ${JSON.stringify(p)} is not a regular expression: ${e.message.replace(/^Invalid regular expression: \/.*\/u?: /, '')}`, at + '/pattern'); }
  }
  if (s.enum !== undefined && (!Array.isArray(s.enum) || !s.enum.length)) warn('enum must be a list with at least one value', at + '/enum');
  if (s.required !== undefined && !Array.isArray(s.required)) warn('required must be a list of names', at + '/required');
  else if (isObject(s.properties)) for (const k of s.required ?? []) if (!Object.hasOwn(s.properties, k)) warn(`${JSON.stringify(k)} is required, but not among the properties`, at + '/required');
  if (s.minimum > s.maximum) warn('minimum is larger than maximum');
  if (s.minLength > s.maxLength) warn('minLength is larger than maxLength');
  for (const name of inside) if (isObject(s[name])) for (const [k, v] of Object.entries(s[name])) walk(v, root, `${at}/${name}/${step(k)}`, out, depth + 1);
  for (const name of one) walk(s[name], root, `${at}/${name}`, out, depth + 1);
  for (const name of several) if (Array.isArray(s[name])) s[name].forEach((v, i) => walk(v, root, `${at}/${name}/${i}`, out, depth + 1));
}

function reference(ref, root, warn) {
  if (typeof ref !== 'string') { warn('$ref must be a string'); return; }
  if (!ref.startsWith('#')) { warn(`${JSON.stringify(ref)} leads outside of the schema and is not followed`); return; }
  if (pointed(root, ref) === undefined) warn(`${JSON.stringify(ref)} leads to nothing`);
}

// nearest suggests the type that was meant.
function nearest(t) {
  if (typeof t !== 'string') return '';
  const letters = (w) => [...w.toLowerCase()].sort().join('');
  const hit = [...known].find((k) => letters(k) === letters(t) || k.startsWith(t.toLowerCase()) && t.length > 2) ?? { int: 'integer', float: 'number', bool: 'boolean', str: 'string', list: 'array', dict: 'object', any: '' }[t.toLowerCase()];
  return hit ? `; did you mean "${hit}"?` : '';
}

// lintTool returns the warnings of both schemas of a tool.
export const lintTool = (t) => ['inputSchema', 'outputSchema'].flatMap((name) => lint(t[name]).map((w) => ({ at: name + (w.at === '/' ? '' : w.at), text: w.text })));

// Forms made from a JSON Schema. A form holds one value; every field writes
// its part of it and is told when the value was changed elsewhere (the raw
// JSON beside the form).
//
//   const f = form(schema, {value, oninput});  f.el, f.value(), f.problems(), f.set(v)

import { h, button, fill, visible, alertLine } from './dom.js';
import { number, parse, stringify } from './numbers.js';
import { remember } from './store.js';
import { check, isObject, resolve, same, start, types } from './schema.js';

let ids = 0;

export function form(schema, { value, oninput, raw = true, label = 'Arguments', secret = [] } = {}) {
  const root = schema ?? {};
  const f = new Form(root, value === undefined ? start(root, root) ?? {} : value, oninput);
  f.secret = new Set(secret); // top-level fields whose text is not shown
  f.build(raw, label);
  return f;
}

class Form {
  constructor(root, value, oninput) {
    this.root = root;
    this.now = value;
    this.oninput = oninput;
    this.marks = new Map(); // of places: where to write what is wrong
    this.touched = new Set();
    this.all = false;       // everything is judged, also what was not touched
  }

  build(raw, label) {
    this.place = h('div', { class: 'fields' });
    this.other = alertLine();
    this.el = h('div', { class: 'form' + (raw ? ' with-raw' : '') }, h('div', null, this.place, this.other));
    if (raw) {
      this.text = h('textarea', { class: 'raw mono', spellcheck: 'false', 'aria-label': label + ' as JSON', rows: 6, oninput: () => this.#typed() });
      this.textWrong = alertLine();
      this.el.append(h('details', { class: 'raw-side', open: remember('json') === 'open', ontoggle: (e) => remember('json', e.target.open ? 'open' : 'shut') }, h('summary', null, 'Edit as JSON'), this.text, this.textWrong));
    }
    this.#draw();
    this.#wrote();
  }

  value() { return this.now; }

  set(v) {
    this.now = v;
    this.#draw();
    this.#wrote();
    this.#judge();
  }

  // problems judges everything, shows it, and returns what is wrong.
  problems() {
    this.all = true;
    const found = this.#judge();
    if (this.broken) found.unshift({ at: [], text: this.broken });
    if (found.length) this.el.querySelector('[aria-invalid=true]')?.focus();
    return found;
  }

  #draw() {
    this.marks.clear();
    fill(this.place, this.field(this.root, [], { needed: true, top: true }));
  }

  // at reads the part of the value at a place.
  at(path) {
    let v = this.now;
    for (const p of path) v = v === null || v === undefined ? undefined : v[p];
    return v;
  }

  // write changes the part of the value at a place; undefined takes it away.
  write(path, v, redraw) {
    this.touched.add(path.join('/'));
    if (!path.length) this.now = v;
    else {
      if (this.now === null || typeof this.now !== 'object') this.now = {};
      let at = this.now;
      path.slice(0, -1).forEach((p, i) => {
        if (at[p] === null || typeof at[p] !== 'object') at[p] = typeof path[i + 1] === 'number' ? [] : {};
        at = at[p];
      });
      const last = path.at(-1);
      if (v !== undefined) at[last] = v;
      else if (Array.isArray(at)) at.splice(last, 1);
      else delete at[last];
    }
    if (redraw) this.#draw();
    this.#wrote();
    this.#judge();
    this.oninput?.(this.now);
  }

  #wrote() {
    this.broken = '';
    if (!this.text) return;
    this.text.value = this.now === undefined ? '' : stringify(this.now, 2);
    this.textWrong.textContent = '';
    this.text.removeAttribute('aria-invalid');
  }

  #typed() {
    try {
      this.now = this.text.value.trim() === '' ? {} : parse(this.text.value);
      this.broken = '';
    } catch (e) {
      this.broken = 'This is not JSON yet: ' + e.message;
    }
    this.textWrong.textContent = visible(this.broken);
    this.text.toggleAttribute('aria-invalid', false);
    if (this.broken) { this.text.setAttribute('aria-invalid', 'true'); this.text.closest('details').open = true; }
    else {
      this.#draw();
      this.all = true;
      this.#judge();
      this.oninput?.(this.now);
    }
  }

  #judge() {
    const found = check(this.now, this.root);
    const seen = new Map();
    const loose = [];
    for (const p of found) {
      const key = p.at.join('/');
      if (this.marks.has(key)) { if (!seen.has(key)) seen.set(key, p.text); }
      else loose.push(p);
    }
    for (const [key, mark] of this.marks) {
      const text = (this.all || this.touched.has(key)) ? seen.get(key) ?? '' : '';
      mark.out.textContent = visible(text ? 'This ' + text + '.' : '');
      if (text) mark.input.setAttribute('aria-invalid', 'true'); else mark.input.removeAttribute('aria-invalid');
    }
    this.other.textContent = this.all ? visible(loose.slice(0, 3).map((p) => `${p.at.join(' › ') || 'The whole'} ${p.text}.`).join(' ')) : '';
    return found;
  }

  // field makes the field of a part of the schema.
  field(schema, path, o) {
    const s = resolve(schema, this.root);
    const depth = path.length;
    if (depth > 14) return this.json(s, path, o);
    if (Object.hasOwn(s, 'const')) return this.fixed(s, path, o);
    if (Array.isArray(s.enum)) return this.choice(s, path, o, s.enum.map((v, i) => [v, s.enumNames?.[i] ?? plain(v)]));
    const one = s.oneOf ?? s.anyOf;
    if (Array.isArray(one)) {
      const parts = one.map((x) => resolve(x, this.root));
      if (parts.length && parts.every((x) => Object.hasOwn(x, 'const'))) return this.choice(s, path, o, parts.map((x) => [x.const, x.title ?? plain(x.const)]));
      const { oneOf, anyOf, ...rest } = s;
      return this.alternatives(s, path, o, one.map((x) => { const p = resolve(x, this.root); return { ...rest, ...p, properties: rest.properties || p.properties ? { ...rest.properties, ...p.properties } : undefined, required: [...(rest.required ?? []), ...(p.required ?? [])], title: p.title }; }));
    }
    const t = types(s);
    if (t.length > 1) return this.alternatives(s, path, o, t.map((type) => ({ ...s, type, title: undefined, description: undefined })));
    switch (t[0]) {
      case 'object': return this.object(s, path, o);
      case 'array': return this.array(s, path, o);
      case 'boolean': return this.boolean(s, path, o);
      case 'integer': case 'number': return this.number(s, path, o, t[0]);
      case 'string': return this.string(s, path, o);
      case 'null': return this.fixed({ ...s, const: null }, path, o);
    }
    return this.json(s, path, o);
  }

  // row is a label, a field, what it means, and what is wrong with it.
  row(s, path, o, input, extra) {
    const id = 'f' + ++ids;
    const target = input.matches('input,select,textarea') ? input : input.querySelector('input,select,textarea') ?? input;
    target.id = id;
    const out = h('span', { class: 'wrong', id: id + 'e' });
    const about = s.description ? h('span', { class: 'about', id: id + 'd' }, s.description) : null;
    target.setAttribute('aria-describedby', (about ? id + 'd ' : '') + id + 'e');
    if (o.needed) target.setAttribute('aria-required', 'true');
    this.marks.set(path.join('/'), { out, input: target });
    return h('div', { class: 'row' },
      h('div', { class: 'name' }, h('label', { for: id }, title(s, path)), hint(s, o), extra),
      input, about, out);
  }

  fixed(s, path, o) {
    if (this.at(path) === undefined && o.needed && path.length) this.write(path, s.const);
    return this.row(s, path, o, h('input', { readonly: true, value: plain(s.const) }));
  }

  choice(s, path, o, all) {
    const now = this.at(path);
    const sel = h('select', { onchange: () => this.write(path, sel.value === '' ? undefined : all[+sel.value][0]) },
      (!o.needed || now === undefined) && h('option', { value: '' }, o.needed ? 'Choose …' : '—'),
      all.map(([v, name], i) => h('option', { value: i, selected: same(v, now) }, name)));
    return this.row(s, path, o, sel);
  }

  boolean(s, path, o) {
    return this.choice(s, path, o, [[true, 'true'], [false, 'false']]);
  }

  number(s, path, o, type) {
    const now = this.at(path);
    const input = h('input', {
      type: path.length === 1 && this.secret.has(path[0]) ? 'password' : 'text', inputmode: type === 'integer' && !(s.minimum < 0) ? 'numeric' : 'decimal', autocomplete: 'off', placeholder: example(s),
      value: now === undefined ? '' : String(now),
      oninput: () => {
        const text = input.value.trim();
        this.write(path, text === '' ? undefined : number(text) ?? text);
      },
    });
    return this.row(s, path, o, input);
  }

  string(s, path, o) {
    const now = this.at(path);
    const kind = path.length === 1 && this.secret.has(path[0]) ? 'password' : { email: 'email', uri: 'url', date: 'date', password: 'password' }[s.format];
    const long = !kind && !s.format && !(s.maxLength <= 80) && !s.pattern;
    const props = {
      value: now === undefined ? '' : plain(now), autocomplete: kind === 'password' ? 'new-password' : 'off', spellcheck: 'false', placeholder: example(s),
      oninput: () => this.write(path, input.value === '' && !o.needed ? undefined : input.value),
    };
    const input = long ? h('textarea', { ...props, rows: 1, class: 'grow' }) : h('input', { ...props, type: kind ?? 'text' });
    return this.row(s, path, o, input);
  }

  // json is for what has no form of its own.
  json(s, path, o) {
    const now = this.at(path);
    const text = h('textarea', {
      class: 'mono grow', rows: 2, spellcheck: 'false', placeholder: 'any JSON', value: now === undefined ? '' : stringify(now, 2),
      oninput: () => {
        try { this.write(path, text.value.trim() === '' ? undefined : parse(text.value)); text.removeAttribute('aria-invalid'); } catch { text.setAttribute('aria-invalid', 'true'); }
      },
    });
    return this.row(s, path, o, text);
  }

  object(s, path, o) {
    const now = this.at(path);
    if (!o.top && !o.open && now === undefined) return this.absent(s, path, o, () => start(s, this.root, true) ?? {});
    const known = Object.entries(s.properties ?? {});
    const needed = new Set(s.required ?? []);
    const body = [
      known.map(([k, p]) => this.field(p, [...path, k], { needed: needed.has(k) })),
      this.more(s, path, isObject(now) ? Object.keys(now).filter((k) => !Object.hasOwn(s.properties ?? {}, k)) : []),
    ];
    if (o.top) {
      if (!known.length && s.additionalProperties !== undefined && s.additionalProperties === false || !known.length && !s.additionalProperties && !s.patternProperties && !Object.keys(now ?? {}).length) return h('p', { class: 'soft' }, 'It takes no arguments.');
      return h('div', { class: 'object' }, body);
    }
    return this.group(s, path, o, body);
  }

  // more are members that the schema does not name.
  more(s, path, keys) {
    const open = s.additionalProperties !== false && (s.additionalProperties !== undefined || s.patternProperties);
    if (!open && !keys.length) return null;
    const part = isObject(s.additionalProperties) ? s.additionalProperties : {};
    const name = h('input', { placeholder: 'name', 'aria-label': 'Name of another member', autocomplete: 'off', onkeydown: (e) => { if (e.key === 'Enter') { e.preventDefault(); add(); } } });
    const add = () => {
      const k = name.value.trim();
      if (!k || k === '__proto__' || this.at([...path, k]) !== undefined) { name.focus(); return; }
      this.write([...path, k], start(part, this.root, true) ?? (types(resolve(part, this.root))[0] === 'string' ? '' : null), true);
    };
    return h('div', { class: 'more' },
      keys.map((k) => h('div', { class: 'item' }, this.field({ title: k, ...resolve(part, this.root) }, [...path, k], { needed: true, open: true }), this.remove(path, k))),
      open && h('div', { class: 'add' }, name, button('Add a member', { class: 'small', onclick: add }, 'plus')));
  }

  absent(s, path, o, make) {
    const id = 'f' + ++ids;
    const add = button('Add', { class: 'small', id, 'aria-label': 'Add ' + title(s, path), onclick: () => this.write(path, make(), true) }, 'plus');
    const out = h('span', { class: 'wrong' });
    this.marks.set(path.join('/'), { out, input: add });
    return h('div', { class: 'row' }, h('div', { class: 'name' }, h('span', null, title(s, path)), hint(s, o)), s.description && h('span', { class: 'about' }, s.description), add, out);
  }

  group(s, path, o, ...body) {
    const out = h('span', { class: 'wrong' });
    const set = h('fieldset', null,
      h('legend', null, title(s, path), ' ', hint(s, o), !o.needed && path.length ? this.remove(path.slice(0, -1), path.at(-1)) : null),
      s.description && h('span', { class: 'about' }, s.description), body, out);
    this.marks.set(path.join('/'), { out, input: set });
    return set;
  }

  remove(path, key) {
    return button('Remove ' + key, { bare: true, class: 'small', onclick: () => this.write([...path, key], undefined, true) }, 'bin');
  }

  array(s, path, o) {
    const now = this.at(path);
    const part = resolve(s.items ?? {}, this.root);
    const picks = part.enum ?? (part.anyOf ?? part.oneOf)?.map((x) => x?.const);
    if (Array.isArray(picks) && picks.length <= 40 && picks.every((v) => v !== undefined)) return this.several(s, path, o, part, picks);
    if (now === undefined && !o.top) return this.absent(s, path, o, () => []);
    const items = Array.isArray(now) ? now : [];
    const full = s.maxItems !== undefined && items.length >= s.maxItems;
    return this.group(s, path, o,
      items.slice(0, 200).map((_, i) => h('div', { class: 'item' },
        this.field({ ...resolve(s.prefixItems?.[i] ?? part, this.root), title: `${i + 1}.` }, [...path, i], { needed: true, open: true }), this.remove(path, i))),
      button('Add an item', { class: 'small', disabled: full, onclick: () => this.write([...path, items.length], blank(s.prefixItems?.[items.length] ?? part, this.root), true) }, 'plus'));
  }

  // several is a list of choices: boxes to tick.
  several(s, path, o, part, picks) {
    const names = part.enum ? picks.map(plain) : (part.anyOf ?? part.oneOf).map((x) => x.title ?? plain(x.const));
    const boxes = picks.map((v, i) => h('label', { class: 'tick' }, h('input', {
      type: 'checkbox', checked: (this.at(path) ?? []).some((x) => same(x, v)),
      onchange: (e) => {
        const rest = (this.at(path) ?? []).filter((x) => !same(x, v));
        const next = e.target.checked ? [...rest, v] : rest;
        this.write(path, next.length || o.needed ? next : undefined);
      },
    }), names[i]));
    return this.group({ ...s }, path, { ...o, needed: true, optional: !o.needed }, h('div', { class: 'ticks' }, boxes));
  }

  // alternatives lets the person choose which of several schemas to fill in.
  alternatives(s, path, o, all) {
    const now = this.at(path);
    const key = path.join('/');
    this.chosen ??= new Map();
    let i = this.chosen.get(key);
    if (i === undefined || now !== undefined && check(now, all[i], this.root).length && all.some((x) => !check(now, x, this.root).length)) {
      i = now === undefined ? (o.needed || o.top ? 0 : -1) : Math.max(0, all.findIndex((x) => !check(now, x, this.root).length));
    }
    const name = (x, n) => x.title ?? ({ null: 'null', string: 'text', object: 'object', array: 'list' }[x.type] ?? x.type) ?? `choice ${n + 1}`;
    const sel = h('select', {
      onchange: () => {
        const n = +sel.value;
        this.chosen.set(key, n);
        this.write(path, n < 0 ? undefined : blank(all[n], this.root), true);
        this.el.querySelector(`#${id}`)?.focus();
      },
    }, !o.needed && !o.top && h('option', { value: -1, selected: i < 0 }, '—'), all.map((x, n) => h('option', { value: n, selected: n === i }, name(x, n))));
    const id = `alt-${ids}-${key.replace(/\W/g, '_')}`;
    const head = this.row(s, path, o, sel);
    sel.id = id;
    head.querySelector('label')?.setAttribute('for', id);
    if (i < 0 || all[i].type === 'null') return head;
    return h('div', { class: 'alternatives' }, head, h('div', { class: 'inside' }, this.field({ ...all[i], title: all[i].title ?? title(s, path) }, path, { needed: true, open: true, top: o.top })));
  }
}

// blank is the first value of something that was added.
function blank(schema, root) {
  const s = resolve(schema, root);
  const v = start(s, root, true);
  if (v !== undefined) return v;
  if (Array.isArray(s.enum)) return s.enum[0];
  return { string: '', boolean: false, null: null, array: [], object: {} }[types(s)[0]] ?? (types(s).length ? undefined : null) ?? null;
}

const plain = (v) => typeof v === 'string' ? v : stringify(v) ?? '';
const title = (s, path) => s.title || (path.length ? String(path.at(-1)) : 'value');

function example(s) {
  if (s.format === 'date-time') return '2026-11-15T09:30:00Z';
  const e = s.examples?.[0];
  return e === undefined ? null : plain(e);
}

// hint says in a word what is expected.
function hint(s, o) {
  const parts = [];
  const t = types(s);
  if (t.length === 1 && !s.enum) parts.push({ string: s.format ?? '', integer: 'whole number', boolean: '', object: '', array: 'list' }[t[0]] ?? t[0]);
  if (s.minimum !== undefined && s.maximum !== undefined) parts.push(`${s.minimum} to ${s.maximum}`);
  else if (s.minimum !== undefined) parts.push(`${s.minimum} or more`);
  else if (s.maximum !== undefined) parts.push(`up to ${s.maximum}`);
  if (!o.needed || o.optional) parts.push('optional');
  const text = parts.filter(Boolean).join(', ');
  return text ? h('span', { class: 'hint' }, text) : null;
}

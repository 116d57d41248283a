// SPDX-License-Identifier: Apache-2.0
// Values made from a JSON Schema, and what makes them wrong. Ajv, which is by other hands (and comes with the official
// SDK), judges all of them: what is made here need not be right every time, only often enough.
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';

const OPTIONS = { strict: false, allErrors: true, validateFormats: false, logger: false };
const judges = { 7: new Ajv(OPTIONS), 2020: new Ajv2020(OPTIONS) };

/** Ajv's validator for a schema, in the draft that it names; undefined when Ajv cannot read it. */
export function judge(schema) {
  try {
    return judges[/draft-0[67]/.test(schema.$schema ?? '') ? 7 : 2020].compile({ ...schema, $id: undefined });
  } catch {
    return undefined;
  }
}

const TEXTS = ['a', 'https://example.com/a', '2024-05-06', '2024-05-06T07:08:09Z', 'a@example.com', '10', 'abc-1',
  '/a/b', 'A1', 'AAAA', '00000000-0000-4000-8000-000000000000', 'main', 'v1.2.3', '#aabbcc', 'a/b', '12:30', 'EUR',
  'a,b', '2024-05', '123456789012', '0123456789abcdef01234567', 'G-1', 'file.png', '{"a":1}', '0123456789abcdef'];

function makeText({ pattern, minLength = 0, maxLength = Infinity }) {
  const fits = (text) => text.length >= minLength && text.length <= maxLength;
  const padded = TEXTS.concat(TEXTS.map((text) => text.padEnd(minLength, 'a')), 'x'.repeat(minLength));
  let re;
  try {
    re = pattern === undefined ? /^/ : new RegExp(pattern, 'u');
  } catch {
    re = /^/;
  }
  return padded.find((text) => fits(text) && re.test(text)) ?? 'a';
}

function makeNumber({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, type, multipleOf }) {
  let low = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + (type === 'integer' ? 1 : 0.5));
  low ??= Math.min(1, maximum ?? 1, (exclusiveMaximum ?? 2) - 1);
  if (type === 'integer') low = Math.ceil(low);
  return multipleOf ? Math.ceil(low / multipleOf) * multipleOf : low;
}

const find = (root, ref) => ref.replace(/^#\/?/, '').split('/').filter(Boolean)
  .reduce((at, key) => at?.[decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')], root);

/** A value for a schema; `full` has every property, else only those that must be there. */
export function make(schema, { full = false, root = schema, depth = 0 } = {}) {
  const below = (next) => make(next, { full: full && depth < 4, root, depth: depth + 1 });
  if (schema === true || schema === undefined || depth > 12) return 'a';
  if (schema.$ref) return below({ ...find(root, schema.$ref), ...{ ...schema, $ref: undefined } });
  if ('const' in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choice = (schema.anyOf ?? schema.oneOf)?.find((one) => one.type !== 'null');
  if (choice) return below({ ...schema, anyOf: undefined, oneOf: undefined, ...choice });
  if (schema.allOf) return below(Object.assign({}, { ...schema, allOf: undefined }, ...schema.allOf));
  const type = [schema.type].flat().find((one) => one !== 'null');
  if (type === 'string') return makeText(schema);
  if (type === 'integer' || type === 'number') return makeNumber({ ...schema, type });
  if (type === 'boolean') return true;
  if (type === 'array') {
    const items = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : undefined);
    if (items) return items.map(below);
    const length = Math.max(schema.minItems ?? 0, full && schema.maxItems !== 0 ? 1 : 0);
    return Array.from({ length }, () => below(schema.items));
  }
  if (type === 'object' || schema.properties || depth === 0) {
    const keys = Object.keys(schema.properties ?? {}).filter((key) => full || schema.required?.includes(key));
    for (const key of schema.required ?? []) if (!keys.includes(key)) keys.push(key);
    return Object.fromEntries(keys.map((key) => [key, below(schema.properties?.[key])]));
  }
  return schema.type === 'null' ? null : 'a';
}

const WRONG = { string: 5, integer: 'x', number: 'x', boolean: 'x', array: 5, object: 5 };

/** Ways to spoil `value`: [{ what, value, pointer, keyword }], with what is to be told of each. */
export function spoil(schema, value) {
  const ways = [];
  const [gone] = schema.required ?? [];
  if (gone !== undefined && gone in value) {
    const { [gone]: _, ...rest } = value;
    ways.push({ what: `without ${gone}`, value: rest, pointer: '', keyword: 'required' });
  }
  const simple = ([key, { type, $ref, anyOf, oneOf, allOf, enum: choice } = {}]) =>
    WRONG[type] !== undefined && !$ref && !anyOf && !oneOf && !allOf && !choice && key;
  const [broken] = Object.entries(schema.properties ?? {}).find(simple) ?? [];
  if (broken !== undefined) {
    const pointer = `/${broken.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const wrong = WRONG[schema.properties[broken].type];
    ways.push({ what: `${broken} of another type`, value: { ...value, [broken]: wrong }, pointer, keyword: 'type' });
  }
  if (schema.additionalProperties === false) {
    const value2 = { ...value, 'no such argument': 1 };
    ways.push({ what: 'with one more', value: value2, pointer: '', keyword: 'additionalProperties' });
  }
  return ways;
}

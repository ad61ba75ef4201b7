// As much of JSON Schema (draft 7) as the job's schema uses: to know which fields there are,
// which of them apply to what has been chosen, and what they hold.
import {isObject, type JsonObject} from '../../format/json';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  description?: string;
  default?: unknown;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
  not?: Schema;
  if?: Schema;
  then?: Schema;
  else?: Schema;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  definitions?: Record<string, Schema>;
}

// A schema with its references followed and put together; what stands outermost wins.
export function resolve(schema: Schema, root: Schema): Schema {
  let made: Schema = {...schema};
  if (schema.$ref) {
    const name = schema.$ref.replace('#/definitions/', '');
    const {$ref: _, ...own} = schema;
    made = {...resolve(root.definitions?.[name] ?? {}, root), ...own};
  }
  const references = made.allOf?.filter((one) => one.$ref) ?? [];
  for (const reference of references) {
    const {allOf, ...found} = resolve(reference, root);
    const conditions = [...(made.allOf ?? []), ...(allOf ?? [])].filter((one) => !one.$ref);
    made = {...found, ...made, allOf: conditions};
  }
  return made;
}

// Does the value fit the schema?
export function fits(schema: Schema, value: unknown, root: Schema): boolean {
  if (schema.$ref && !fits(resolve({$ref: schema.$ref}, root), value, root)) return false;
  if ('const' in schema && !isSame(schema.const, value)) return false;
  if (schema.enum && !schema.enum.some((one) => isSame(one, value))) return false;
  if (schema.type && ![schema.type].flat().some((type) => isOfType(value, type))) return false;
  if (schema.allOf && !schema.allOf.every((one) => fits(one, value, root))) return false;
  if (schema.anyOf && !schema.anyOf.some((one) => fits(one, value, root))) return false;
  if (schema.not && fits(schema.not, value, root)) return false;
  if (schema.if) {
    const branch = fits(schema.if, value, root) ? schema.then : schema.else;
    if (branch && !fits(branch, value, root)) return false;
  }
  if (typeof value === 'number' && !fitsNumber(schema, value)) return false;
  if (typeof value === 'string' && schema.pattern && !new RegExp(schema.pattern).test(value)) {
    return false;
  }
  return !isObject(value) || fitsObject(schema, value, root);
}

// The names that a condition on the value leaves, such as those of the chosen optimizer's
// options; null = all.
export function namesAllowed(schema: Schema, value: unknown, root: Schema): Set<unknown> | null {
  const lists = (schema.allOf ?? [])
    .filter((one) => one.if && one.then?.propertyNames?.enum && fits(one.if, value, root))
    .map((one) => one.then?.propertyNames?.enum ?? []);
  const [first, ...others] = lists;
  if (!first) return null;
  return new Set(first.filter((name) => others.every((names) => names.includes(name))));
}

function fitsNumber({minimum, maximum}: Schema, value: number): boolean {
  return (
    (minimum === undefined || value >= minimum) && (maximum === undefined || value <= maximum)
  );
}

function fitsObject(schema: Schema, value: JsonObject, root: Schema): boolean {
  if (schema.required?.some((name) => !(name in value))) return false;
  const names = schema.propertyNames;
  if (names && !Object.keys(value).every((name) => fits(names, name, root))) return false;
  return Object.entries(schema.properties ?? {}).every(
    ([name, one]) => !(name in value) || fits(one, value[name], root),
  );
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    default:
      return typeof value === type;
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

// What a schema's value looks like in a form.
import {isObject, type Json, type JsonObject} from '../../format/json';
import {fits, namesAllowed, resolve, type Schema} from './json_schema';

export type FieldKind =
  | {kind: 'group'; schema: Schema; short: ShortForm | null} // an object
  | {kind: 'map'} // names that the user gives
  | {kind: 'choice'; values: string[]; empty?: string} // what is said where none is chosen
  | {kind: 'word or parts'; words: string[]; parts: Schema} // a word for all of them, or each
  | {kind: 'number'; schema: Schema; isWhole: boolean}
  | {kind: 'flag'}
  | {kind: 'numbers'; isOneAlone: boolean} // a list of them; one may stand without a list
  | {kind: 'json'} // what no other kind can hold
  | {kind: 'text'; offers: string[]};

// "mlp" for {"name": "mlp"}, 2 for {"replicas": 2}: the property that stands for the whole.
export interface ShortForm {
  property: string;
  offers: string[];
}

export function kindOf(given: Schema, root: Schema): FieldKind {
  const schema = resolve(given, root);
  if (schema.anyOf) return kindOfAlternatives(schema.anyOf.map((one) => resolve(one, root)));
  if (schema.enum) return {kind: 'choice', values: schema.enum.map(String)};
  const types = [schema.type ?? []].flat().filter((type) => type !== 'null');
  if (schema.properties) return {kind: 'group', schema, short: null};
  if (types.includes('object')) return {kind: isOfTexts(schema) ? 'map' : 'json'};
  if (types.includes('integer')) return {kind: 'number', schema, isWhole: true};
  if (types.includes('number')) return {kind: 'number', schema, isWhole: false};
  if (types.includes('boolean')) return {kind: 'flag'};
  if (types.includes('array')) {
    return isOfNumbers(schema) ? {kind: 'numbers', isOneAlone: false} : {kind: 'json'};
  }
  return {kind: 'text', offers: []};
}

function kindOfAlternatives(alternatives: Schema[]): FieldKind {
  const whole = alternatives.find((one) => one.properties);
  if (!whole) {
    const isList = alternatives.some((one) => one.type === 'array' && isOfNumbers(one));
    const isMixed = alternatives.some(
      (one) => one.type === 'object' || (one.type === 'array' && !isOfNumbers(one)),
    );
    if (isMixed) return {kind: 'json'};
    return isList ? {kind: 'numbers', isOneAlone: true} : {kind: 'text', offers: []};
  }
  const offers = alternatives
    .flatMap((one) => (one.properties ? [] : (one.enum ?? [])))
    .map(String);
  const property = ['replicas', 'name'].find((name) => whole.properties?.[name]);
  if (!property) return {kind: 'word or parts', words: offers, parts: whole};
  return {kind: 'group', schema: whole, short: {property, offers}};
}

function isOfNumbers({items}: Schema): boolean {
  return items?.type === 'integer' || items?.type === 'number';
}

// Has the object members of any name, which are texts?
function isOfTexts({patternProperties, additionalProperties}: Schema): boolean {
  const kinds = [...Object.values(patternProperties ?? {}), additionalProperties];
  return kinds.some((one) => isObject(one) && (one as Schema).type === 'string');
}

// A short form written out, so that more can be added to it.
export function longForm(value: Json | undefined, short: ShortForm | null): JsonObject {
  if (isObject(value)) return value;
  return value === undefined || value === null || !short ? {} : {[short.property]: value};
}

// The parts for which the word stands: all that may be it.
export function partsOf(word: Json | undefined, parts: Schema, root: Schema): JsonObject {
  if (word === undefined) return {};
  const those = Object.entries(parts.properties ?? {}).filter(([, one]) => fits(one, word, root));
  return Object.fromEntries(those.map(([name]) => [name, word]));
}

// The properties that apply to what the object holds now, in the schema's order. What is there
// without being allowed stays in view, so that it can be taken out.
export function fieldsOf(
  schema: Schema,
  value: JsonObject,
  root: Schema,
): Array<[string, Schema]> {
  const allowed = namesAllowed(schema, value, root);
  return Object.entries(schema.properties ?? {}).filter(
    ([name]) =>
      name in value ||
      ((!allowed || allowed.has(name)) && !isRuledOut(schema, name, value, root)),
  );
}

// Would the object with this property be refused by a rule about properties that exclude each
// other?
function isRuledOut(schema: Schema, name: string, value: JsonObject, root: Schema): boolean {
  return schema.not !== undefined && !fits({not: schema.not}, {...value, [name]: 0}, root);
}

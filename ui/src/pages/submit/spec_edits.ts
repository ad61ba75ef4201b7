// Reading and changing a spec by JSON pointer. Values are never changed in place.
import {isObject, type Json, type JsonObject} from '../../format/json';

// Takes out an undefined value, and objects that have become empty by that.
export function withValue(spec: JsonObject, path: string[], value: Json | undefined): JsonObject {
  const [name, ...rest] = path;
  if (name === undefined) return spec;
  const old = spec[name];
  const next = rest.length === 0 ? value : withValue(isObject(old) ? old : {}, rest, value);
  const {[name]: _, ...others} = spec;
  const isGone = next === undefined || (rest.length > 0 && isObject(next) && isEmpty(next));
  if (isGone) return others;
  return name in spec ? {...spec, [name]: next} : {...others, [name]: next};
}

export function valueAt(spec: Json | undefined, path: string[]): Json | undefined {
  let value: Json | undefined = spec;
  for (const name of path) {
    if (!isObject(value)) return undefined;
    value = value[name];
  }
  return value;
}

export function pointerOf(path: string[]): string {
  return path.map((name) => `/${name.replace(/~/g, '~0').replace(/\//g, '~1')}`).join('');
}

// In the order in which people read a spec; names that are not listed come last.
export function inOrder(spec: JsonObject, names: string[]): JsonObject {
  const place = (name: string) => (names.includes(name) ? names.indexOf(name) : names.length);
  return Object.fromEntries(Object.entries(spec).sort(([a], [b]) => place(a) - place(b)));
}

function isEmpty(value: JsonObject): boolean {
  return Object.keys(value).length === 0;
}

// JSON as values and as text that people read.
export type Json = null | boolean | number | string | Json[] | {[name: string]: Json};
export type JsonObject = {[name: string]: Json};

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const LINE_MAX = 72;

// JSON by lines; what is short stays on one.
export function toText(value: Json, indent = ''): string {
  const flat = JSON.stringify(value, null, 1)?.replace(/\n\s*/g, ' ') ?? 'null';
  const tidy = flat
    .replace(/\[ /g, '[')
    .replace(/ \]/g, ']')
    .replace(/\{ /g, '{')
    .replace(/ \}/g, '}');
  const isLeaf = typeof value !== 'object' || value === null;
  if (isLeaf) return JSON.stringify(value);
  if (indent !== '' && tidy.length + indent.length <= LINE_MAX && !hasMarks(value)) return tidy;
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((one) => deeper + toText(one, deeper)).join(',\n')}\n${indent}]`;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return '{}';
  const lines = entries.map(
    ([name, one]) => `${deeper}${JSON.stringify(name)}: ${toText(one, deeper)}`,
  );
  return `{\n${lines.join(',\n')}\n${indent}}`;
}

// Texts with brackets or blanks of their own must not go through the tidying above.
function hasMarks(value: Json): boolean {
  if (typeof value === 'string') return /[[\]{}\s]/.test(value);
  if (Array.isArray(value)) return value.some(hasMarks);
  return (
    isObject(value) &&
    Object.entries(value).some(([name, one]) => hasMarks(name) || hasMarks(one))
  );
}

// Where two specs differ, field by field.

export interface Difference {
  pointer: string; // RFC 6901
  ours: unknown; // undefined = not there
  theirs: unknown;
}

export function differences(ours: unknown, theirs: unknown, pointer = ''): Difference[] {
  if (isObject(ours) && isObject(theirs)) {
    const names = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])].sort();
    return names.flatMap((name) =>
      differences(
        ours[name],
        theirs[name],
        `${pointer}/${name.replace(/~/g, '~0').replace(/\//g, '~1')}`,
      ),
    );
  }
  return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{pointer, ours, theirs}];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

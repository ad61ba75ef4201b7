// Where in a JSON text the values are: the line of each, by its pointer.

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+|\n/g;

interface Place {
  pointer: string;
  index: number | null; // of the next item of a list; null = an object
  name: string; // of the member that is being read
}

// Lines count from 1. Of a text that is no JSON the lines are those of what comes before the fault.
export function linesOf(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  const around: Place[] = [];
  let line = 1;
  let isName = false; // is the next text the name of a member?
  for (const [token] of text.matchAll(TOKENS)) {
    const place = around[around.length - 1];
    if (token === '\n') {
      ++line;
    } else if (token === '}' || token === ']') {
      around.pop();
      isName = false;
    } else if (token === ',') {
      if (place && place.index !== null) ++place.index;
      isName = place?.index === null;
    } else if (token === ':') {
      isName = false;
    } else if (isName && place) {
      place.name = nameOf(token);
      lines.set(pointerIn(place), line); // of the name, which may stand above its value
    } else {
      const pointer = place ? pointerIn(place) : '';
      if (!lines.has(pointer)) lines.set(pointer, line);
      if (token === '{') around.push({pointer, index: null, name: ''});
      if (token === '[') around.push({pointer, index: 0, name: ''});
      isName = token === '{';
    }
  }
  return lines;
}

// The line of the value, or of the nearest one around it that is there.
export function lineOf(lines: ReadonlyMap<string, number>, pointer: string): number {
  for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const line = lines.get(at);
    if (line !== undefined) return line;
  }
  return 1;
}

function pointerIn({pointer, index, name}: Place): string {
  const part = index === null ? name.replace(/~/g, '~0').replace(/\//g, '~1') : `${index}`;
  return `${pointer}/${part}`;
}

function nameOf(token: string): string {
  try {
    return String(JSON.parse(token));
  } catch {
    return token;
  }
}

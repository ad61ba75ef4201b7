// Where in the page we are, kept in the address behind "#": deep links and reloads work without
// the server knowing any of these places.
import {signal} from '@preact/signals';

export interface Route {
  parts: string[]; // "#/jobs/j-1/logs" -> ["jobs", "j-1", "logs"]
  query: URLSearchParams;
}

// Names that people type for a page of another name.
const OTHER_NAMES = new Map([
  ['agents', 'cluster'],
  ['hosts', 'cluster'],
]);

export const route = signal<Route>(parse(location.hash));

addEventListener('hashchange', () => {
  route.value = parse(location.hash);
});

export function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [page, ...rest] = path.split('/').filter(Boolean).map(decode);
  const parts = page === undefined ? [] : [OTHER_NAMES.get(page) ?? page, ...rest];
  return {parts, query: new URLSearchParams(query)};
}

// The address of a place; parameters that are "" are left out.
export function linkTo(parts: string[], query: Record<string, string | string[]> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== '') parameters.append(name, one);
  }
  const text = parameters.toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}

export function goTo(address: string): void {
  location.hash = address;
}

// Goes there without a step in the history: for what changes while it is typed.
export function replaceWith(address: string): void {
  history.replaceState(null, '', address);
  route.value = parse(location.hash);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % in a link that somebody typed
  }
}

// JSON to read: names, strings and numbers told apart by colour.
import type {JSX} from 'preact';

const PARTS =
  /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

export function JsonText({text, label}: {text: string; label: string}): JSX.Element {
  return (
    <pre class="json" tabIndex={0} role="region" aria-label={label}>
      {colored(text)}
    </pre>
  );
}

export function colored(text: string): Array<JSX.Element | string> {
  const parts: Array<JSX.Element | string> = [];
  let from = 0;
  for (const match of text.matchAll(PARTS)) {
    const [all, quoted, colon, number] = match;
    parts.push(text.slice(from, match.index));
    const kind = quoted
      ? colon
        ? 'json-name'
        : 'json-string'
      : number
        ? 'json-number'
        : 'json-word';
    const word = quoted ?? all;
    parts.push(
      <span key={match.index} class={kind}>
        {word}
      </span>,
      all.slice(word.length),
    );
    from = match.index + all.length;
  }
  parts.push(text.slice(from));
  return parts;
}

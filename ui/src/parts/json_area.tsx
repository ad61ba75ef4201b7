// JSON to write: a text field with the same text, coloured, behind it, and lines that are marked.
import type {JSX} from 'preact';
import {useEffect, useRef} from 'preact/hooks';

import {colored} from './json_text';

type TextAreaProps = JSX.IntrinsicElements['textarea'];

interface JsonAreaProps {
  text: string;
  fault: string | null; // the browser too counts the field as invalid
  marked: ReadonlySet<number>; // lines, from 1
  onText(text: string): void;
  input: TextAreaProps; // its name and what it is described by
}

export function JsonArea({text, fault, marked, onText, input}: JsonAreaProps): JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.setCustomValidity(fault ?? ''), [fault]);
  return (
    <div class="editor">
      {[...marked].map((line) => (
        <div
          key={line}
          class="editor-mark"
          data-line={line}
          style={{'--line': line}}
          aria-hidden="true"
        />
      ))}
      <pre class="editor-colors" aria-hidden="true">
        {colored(text)}
        {'\n'}
      </pre>
      <textarea
        {...input}
        ref={area}
        aria-invalid={fault !== null || marked.size > 0}
        spellcheck={false}
        autocomplete="off"
        wrap="off"
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    </div>
  );
}

// What the parser says, in every browser's own words, with the line it speaks of.
export function parseFault(error: unknown, text: string): string {
  const words = error instanceof Error ? error.message : String(error);
  const position = /position (\d+)/.exec(words)?.[1];
  if (position === undefined || /line \d+/.test(words)) return `Not JSON yet: ${words}`;
  return `Not JSON yet, line ${text.slice(0, Number(position)).split('\n').length}: ${words}`;
}

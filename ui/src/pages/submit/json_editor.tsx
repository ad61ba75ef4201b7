// The spec as text: a text field with the same text, coloured, behind it.
import type {JSX} from 'preact';

import {colored} from '../../parts/json_text';

interface JsonEditorProps {
  text: string;
  fault: string | null;
  onText(text: string): void;
}

export function JsonEditor({text, fault, onText}: JsonEditorProps): JSX.Element {
  return (
    <section class="panel json-editor" aria-labelledby="spec-json">
      <h2 id="spec-json">The same as JSON</h2>
      <div class="editor">
        <pre class="editor-colors" aria-hidden="true">
          {colored(text)}
          {'\n'}
        </pre>
        <textarea
          aria-labelledby="spec-json"
          aria-invalid={fault !== null}
          aria-describedby="spec-json-fault"
          spellcheck={false}
          autocomplete="off"
          wrap="off"
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </div>
      <p class="fault" id="spec-json-fault" role="status">
        {fault}
      </p>
    </section>
  );
}

// What the parser says, in every browser's own words, with the line it speaks of.
export function parseFault(error: unknown, text: string): string {
  const words = error instanceof Error ? error.message : String(error);
  const position = /position (\d+)/.exec(words)?.[1];
  if (position === undefined || /line \d+/.test(words)) return `Not JSON yet: ${words}`;
  return `Not JSON yet, line ${text.slice(0, Number(position)).split('\n').length}: ${words}`;
}

// The spec as text; the lines with a fault are marked.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';

import {lineOf, linesOf} from '../../format/json_lines';
import {JsonArea} from '../../parts/json_area';

interface JsonEditorProps {
  text: string;
  fault: string | null;
  faults: ReadonlyMap<string, string[]>; // of what the text says, by JSON pointer
  onText(text: string): void;
}

export function JsonEditor({text, fault, faults, onText}: JsonEditorProps): JSX.Element {
  const marked = useMemo(() => {
    const lines = linesOf(text);
    return new Set(fault ? [] : [...faults.keys()].map((pointer) => lineOf(lines, pointer)));
  }, [text, fault, faults]);
  return (
    <section class="panel json-editor" aria-labelledby="spec-json">
      <h2 id="spec-json">The same as JSON</h2>
      <JsonArea
        text={text}
        fault={fault}
        marked={marked}
        onText={onText}
        input={{'aria-labelledby': 'spec-json', 'aria-describedby': 'spec-json-fault'}}
      />
      <p class="fault" id="spec-json-fault" role="status">
        {fault}
      </p>
    </section>
  );
}

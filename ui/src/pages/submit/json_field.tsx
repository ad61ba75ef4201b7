// A part of the spec that is written as JSON: a model's layers, a list of objects.
import type {JSX} from 'preact';
import {useContext, useId, useMemo, useState} from 'preact/hooks';

import type {Json} from '../../format/json';
import {toText} from '../../format/json';
import {lineOf, linesOf} from '../../format/json_lines';
import {plural} from '../../format/numbers';
import {JsonArea, parseFault} from '../../parts/json_area';
import {Faults, Form} from './form_state';
import type {Schema} from './json_schema';
import {pointerOf, valueAt} from './spec_edits';

interface JsonFieldProps {
  path: string[];
  schema: Schema;
  label?: string;
}

export function JsonField({path, schema, label}: JsonFieldProps): JSX.Element {
  const form = useContext(Form);
  const id = useId();
  const pointer = pointerOf(path);
  const value = valueAt(form.spec, path);
  const {text, fault, write} = useDraft(value, (next) => form.set(path, next));
  const found = useMemo(
    () => (fault ? [] : faultsIn(text, pointer, form.faults)),
    [text, fault, pointer, form.faults],
  );
  const words = fault ? [fault] : found.map(({line, message}) => `line ${line}: ${message}`);
  return (
    <div class="field field-json" data-pointer={pointer}>
      <label for={id}>{(label ?? path[path.length - 1] ?? '').replaceAll('_', ' ')}</label>
      <JsonArea
        text={text}
        fault={fault}
        marked={new Set(found.map(({line}) => line))}
        onText={write}
        input={{
          id,
          rows: text.split('\n').length,
          'aria-describedby': words.length > 0 ? `${id}-fault` : `${id}-note`,
        }}
      />
      {words.length > 1 && <p class="fault">{plural(words.length, 'fault')}:</p>}
      <Faults of={words} id={`${id}-fault`} />
      {schema.description && (
        <p class="note" id={`${id}-note`}>
          {schema.description}
        </p>
      )}
    </div>
  );
}

// The text as it is typed, for as long as the value is the one that it was typed for. While it is
// no JSON, the value stays what it was.
function useDraft(
  value: Json | undefined,
  set: (value: Json | undefined) => void,
): {text: string; fault: string | null; write(text: string): void} {
  const [draft, setDraft] = useState({text: '', of: '', fault: null as string | null});
  const own = JSON.stringify(value) ?? '';
  const isOurs = draft.of === own && draft.text !== '';
  const write = (text: string) => {
    if (text.trim() === '') {
      setDraft({text: '', of: '', fault: null});
      return set(undefined);
    }
    try {
      const next = JSON.parse(text) as Json;
      setDraft({text, of: JSON.stringify(next), fault: null});
      set(next);
    } catch (error) {
      setDraft({text, of: own, fault: parseFault(error, text)});
    }
  };
  const written = value === undefined ? '' : toText(value);
  return {text: isOurs ? draft.text : written, fault: isOurs ? draft.fault : null, write};
}

// What is wrong with the value and what is in it, by lines.
function faultsIn(
  text: string,
  pointer: string,
  faults: ReadonlyMap<string, string[]>,
): Array<{line: number; message: string}> {
  const lines = linesOf(text);
  return [...faults]
    .filter(([at]) => at === pointer || at.startsWith(`${pointer}/`))
    .map(([at, messages]) => ({
      line: lineOf(lines, at.slice(pointer.length)),
      message: messages.join('; '),
    }))
    .sort((a, b) => a.line - b.line);
}

// One field of the form: its label, its input and what is wrong with it.
import type {JSX} from 'preact';
import {useContext, useId, useState} from 'preact/hooks';

import {isObject, type Json, type JsonObject} from '../../format/json';
import {Icon} from '../../parts/icons';
import type {FieldKind} from './field_kind';
import {Faults, Form} from './form_state';
import type {Schema} from './json_schema';
import {pointerOf, valueAt} from './spec_edits';

interface FieldProps {
  path: string[];
  schema: Schema;
  kind: FieldKind;
  label?: string;
  value?: Json | undefined;
  faults?: string[];
  onWrite?(value: Json | undefined): void;
}

export function Field(props: FieldProps): JSX.Element {
  const {path, schema, kind} = props;
  const form = useContext(Form);
  const id = useId();
  const pointer = pointerOf(path);
  const value = 'onWrite' in props ? props.value : valueAt(form.spec, path);
  const faults = props.faults ?? form.faults.get(pointer) ?? [];
  const write = props.onWrite ?? ((next: Json | undefined) => form.set(path, next));
  const label = (props.label ?? path[path.length - 1] ?? '').replaceAll('_', ' ');
  const input: InputProps = {
    id,
    value,
    write,
    schema,
    invalid: faults.length > 0,
    describedBy: faults.length > 0 ? `${id}-fault` : `${id}-note`,
  };
  return (
    <div class={`field field-${kind.kind}`} data-pointer={pointer}>
      <label for={id}>{label}</label>
      {kind.kind === 'map' ? <MapInput {...input} /> : <Input kind={kind} {...input} />}
      <Faults of={faults} id={`${id}-fault`} />
      {schema.description && (
        <p class="note" id={`${id}-note`}>
          {schema.description}
        </p>
      )}
    </div>
  );
}

interface InputProps {
  id: string;
  value: Json | undefined;
  schema: Schema;
  invalid: boolean;
  describedBy: string;
  write(value: Json | undefined): void;
}

function Input({kind, ...props}: InputProps & {kind: FieldKind}): JSX.Element {
  const {id, value, schema, write} = props;
  const common = {
    id,
    'aria-invalid': props.invalid,
    'aria-describedby': props.describedBy,
    placeholder: placeholderOf(schema),
  };
  switch (kind.kind) {
    case 'choice':
      return (
        <select
          {...common}
          value={typeof value === 'string' ? value : ''}
          onChange={(event) => write(event.currentTarget.value || undefined)}
        >
          <option value="">
            {kind.empty ??
              (schema.default === undefined ? 'default' : `${schema.default} (default)`)}
          </option>
          {kind.values.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      );
    case 'flag':
      return (
        <input
          {...common}
          type="checkbox"
          checked={Boolean(value ?? schema.default)}
          onChange={(event) => write(event.currentTarget.checked)}
        />
      );
    case 'number':
      return (
        <input
          {...common}
          type="number"
          step={kind.isWhole ? 1 : 'any'}
          min={schema.minimum}
          max={schema.maximum}
          value={numberText(value)}
          onInput={(event) => write(numberOf(event.currentTarget.value))}
        />
      );
    case 'numbers':
      return <NumbersInput {...props} isOneAlone={kind.isOneAlone} />;
    default: {
      const offers = kind.kind === 'text' ? kind.offers : [];
      return (
        <>
          <input
            {...common}
            type="text"
            list={offers.length > 0 ? `${id}-offers` : undefined}
            value={value === undefined ? '' : String(value)}
            onInput={(event) => write(event.currentTarget.value || undefined)}
          />
          {offers.length > 0 && (
            <datalist id={`${id}-offers`}>
              {offers.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      );
    }
  }
}

// "100, 50": kept as it is typed, so that a comma can be.
function NumbersInput(props: InputProps & {isOneAlone: boolean}): JSX.Element {
  const {id, value, invalid, describedBy, schema, write, isOneAlone} = props;
  const written = Array.isArray(value) ? value.join(', ') : numberText(value);
  const [typed, setTyped] = useState(written);
  const listed = typeof value === 'number' ? [value] : (value ?? []);
  const same = JSON.stringify(numbersOf(typed) ?? []) === JSON.stringify(listed);
  return (
    <input
      id={id}
      type="text"
      inputMode="numeric"
      aria-invalid={invalid}
      aria-describedby={describedBy}
      placeholder={placeholderOf(schema)}
      value={same ? typed : written}
      onInput={(event) => {
        setTyped(event.currentTarget.value);
        const numbers = numbersOf(event.currentTarget.value);
        write(isOneAlone && numbers?.length === 1 ? numbers[0] : numbers);
      }}
    />
  );
}

function MapInput({id, value, invalid, describedBy, write}: InputProps): JSX.Element {
  const entries = Object.entries(isObject(value) ? value : {});
  const [draft, setDraft] = useState({name: '', text: ''});
  const writeEntries = (next: Array<[string, Json]>) =>
    write(next.length === 0 ? undefined : (Object.fromEntries(next) as JsonObject));
  const add = () => {
    if (draft.name === '') return;
    writeEntries([...entries.filter(([name]) => name !== draft.name), [draft.name, draft.text]]);
    setDraft({name: '', text: ''});
  };
  return (
    <div class="map">
      {entries.map(([name, text], index) => (
        <div key={name} class="map-row">
          <code class="map-name">{name}</code>
          <input
            type="text"
            aria-label={`Value of ${name}`}
            value={String(text)}
            onInput={(event) =>
              writeEntries(
                entries.map((entry, at): [string, Json] =>
                  at === index ? [name, event.currentTarget.value] : entry,
                ),
              )
            }
          />
          <button
            type="button"
            class="quiet icon-only"
            title="Remove"
            aria-label={`Remove ${name}`}
            onClick={() => writeEntries(entries.filter((_, at) => at !== index))}
          >
            <Icon name="cross" />
          </button>
        </div>
      ))}
      <div class="map-row">
        <input
          id={id}
          type="text"
          placeholder="name"
          aria-label="New name"
          aria-invalid={invalid}
          aria-describedby={describedBy}
          value={draft.name}
          onInput={(event) => setDraft({...draft, name: event.currentTarget.value})}
        />
        <input
          type="text"
          placeholder="value"
          aria-label="New value"
          value={draft.text}
          onInput={(event) => setDraft({...draft, text: event.currentTarget.value})}
          onKeyDown={(event) => event.key === 'Enter' && (event.preventDefault(), add())}
        />
        <button
          type="button"
          class="quiet icon-only"
          title="Add"
          aria-label="Add"
          disabled={draft.name === ''}
          onClick={add}
        >
          <Icon name="plus" />
        </button>
      </div>
    </div>
  );
}

function placeholderOf(schema: Schema): string {
  if (schema.default === undefined) return 'default';
  if (schema.default === null) return 'none';
  return Array.isArray(schema.default) ? schema.default.join(', ') : String(schema.default);
}

function numberText(value: Json | undefined): string {
  return typeof value === 'number' ? String(value) : '';
}

function numberOf(text: string): number | undefined {
  return text === '' || Number.isNaN(Number(text)) ? undefined : Number(text);
}

function numbersOf(text: string): number[] | undefined {
  const numbers = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number)
    .filter((one) => !Number.isNaN(one));
  return numbers.length === 0 ? undefined : numbers;
}

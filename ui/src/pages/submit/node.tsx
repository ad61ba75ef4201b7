// A property of the spec as its schema's kind asks: a field, or a group of fields.
import type {JSX} from 'preact';
import {useContext, useState} from 'preact/hooks';

import {isObject, type Json} from '../../format/json';
import {Field} from './fields';
import {type FieldKind, fieldsOf, kindOf, longForm, partsOf, type ShortForm} from './field_kind';
import {Faults, Form} from './form_state';
import {JsonField} from './json_field';
import {resolve, type Schema} from './json_schema';
import {isEssential} from './sections';
import {pointerOf, valueAt} from './spec_edits';

export function Node({path, schema}: {path: string[]; schema: Schema}): JSX.Element {
  const {root} = useContext(Form);
  const kind = kindOf(schema, root);
  if (kind.kind === 'word or parts')
    return <WordOrParts path={path} schema={resolve(schema, root)} kind={kind} />;
  if (kind.kind === 'json') return <JsonField path={path} schema={resolve(schema, root)} />;
  if (kind.kind !== 'group')
    return <Field path={path} schema={resolve(schema, root)} kind={kind} />;
  return (
    <Group
      path={path}
      schema={kind.schema}
      short={kind.short}
      description={resolve(schema, root).description}
    />
  );
}

interface GroupProps {
  path: string[];
  schema: Schema;
  short: ShortForm | null;
  description: string | undefined;
}

// An object: the property that names it, then those that most people set, then the others folded.
function Group({path, schema, short, description}: GroupProps): JSX.Element {
  const {root, spec, faults} = useContext(Form);
  const value = valueAt(spec, path);
  const fields = fieldsOf(schema, longForm(value, short), root);
  const isShown = ([name]: [string, Schema]) =>
    name === short?.property || isEssential([...path, name]);
  const node = ([name, one]: [string, Schema]) =>
    name === short?.property ? (
      <Short
        key={name}
        path={path}
        schema={resolve(one, root)}
        short={short}
        note={description}
      />
    ) : (
      <LongNode key={name} path={path} name={name} schema={one} short={short} />
    );
  const folded = fields.filter((field) => !isShown(field));
  const pointer = pointerOf(path);
  const set = folded.filter(([name]) => isObject(value) && name in value).length;
  const [isOpen, setOpen] = useState(false);
  const isFaulty = folded.some(([name]) => hasFaultBelow(faults, `${pointer}/${name}`));
  if (isFaulty && !isOpen) setOpen(true); // and stays so while the fault is mended
  return (
    <div class="group" data-pointer={pointer}>
      {fields.filter(isShown).map(node)}
      {!short && <Faults of={faults.get(pointer)} />}
      {folded.length > 0 && (
        <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>
            More of {path[path.length - 1]?.replaceAll('_', ' ')}
            {set > 0 && <b>, {set} set</b>}
          </summary>
          <div class="fields">{folded.map(node)}</div>
        </details>
      )}
    </div>
  );
}

// A word for the whole; below it its parts, where the spec has them apart.
function WordOrParts(props: {
  path: string[];
  schema: Schema;
  kind: Extract<FieldKind, {kind: 'word or parts'}>;
}): JSX.Element {
  const {path, schema, kind} = props;
  const {root, spec, set} = useContext(Form);
  const value = valueAt(spec, path);
  const apart = `${Object.keys(kind.parts.properties ?? {}).join(' and ')} apart`;
  return (
    <>
      <Field
        path={path}
        schema={schema}
        kind={{kind: 'choice', values: [...kind.words, apart]}}
        value={isObject(value) ? apart : value}
        onWrite={(next) => set(path, next === apart ? partsOf(value, kind.parts, root) : next)}
      />
      {isObject(value) &&
        fieldsOf(kind.parts, value, root).map(([name, one]) => (
          <Node key={name} path={[...path, name]} schema={one} />
        ))}
    </>
  );
}

// The field of a short form: writes "mlp" while nothing else is said, else {"name": "mlp", …}.
function Short(props: {
  path: string[];
  schema: Schema;
  short: ShortForm;
  note: string | undefined;
}): JSX.Element {
  const {path, schema, short} = props;
  const {root, spec, faults, set} = useContext(Form);
  const value = valueAt(spec, path);
  const kind = kindOf(schema, root);
  const shown =
    short.property === 'name' && kind.kind === 'text' ? {...kind, offers: short.offers} : kind;
  const own = [...path, short.property];
  const write = (next: Json | undefined) => {
    if (!isObject(value)) return set(path, next);
    const {[short.property]: _, ...others} = value;
    // Another model or optimizer has other options: those of the old one go.
    const kept = short.property === 'name' ? {} : others;
    set(
      path,
      Object.keys(kept).length === 0
        ? next
        : next === undefined
          ? kept
          : {[short.property]: next, ...kept},
    );
  };
  const found = [...(faults.get(pointerOf(path)) ?? []), ...(faults.get(pointerOf(own)) ?? [])];
  return (
    <Field
      path={own}
      schema={{...schema, description: props.note ?? schema.description ?? ''}}
      kind={shown}
      label={path[path.length - 1] ?? ''}
      faults={found}
      onWrite={write}
      value={longForm(value, short)[short.property]}
    />
  );
}

// A property beside a short form: setting it writes the short form out.
export function LongNode(props: {
  path: string[];
  name: string;
  schema: Schema;
  short: ShortForm | null;
}): JSX.Element {
  const state = useContext(Form);
  const {path, name, schema, short} = props;
  const value = valueAt(state.spec, path);
  if (!short || isObject(value) || value === undefined) {
    return <Node path={[...path, name]} schema={schema} />;
  }
  const set = (to: string[], next: Json | undefined) => {
    if (next === undefined) return;
    const below = to.slice(path.length + 1);
    state.set(path, {...longForm(value, short), [name]: nested(below, next)});
  };
  return (
    <Form.Provider value={{...state, set}}>
      <Node path={[...path, name]} schema={schema} />
    </Form.Provider>
  );
}

function nested(path: string[], value: Json): Json {
  return path.reduceRight<Json>((inner, name) => ({[name]: inner}), value);
}

function hasFaultBelow(faults: Map<string, string[]>, pointer: string): boolean {
  return [...faults.keys()].some((one) => one === pointer || one.startsWith(`${pointer}/`));
}

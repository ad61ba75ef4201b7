// The model of a job: one of the zoo with its arguments, or layers of its own.
import type {JSX} from 'preact';
import {useContext} from 'preact/hooks';

import {get, wordsOf} from '../../api/client';
import type {ZooArgument} from '../../api/types';
import {isObject, type Json, type JsonObject} from '../../format/json';
import {tell} from '../../parts/notices';
import {Field} from './fields';
import {Form} from './form_state';
import {JsonField} from './json_field';
import {resolve, type Schema} from './json_schema';
import {LongNode} from './node';

const LAYERS = 'layers of its own';
const PATH = ['model'];

export function ModelField({schema}: {schema: Schema}): JSX.Element {
  const {root, spec, faults, models, set} = useContext(Form);
  const value = spec['model'];
  const isLayers = isObject(value) && 'layers' in value;
  const name = nameOf(value);
  const model = models.find((one) => one.name === name);
  const choose = async (next: Json | undefined) => {
    if (next !== LAYERS) return set(PATH, next);
    try {
      set(PATH, await layersOf(value));
    } catch (error) {
      tell(wordsOf(error), 'failed'); // an argument is wrong: it stays the model of that name
    }
  };
  const names = models.map((one) => one.name);
  const strange = name === '' || names.includes(name) ? [] : [name]; // stays in view
  return (
    <div class="group" data-pointer="/model">
      <Field
        path={[...PATH, 'name']}
        schema={{description: model?.description ?? schema.description ?? ''}}
        kind={{kind: 'choice', values: [...names, ...strange, LAYERS], empty: 'choose one'}}
        label="model"
        value={isLayers ? LAYERS : name}
        faults={[
          ...(isLayers ? [] : (faults.get('/model') ?? [])),
          ...(faults.get('/model/name') ?? []),
        ]}
        onWrite={(next) => void choose(next)}
      />
      {isLayers && (
        <JsonField
          path={PATH}
          schema={{description: root.definitions?.['layers_model']?.description ?? ''}}
          label="layers"
        />
      )}
      {model?.arguments.map((argument) => (
        <LongNode
          key={`${name} ${argument.name}`}
          path={PATH}
          name={argument.name}
          schema={schemaOf(argument, root)}
          short={{property: 'name', offers: []}}
        />
      ))}
    </div>
  );
}

function nameOf(value: Json | undefined): string {
  const name = isObject(value) ? value['name'] : value;
  return typeof name === 'string' ? name : '';
}

// The text of the model of that name and those arguments, from which its owner goes on.
async function layersOf(value: Json | undefined): Promise<JsonObject> {
  const name = nameOf(value) || 'softmax_regression';
  const given = Object.entries(isObject(value) ? value : {}).filter(([key]) => key !== 'name');
  const query = Object.fromEntries(
    given.map(([key, one]) => [key, typeof one === 'string' ? one : JSON.stringify(one)]),
  );
  const found = await get('/v1/models/{name}', {path: {name}, query: query as never});
  return found.model as JsonObject;
}

// An argument of a model as a field of the form knows it.
function schemaOf(argument: ZooArgument, root: Schema): Schema {
  const {name, description, kind, minimum, maximum, choices} = argument;
  const known = argument.default === null ? {} : {default: argument.default};
  const bounds = {
    ...(minimum === undefined ? {} : {minimum}),
    ...(maximum === undefined ? {} : {maximum}),
  };
  switch (kind) {
    case 'choice':
      return {description, enum: choices ?? [], ...known};
    case 'boolean':
      return {description, type: 'boolean', ...known};
    case 'integer':
    case 'number':
      return {description, type: kind, ...bounds, ...known};
    case 'integers':
      return {description, type: 'array', items: {type: 'integer', ...bounds}, ...known};
    case 'initializer': // a word, or an object with numbers: the job's schema has both
      return resolve(root.definitions?.['zoo_model']?.properties?.[name] ?? {}, root);
    case 'field':
      return {description, type: 'string', ...known};
  }
}

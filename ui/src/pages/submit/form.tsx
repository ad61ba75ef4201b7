// The form of a spec, made from the JSON Schema: a field for each property that applies.
import type {JSX} from 'preact';

import {Form, type FormState} from './form_state';
import {ModelField} from './model_field';
import {Node} from './node';
import {SECTIONS} from './sections';

export function SpecForm({state}: {state: FormState}): JSX.Element {
  const {root} = state;
  const named = new Set(SECTIONS.flatMap((section) => section.names));
  const rest = Object.keys(root.properties ?? {}).filter((name) => !named.has(name));
  const sections = rest.length === 0 ? SECTIONS : [...SECTIONS, {title: 'More', names: rest}];
  return (
    <Form.Provider value={state}>
      {sections.map(({title, names}) => (
        <section key={title} class="panel form-section" aria-label={title}>
          <h2>{title}</h2>
          <div class="fields">
            {names.map((name) => {
              const schema = root.properties?.[name];
              if (!schema) return undefined;
              if (name === 'model') return <ModelField key={name} schema={schema} />;
              return <Node key={name} path={[name]} schema={schema} />;
            })}
          </div>
        </section>
      ))}
    </Form.Provider>
  );
}

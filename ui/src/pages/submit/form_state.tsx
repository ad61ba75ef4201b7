// What every field of the form needs to know, and how a fault looks.
import {type ComponentChildren, createContext} from 'preact';

import type {ZooModel} from '../../api/types';
import type {Json, JsonObject} from '../../format/json';
import type {Schema} from './json_schema';

export interface FormState {
  root: Schema;
  models: readonly ZooModel[];
  spec: JsonObject;
  faults: Map<string, string[]>; // by JSON pointer
  set(path: string[], value: Json | undefined): void;
}

export const Form = createContext<FormState>({
  root: {},
  models: [],
  spec: {},
  faults: new Map(),
  set: () => {},
});

export function Faults({
  of: faults,
  id,
}: {
  of: string[] | undefined;
  id?: string;
}): ComponentChildren {
  if (!faults || faults.length === 0) return null;
  return (
    <p class="fault" id={id}>
      {faults.join('; ')}
    </p>
  );
}

// All that is known of a layer, as JSON to read and to copy.
import type {JSX} from 'preact';

import type {ModelLayer} from '../api/types';
import {type JsonObject, toText} from '../format/json';
import {CopyButton} from './copy_button';
import {JsonText} from './json_text';

const ORDER = [
  'name',
  'op',
  'in',
  'shape',
  'kind',
  'arguments',
  'variables',
  'parameters',
  'state',
  'forward_flops',
  'backward_flops',
  'kept_bytes',
];
const LAST = ['pointer']; // what is not listed stands before it

export function LayerDetails({layer}: {layer: ModelLayer}): JSX.Element {
  const text = toText(inOrder(layer as unknown as JsonObject));
  return (
    <div class="layer-details">
      <JsonText text={text} label={`Details of ${layer.name}`} />
      <CopyButton text={text} what={`the details of ${layer.name}`} />
    </div>
  );
}

function inOrder(layer: JsonObject): JsonObject {
  const names = Object.keys(layer);
  const others = names.filter((name) => !ORDER.includes(name) && !LAST.includes(name));
  const sorted = [...ORDER, ...others, ...LAST].filter((name) => names.includes(name));
  return Object.fromEntries(sorted.map((name) => [name, layer[name] ?? null]));
}

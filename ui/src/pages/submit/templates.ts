// Specs to begin with: those of examples/, built into the page.
import type {JsonObject} from '../../format/json';

export interface Template {
  title: string;
  file: string;
  spec: JsonObject;
}

const files = import.meta.glob<JsonObject>(
  ['../../../../examples/*.json', '../../../../examples/*/job.json'],
  {eager: true, import: 'default'},
);

const TITLES: Record<string, string> = {
  'digits-mlp': 'Digits, synchronous',
  async: 'Digits, asynchronous',
  'several-ps': 'Four parameter servers',
  'two-agents': 'Two hosts',
  'mnist-idx': 'MNIST from files',
  agaricus: 'Mushrooms, sparse',
};

// In the order of the titles above; an example without a title has its folder's name.
export const templates: Template[] = Object.entries(files)
  .map(([path, spec]) => {
    const file = path.replace(/^.*examples\//, 'examples/');
    const key = file.replace('examples/', '').replace(/\/job\.json$|\.json$/, '');
    return {title: TITLES[key] ?? key, file, spec, key};
  })
  .sort((a, b) => place(a.key) - place(b.key));

function place(key: string): number {
  const at = Object.keys(TITLES).indexOf(key);
  return at < 0 ? Object.keys(TITLES).length : at;
}

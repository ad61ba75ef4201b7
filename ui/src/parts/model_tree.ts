// The layers of a model as a tree: those of one repeat, block or residual, which have the
// beginning of their names in common, are a group. How it is drawn is not decided here.
import type {ModelLayer} from '../api/types';

interface Place {
  title: string; // the name within the group around it: "residual_0/conv2d_1"
  first: number; // positions in the model's layers
  last: number;
}

export interface LayerNode extends Place {
  kind: 'layer';
  layer: ModelLayer;
}

export interface GroupNode extends Place {
  kind: 'group';
  path: string; // "repeat_0/1/bottleneck_0"
  note: string; // "3 × bottleneck_0", or ""
  parameters: number | null;
  children: TreeNode[];
}

export type TreeNode = LayerNode | GroupNode;

export function treeOf(layers: readonly ModelLayer[]): TreeNode[] {
  return nest(layers, 0, layers.length, '');
}

// The groups around a layer, outermost first.
export function groupsAround(tree: readonly TreeNode[], position: number): GroupNode[] {
  const found = tree.find(({first, last}) => first <= position && position <= last);
  if (!found || found.kind === 'layer') return [];
  return [found, ...groupsAround(found.children, position)];
}

export function allGroups(tree: readonly TreeNode[]): GroupNode[] {
  return tree.flatMap((node) =>
    node.kind === 'group' ? [node, ...allGroups(node.children)] : [],
  );
}

// The layers from `begin` to before `end`, whose names all begin with `prefix`: "h/3/".
function nest(
  layers: readonly ModelLayer[],
  begin: number,
  end: number,
  prefix: string,
): TreeNode[] {
  const nodes: TreeNode[] = [];
  for (let first = begin; first < end;) {
    const part = partOf(layers[first]?.name ?? '', prefix);
    let next = first + 1;
    while (part !== '' && next < end && partOf(layers[next]?.name ?? '', prefix) === part) {
      ++next;
    }
    nodes.push(nodeOf(layers, first, next, prefix, part));
    first = next;
  }
  return nodes;
}

// "h/3/dense_0" behind "h/": "3". The sum of a residual has the name of its group, and is in it.
function partOf(name: string, prefix: string): string {
  if (!name.startsWith(prefix)) return '';
  return name.slice(prefix.length).split('/', 1)[0] ?? '';
}

function nodeOf(
  layers: readonly ModelLayer[],
  first: number,
  next: number,
  prefix: string,
  part: string,
): TreeNode {
  const layer = layers[first] as ModelLayer;
  if (next === first + 1) return leaf(layer, first, prefix);
  const path = prefix + part;
  const children = nest(layers, first, next, `${path}/`).map((child) =>
    child.title === '' ? {...child, title: part} : child,
  );
  const only = children[0];
  if (children.length === 1 && only?.kind === 'group') {
    return {...only, title: `${part}/${only.title}`};
  }
  return {
    kind: 'group',
    title: part,
    path,
    note: noteOf(children),
    first,
    last: next - 1,
    parameters: sumOf(layers.slice(first, next)),
    children,
  };
}

function leaf(layer: ModelLayer, at: number, prefix: string): LayerNode {
  const title = layer.name.startsWith(prefix) ? layer.name.slice(prefix.length) : '';
  return {kind: 'layer', title, layer, first: at, last: at};
}

// A repeat's children are "0", "1", …, each alone or with the one thing that is in it.
function noteOf(children: readonly TreeNode[]): string {
  const parts = children.map(({title}) => /^\d+(?:\/(.+))?$/.exec(title));
  if (parts.length < 2 || parts.some((part) => part === null)) return '';
  const inside = new Set(parts.map((part) => part?.[1] ?? ''));
  const [one] = inside;
  return inside.size === 1 && one ? `${children.length} × ${one}` : `${children.length} ×`;
}

function sumOf(layers: readonly ModelLayer[]): number | null {
  let sum = 0;
  for (const {parameters} of layers) {
    if (parameters === null) return null;
    sum += parameters;
  }
  return sum;
}

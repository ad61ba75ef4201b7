// What lies on the page of a model's tree: the rows that are in view, and beside each row the
// pieces of the lines from a layer to those that read it. A row draws its pieces as high as it is,
// so that nothing is measured.
import type {ModelLayer} from '../api/types';
import type {TreeNode} from './model_tree';

export interface Row {
  node: TreeNode;
  depth: number;
  isOpen: boolean; // a group whose layers are rows below it
}

// A line beside the rows: it leaves its layer, passes rows, and ends at the last one that reads it;
// those before are branches.
export type Piece = 'leaves' | 'passes' | 'branches' | 'ends';

export interface Wires {
  isReadingAbove: boolean; // the row above, by the line down the middle
  isReadBelow: boolean;
  pieces: Array<{lane: number; piece: Piece}>; // lane 0 is next to the middle
  others: number[]; // positions of the layers that are read, without the one above
}

const LANES_MAX = 6; // what is beyond is told by name alone

export function rowsOf(tree: readonly TreeNode[], open: ReadonlySet<string>, depth = 0): Row[] {
  return tree.flatMap((node) => {
    const isOpen = node.kind === 'group' && open.has(node.path);
    const row = {node, depth, isOpen};
    return isOpen ? [row, ...rowsOf(node.children, open, depth + 1)] : [row];
  });
}

interface Line {
  from: number; // rows
  to: number[]; // ascending
}

export function wiresOf(
  rows: readonly Row[],
  layers: readonly ModelLayer[],
): {wires: Wires[]; lanes: number} {
  const rowOf = rowOfLayer(rows, layers.length);
  const positions = new Map(layers.map(({name}, position) => [name, position]));
  const wires = rows.map((): Wires => ({
    isReadingAbove: false,
    isReadBelow: false,
    pieces: [],
    others: [],
  }));
  const lines = new Map<number, Line>();
  let above = -1; // the nearest row above that stands for layers
  rows.forEach((row, at) => {
    if (row.isOpen) return;
    for (const position of readBy(row, layers, positions)) {
      const from = rowOf[position] as number;
      if (from === above) {
        markMiddle(wires, above, at);
      } else if (from < at) {
        wires[at]?.others.push(position);
        const line = lines.get(from) ?? {from, to: []};
        if (line.to[line.to.length - 1] !== at) line.to.push(at);
        lines.set(from, line);
      }
    }
    above = at;
  });
  return {wires, lanes: placeLines([...lines.values()], wires)};
}

// For each layer the row that stands for it: its own, or that of a group which is closed.
function rowOfLayer(rows: readonly Row[], count: number): number[] {
  const found = new Array<number>(count).fill(-1);
  rows.forEach(({node, isOpen}, at) => {
    if (!isOpen) found.fill(at, node.first, node.last + 1);
  });
  return found;
}

// Positions of the layers outside of the row that those in it read.
function readBy(
  {node}: Row,
  layers: readonly ModelLayer[],
  positions: ReadonlyMap<string, number>,
): Set<number> {
  const found = new Set<number>();
  for (let at = node.first; at <= node.last; ++at) {
    for (const name of layers[at]?.in ?? []) {
      const position = positions.get(name);
      if (position !== undefined && position < node.first) found.add(position);
    }
  }
  return found;
}

// Heads of open groups between the two are passed.
function markMiddle(wires: readonly Wires[], from: number, to: number): void {
  for (let at = from; at <= to; ++at) {
    const one = wires[at] as Wires;
    if (at > from) one.isReadingAbove = true;
    if (at < to) one.isReadBelow = true;
  }
}

// Gives each line the free lane that is next to the middle, short lines first; returns how many
// lanes are used. Two lines may meet in a row where one ends and the other leaves.
function placeLines(lines: Line[], wires: readonly Wires[]): number {
  const endOf = (line: Line) => line.to[line.to.length - 1] as number;
  const lengthOf = (line: Line) => endOf(line) - line.from;
  const taken = wires.map(() => 0); // by row: a bit for each lane in use from it to the next
  let lanes = 0;
  for (const line of lines.sort((a, b) => lengthOf(a) - lengthOf(b) || a.from - b.from)) {
    let used = 0;
    for (let at = line.from; at < endOf(line); ++at) used |= taken[at] as number;
    const lane = Array.from({length: LANES_MAX}, (_, index) => index).find(
      (index) => (used & (1 << index)) === 0,
    );
    if (lane === undefined) continue;
    for (let at = line.from; at < endOf(line); ++at) {
      taken[at] = (taken[at] as number) | (1 << lane);
    }
    lanes = Math.max(lanes, lane + 1);
    addPieces(line, lane, wires);
  }
  return lanes;
}

function addPieces({from, to}: Line, lane: number, wires: readonly Wires[]): void {
  const last = to[to.length - 1] as number;
  const readers = new Set(to);
  for (let at = from; at <= last; ++at) {
    const piece =
      at === from ? 'leaves' : at === last ? 'ends' : readers.has(at) ? 'branches' : 'passes';
    wires[at]?.pieces.push({lane, piece});
  }
}

// A row of a drawn model: a layer, or a group of them.
import type {JSX} from 'preact';

import type {ModelLayer} from '../api/types';
import {
  argumentWords,
  FILES_TELL,
  formatShape,
  formatShare,
  UNKNOWN,
} from '../format/model_words';
import {formatCount, plural} from '../format/numbers';
import {Icon} from './icons';
import {LayerDetails} from './layer_details';
import type {Row, Wires} from './model_wires';

interface ModelRowProps {
  row: Row;
  wires: Wires;
  layers: readonly ModelLayer[];
  total: number | null; // parameters of the whole model
  isShown: boolean; // a layer's details are
  onToggle(row: Row): void;
  onJump(position: number): void;
}

export function ModelRow(props: ModelRowProps): JSX.Element {
  const {row, wires, layers} = props;
  const {node} = row;
  const isOpen = row.isOpen || props.isShown;
  const last = layers[node.last] as ModelLayer;
  const parameters = node.kind === 'group' ? node.parameters : node.layer.parameters;
  return (
    <li class={`model-row model-row-${node.kind}`}>
      <WirePieces row={row} wires={wires} />
      <div class="model-row-main" style={{'--depth': Math.min(row.depth, 6)}}>
        <button
          type="button"
          class="model-row-button"
          aria-expanded={isOpen}
          data-layer={node.kind === 'layer' ? node.layer.name : undefined}
          data-group={node.kind === 'group' ? node.path : undefined}
          title={node.kind === 'group' ? node.path : node.layer.name}
          onClick={() => props.onToggle(row)}
        >
          <span class="model-name">
            <Icon name={isOpen ? 'down' : 'right'} size={12} />
            <b>{node.title}</b>
            {node.kind === 'layer' ? <OfLayer layer={node.layer} /> : <OfGroup row={row} />}
          </span>
          <span class="model-shape">
            <span class="unseen">output </span>
            {formatShape(last.shape)}
            {last.kind && last.kind !== 'number' && <i class="muted"> {last.kind}</i>}
          </span>
          <Parameters count={parameters} hasRows={hasRowTable(node.kind, last)} />
          <Share count={parameters} total={props.total} />
        </button>
        {wires.others.length > 0 && (
          <Reads {...props} own={node.kind === 'group' ? node.path : node.layer.name} />
        )}
        {node.kind === 'layer' && props.isShown && <LayerDetails layer={node.layer} />}
      </div>
    </li>
  );
}

function WirePieces({row, wires}: {row: Row; wires: Wires}): JSX.Element {
  const {node} = row;
  const dot =
    node.kind === 'group'
      ? 'dot-group'
      : node.layer.in.length === 0
        ? 'dot-input'
        : node.layer.variables.length > 0
          ? 'dot-full'
          : 'dot-empty';
  return (
    <span class="wires" aria-hidden="true">
      {wires.isReadingAbove && <span class="wire-above" />}
      {wires.isReadBelow && <span class="wire-below" />}
      {wires.pieces.map(({lane, piece}) => (
        <span key={`${lane} ${piece}`} class={`wire wire-${piece}`} style={{'--lane': lane}} />
      ))}
      {!row.isOpen && <span class={`dot ${dot}`} />}
    </span>
  );
}

function OfLayer({layer}: {layer: ModelLayer}): JSX.Element {
  return (
    <>
      <code class={isInName(layer) ? 'model-op is-in-name' : 'model-op'}>{layer.op}</code>
      <span class="model-arguments">{argumentWords(layer)}</span>
    </>
  );
}

// "dense_0": where there is little room, the op need not be said again.
function isInName({name, op}: ModelLayer): boolean {
  return name.slice(name.lastIndexOf('/') + 1).startsWith(`${op}_`);
}

function OfGroup({row: {node}}: {row: Row}): JSX.Element | null {
  if (node.kind !== 'group') return null;
  return (
    <span class="model-arguments">
      {node.note && `${node.note}, `}
      {plural(node.last - node.first + 1, 'layer')}
    </span>
  );
}

function hasRowTable(kind: 'layer' | 'group', layer: ModelLayer): boolean {
  return kind === 'layer' && layer.variables.some(({role}) => role === 'row_table');
}

function Parameters({count, hasRows}: {count: number | null; hasRows: boolean}): JSX.Element {
  if (hasRows) {
    return (
      <span class="model-count" title="its rows lie on the ps and are counted by the row">
        rows
      </span>
    );
  }
  return (
    <span class="model-count" title={count === null ? FILES_TELL : undefined}>
      {count === null ? UNKNOWN : count === 0 ? '' : formatCount(count)}
      {count !== 0 && <span class="unseen"> parameters</span>}
    </span>
  );
}

function Share({count, total}: {count: number | null; total: number | null}): JSX.Element {
  if (!count || !total) return <span class="model-share" />;
  return (
    <span class="model-share">
      <span class="share-bar" aria-hidden="true">
        <span style={{width: `${(100 * count) / total}%`}} />
      </span>
      <span class="model-percent">{formatShare(count / total)}</span>
    </span>
  );
}

// The layers it reads that do not stand above it; a click goes there.
function Reads(props: ModelRowProps & {own: string}): JSX.Element {
  const {layers, wires, own, onJump} = props;
  return (
    <p class="model-reads">
      <span class="muted">reads</span>
      {wires.others.map((position) => {
        const name = layers[position]?.name ?? '';
        return (
          <button key={position} type="button" title={name} onClick={() => onJump(position)}>
            {withoutCommon(name, own)}
          </button>
        );
      })}
    </p>
  );
}

// "h/2/residual_0" beside "h/3/residual_1": "2/residual_0"
function withoutCommon(name: string, own: string): string {
  const parts = name.split('/');
  const around = own.split('/');
  let common = 0;
  while (common < parts.length - 1 && parts[common] === around[common]) ++common;
  return parts.slice(common).join('/');
}

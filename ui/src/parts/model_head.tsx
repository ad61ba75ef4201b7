// A model in a few figures: how large it is, and what a task needs for it.
import type {ComponentChildren, JSX} from 'preact';
import {useId} from 'preact/hooks';

import type {ModelAnalysis} from '../api/types';
import {FILES_TELL, formatFlops, formatMebibytes} from '../format/model_words';
import {formatCount} from '../format/numbers';

export function ModelHead({model}: {model: ModelAnalysis}): JSX.Element {
  const {parameters, state, row_columns: columns, memory_bytes: memory} = model;
  return (
    <dl class="figures model-head">
      <Figure name="parameters">{known(parameters, formatCount)}</Figure>
      {columns !== undefined && columns > 0 && (
        <Figure name="in a row of the tables">{formatCount(columns)}</Figure>
      )}
      {state !== 0 && <Figure name="state">{known(state, formatCount)}</Figure>}
      <Figure name="forward, of one example">{known(model.forward_flops, formatFlops)}</Figure>
      <Figure name="backward">{known(model.backward_flops, formatFlops)}</Figure>
      <Memory role="worker" parts={memory.worker} />
      {memory.gpu && <Memory role="worker’s GPU" parts={memory.gpu} />}
      {memory.ps['total'] !== 0 && <Memory role="ps" parts={memory.ps} />}
    </dl>
  );
}

function known(
  value: number | null | undefined,
  format: (value: number) => string,
): ComponentChildren {
  if (value !== null && value !== undefined) return format(value);
  return <span class="untold">{FILES_TELL}</span>;
}

function Figure({name, children}: {name: string; children: ComponentChildren}): JSX.Element {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd data-figure={name}>{children}</dd>
    </div>
  );
}

const PARTS: Record<string, string> = {
  parameters: 'parameters and state',
  gradients: 'gradients',
  kept: 'kept for the backward pass',
  scratch: 'gradients on their way',
  slots: 'slots of the optimizer',
};

// The whole; its parts come up where the reader points at it or has the focus on it.
function Memory(props: {role: string; parts: Record<string, number | null>}): JSX.Element {
  const id = useId();
  const {total, ...parts} = props.parts;
  if (total === null || total === undefined) {
    return <Figure name={`memory of a ${props.role}`}>{known(null, formatMebibytes)}</Figure>;
  }
  return (
    <Figure name={`memory of a ${props.role}`}>
      <button type="button" class="model-memory" aria-describedby={id}>
        {formatMebibytes(total)}
      </button>
      <span class="model-parts" id={id} role="tooltip">
        {Object.entries(parts).map(([name, bytes]) => (
          <span key={name}>
            {PARTS[name] ?? name} <b>{formatMebibytes(bytes)}</b>
          </span>
        ))}
      </span>
    </Figure>
  );
}

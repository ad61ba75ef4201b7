// What a model is trained for, and what is measured of it.
import type {JSX} from 'preact';

import type {ModelAnalysis} from '../api/types';

// The API's document leaves them open.
interface Term {
  op: string;
  in: string[];
  target: string;
  pointer: string;
}

export function ModelTerms({model}: {model: ModelAnalysis}): JSX.Element {
  return (
    <dl class="model-terms">
      <Terms title="loss" terms={model.losses as unknown as Term[]} />
      <Terms title="metrics" terms={model.metrics as unknown as Term[]} />
    </dl>
  );
}

function Terms({title, terms}: {title: string; terms: Term[]}): JSX.Element | null {
  if (terms.length === 0) return null;
  return (
    <div>
      <dt>{title}</dt>
      {terms.map(({op, in: layers, target, pointer}) => (
        <dd key={pointer} title={pointer}>
          <code class="model-op">{op}</code> of {layers.join(', ')}
          {target && <span class="muted"> against {target}</span>}
        </dd>
      ))}
    </div>
  );
}

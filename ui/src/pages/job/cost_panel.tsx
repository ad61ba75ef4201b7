// What a step costs: the products of the model, and how much of its cores' peak they reach.
import type {ComponentChildren, JSX} from 'preact';

import {get} from '../../api/client';
import {usePoll} from '../../api/poll';
import type {Job} from '../../api/types';
import {FILES_TELL, formatFlops, formatShare} from '../../format/model_words';
import {formatValue, plural} from '../../format/numbers';

// Than the job's own, where its GPUs were measured in them.
const OTHER_PRECISIONS = ['float32', 'tf32', 'bfloat16'];

export function CostPanel({job}: {job: Job}): JSX.Element | null {
  const {data} = usePoll(
    (signal) => get('/v1/jobs/{id}/model', {path: {id: job.id}, signal}),
    {everyMs: 0, key: job.id}, // a spec never changes
  );
  if (!data) return null;
  const {forward_flops: forward, backward_flops: backward} = data;
  const training = job.spec.training as {batch_size?: number} | undefined;
  const examples = training?.batch_size ?? 0;
  return (
    <section class="panel" aria-labelledby="cost">
      <h2 id="cost">Cost of a step</h2>
      <dl class="costs">
        <Cost name="forward, of one example">{flopsOf(forward)}</Cost>
        <Cost name="backward, of one example">{flopsOf(backward)}</Cost>
        <Cost name={`a worker’s step, ${plural(examples, 'example')}`}>
          {flopsOf(sumOf(forward, backward, examples))}
        </Cost>
        <Reached metrics={job.status.metrics} />
      </dl>
    </section>
  );
}

// Of the chief's gradients in the newest report; nothing before the first.
function Reached({metrics}: {metrics: Job['status']['metrics']}): JSX.Element | null {
  const rate = metrics['compute_gflops'];
  const share = metrics['compute_peak_fraction'];
  if (typeof rate !== 'number') return null; // none yet, or one that is no number
  return (
    <>
      <Cost name="gradients reach">{formatValue(rate)} GFLOP/s</Cost>
      {typeof share === 'number' && share > 0 && (
        <Cost name="of its cores’ peak">
          {formatShare(share)}
          <span class="muted"> of {formatValue(rate / share)} GFLOP/s</span>
        </Cost>
      )}
      {OTHER_PRECISIONS.map((precision) => {
        const times = metrics[`speedup_in_${precision}`];
        if (typeof times !== 'number') return null;
        return (
          <Cost key={precision} name={`in ${precision}, about`}>
            {formatValue(Number(times.toPrecision(2)))} × as fast
          </Cost>
        );
      })}
    </>
  );
}

function Cost({name, children}: {name: string; children: ComponentChildren}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd data-figure={name}>{children}</dd>
    </div>
  );
}

function flopsOf(flops: number | null | undefined): ComponentChildren {
  if (flops === null || flops === undefined) return <span class="muted">{FILES_TELL}</span>;
  return formatFlops(flops);
}

function sumOf(
  forward: number | null | undefined,
  backward: number | null | undefined,
  examples: number,
): number | null {
  const isKnown = typeof forward === 'number' && typeof backward === 'number';
  return isKnown ? (forward + backward) * examples : null;
}

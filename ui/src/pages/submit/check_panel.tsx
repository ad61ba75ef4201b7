// What a dry run says: what is wrong, or where the gang would land and what its model is.
import type {JSX} from 'preact';
import {useState} from 'preact/hooks';

import {ApiError, AwayError, wordsOf} from '../../api/client';
import type {DryRun, ModelAnalysis} from '../../api/types';
import {lineOf, linesOf} from '../../format/json_lines';
import {plural} from '../../format/numbers';
import {sentence} from '../../format/words';
import {Icon} from '../../parts/icons';
import {ModelHead} from '../../parts/model_head';
import {ModelLayers} from '../../parts/model_view';

export type Check =
  | {state: 'none'}
  | {state: 'asking'}
  | {state: 'good'; run: DryRun}
  | {state: 'bad'; error: unknown};

export function CheckPanel({check}: {check: Check}): JSX.Element {
  const [hasLayers, setHasLayers] = useState(false); // stays, whatever is checked next
  return (
    <section class="panel check-panel" aria-labelledby="check">
      <h2 id="check">Check</h2>
      <div role="status">
        <Verdict check={check} />
      </div>
      {check.state === 'good' && (
        <CheckedModel model={check.run.model} isOpen={hasLayers} onOpen={setHasLayers} />
      )}
    </section>
  );
}

interface CheckedModelProps {
  model: ModelAnalysis;
  isOpen: boolean;
  onOpen(isOpen: boolean): void;
}

function CheckedModel({model, isOpen, onOpen}: CheckedModelProps): JSX.Element {
  return (
    <section class="model check-model" aria-labelledby="check-model">
      <h3 id="check-model">Model</h3>
      <ModelHead model={model} />
      <details open={isOpen} onToggle={(event) => onOpen(event.currentTarget.open)}>
        <summary>Its {plural(model.layers.length, 'layer')}</summary>
        {isOpen && <ModelLayers model={model} />}
      </details>
    </section>
  );
}

function Verdict({check}: {check: Check}): JSX.Element {
  switch (check.state) {
    case 'none':
      return <p class="muted">A dry run says here where the tasks would land.</p>;
    case 'asking':
      return <p class="muted">Asking the server…</p>;
    case 'bad':
      return <Bad error={check.error} />;
    case 'good':
      return <Good run={check.run} />;
  }
}

function Bad({error}: {error: unknown}): JSX.Element {
  if (error instanceof AwayError)
    return <p class="muted">The server cannot be reached to check it.</p>;
  const faults = error instanceof ApiError ? error.problem.errors : [];
  return (
    <>
      <p class="verdict verdict-bad">
        <Icon name="cross" />
        {sentence(wordsOf(error))}
      </p>
      <ul class="fault-list">
        {faults.map(({pointer, message}) => (
          <li key={`${pointer} ${message}`}>
            <button type="button" class="quiet" onClick={() => focusField(pointer)}>
              <code>{pointer || '/'}</code>
            </button>
            <span>{message}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Good({run}: {run: DryRun}): JSX.Element {
  const {plan} = run;
  const hosts = new Map<string, DryRun['plan']['tasks']>();
  for (const task of plan.tasks) hosts.set(task.agent, [...(hosts.get(task.agent) ?? []), task]);
  return (
    <>
      <p class={plan.placeable_now ? 'verdict verdict-good' : 'verdict verdict-wait'}>
        <Icon name={plan.placeable_now ? 'check' : 'clock'} />
        {plan.placeable_now ? 'It could start now' : sentence(plan.message)}
      </p>
      <ul class="landing">
        {[...hosts].map(([agent, tasks]) => (
          <li key={agent}>
            <b>{agent}</b> <span class="muted">{plural(tasks.length, 'task')}</span>
            <span class="landing-tasks">
              {tasks.map(({task, gpus}) => (
                <span key={task} class="tag">
                  {task}
                  {gpus.length > 0 && ` · GPU ${gpus.join(', ')}`}
                </span>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

// Puts the reader into the field that a fault is about, or into the one around it.
function focusField(pointer: string): void {
  for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const place = `[data-pointer="${CSS.escape(at)}"]`;
    const field = document.querySelector(`.field${place}`) ?? document.querySelector(place);
    const input = field?.querySelector<HTMLElement>('input, select, textarea');
    if (!input) continue;
    const folded = input.closest('details');
    if (folded) folded.open = true;
    input.focus();
    if (input instanceof HTMLTextAreaElement) selectLine(input, pointer.slice(at.length));
    return input.scrollIntoView({block: 'center'});
  }
}

function selectLine(input: HTMLTextAreaElement, pointer: string): void {
  const before = input.value.split('\n').slice(0, lineOf(linesOf(input.value), pointer));
  const last = before.pop() ?? '';
  const start = before.reduce((sum, {length}) => sum + length + 1, 0);
  input.setSelectionRange(start, start + last.length);
}

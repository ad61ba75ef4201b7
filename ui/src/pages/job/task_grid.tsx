// The gang at a glance: a row for each role, a cell for each index, shaped and coloured by state.
import type {JSX} from 'preact';

import type {Task} from '../../api/types';
import {plural} from '../../format/numbers';
import {StateBadge, StateShape} from '../../parts/state_badge';

const ROLES = ['chief', 'ps', 'worker', 'evaluator'] as const;

export function TaskGrid({
  tasks,
  onPick,
}: {
  tasks: Task[];
  onPick(task: Task): void;
}): JSX.Element {
  const states = [...new Set(tasks.map((task) => task.state))];
  return (
    <section class="panel task-grid" aria-label="Tasks by role and index">
      <ul class="grid-key">
        {states.map((state) => (
          <li key={state}>
            <StateBadge state={state} /> {tasks.filter((task) => task.state === state).length}
          </li>
        ))}
      </ul>
      {ROLES.map((role) => {
        const own = tasks.filter((task) => task.role === role);
        return own.length === 0 ? null : (
          <div key={role} class="grid-row">
            <span class="grid-role">
              <b>{role}</b>
              <span class="muted">{plural(own.length, 'task')}</span>
            </span>
            <div class="grid-cells">
              {own.map((task) => (
                <Cell key={task.task} task={task} onPick={onPick} />
              ))}
            </div>
          </div>
        );
      })}
    </section>
  );
}

function Cell({task, onPick}: {task: Task; onPick(task: Task): void}): JSX.Element {
  const gpus = task.gpus.length > 0 ? `, GPU ${task.gpus.join(' and ')}` : '';
  const words = `${task.task} is ${task.state} on ${task.agent}${gpus}`;
  return (
    <button
      type="button"
      class={`task-cell state-${task.state}`}
      title={words}
      aria-label={words}
      onClick={() => onPick(task)}
    >
      <StateShape state={task.state} />
    </button>
  );
}

// The tasks of an attempt: a grid of role by index, and a row for each.
import type {JSX} from 'preact';
import {useState} from 'preact/hooks';

import {get} from '../../api/client';
import {usePoll} from '../../api/poll';
import {isAtRest, type Job, type Task} from '../../api/types';
import {NOTHING} from '../../format/numbers';
import {formatDuration, now, secondsBetween} from '../../format/times';
import {Empty, Failed, Loading} from '../../parts/notices';
import {Moment} from '../../parts/moments';
import {StateBadge} from '../../parts/state_badge';
import {linkTo} from '../../route';
import {AttemptPicker} from './attempt_picker';
import {TaskGrid} from './task_grid';

const EVERY_MS = 2_000;

export function TasksTab({job}: {job: Job}): JSX.Element {
  const [chosen, setChosen] = useState<number | null>(null); // null = the newest
  const attempt = chosen ?? job.status.attempt;
  const isOver = isAtRest(job.status.state) || attempt < job.status.attempt;
  const {data, error, refresh} = usePoll(
    async (signal) =>
      attempt === 0
        ? []
        : (await get('/v1/jobs/{id}/tasks', {path: {id: job.id}, query: {attempt}, signal}))
            .items,
    {everyMs: isOver ? 0 : EVERY_MS, key: `${job.id} ${attempt} ${isOver}`},
  );
  if (error) return <Failed what="The tasks cannot be listed" error={error} retry={refresh} />;
  if (!data) return <Loading what="tasks" />;
  if (data.length === 0) {
    return (
      <Empty title="No tasks yet">
        <p>They come when the job is placed on hosts.</p>
      </Empty>
    );
  }
  const focus = (task: Task) => {
    const row = document.getElementById(rowId(task));
    row?.scrollIntoView({block: 'center', behavior: 'smooth'});
    row?.focus({preventScroll: true});
  };
  return (
    <div class="tasks">
      <AttemptPicker count={job.status.attempt} value={attempt} onPick={setChosen} />
      <TaskGrid tasks={data} onPick={focus} />
      <TaskTable job={job} tasks={data} />
    </div>
  );
}

function TaskTable({job, tasks}: {job: Job; tasks: Task[]}): JSX.Element {
  return (
    <div class="table-frame scrolled" role="region" aria-label="Tasks" tabIndex={0}>
      <table class="task-table">
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">State</th>
            <th scope="col">Host</th>
            <th scope="col">GPUs</th>
            <th scope="col">Address</th>
            <th scope="col" class="number">
              Pid
            </th>
            <th scope="col">Exit</th>
            <th scope="col">Started</th>
            <th scope="col" class="number">
              Ran
            </th>
            <th scope="col">
              <span class="unseen">Log</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tasks.map((task) => (
            <tr key={`${task.task} ${task.attempt}`} id={rowId(task)} tabIndex={-1}>
              <th scope="row">
                {task.task}
                <Route job={job} task={task} />
              </th>
              <td>
                <StateBadge state={task.state} />
              </td>
              <td>{task.agent}</td>
              <td>{task.gpus.length > 0 ? task.gpus.join(', ') : NOTHING}</td>
              <td class="id">{task.address ?? NOTHING}</td>
              <td class="number">{task.pid ?? NOTHING}</td>
              <td class="exit">
                <Exit task={task} />
              </td>
              <td>
                <Moment time={task.started_at} />
              </td>
              <td class="number">{ranFor(task)}</td>
              <td>
                <a href={logOf(job, task)} aria-label={`Log of ${task.task}`}>
                  Log
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// How it reaches the parameters.
function Route({job, task}: {job: Job; task: Task}): JSX.Element | null {
  const {attempt, routes} = job.status;
  const route = task.attempt === attempt ? routes[task.task] : undefined;
  return route ? <div class="muted route">{route}</div> : null;
}

function Exit({task}: {task: Task}): JSX.Element {
  const code =
    task.signal !== null
      ? `signal ${task.signal}`
      : task.exit_code !== null
        ? `code ${task.exit_code}`
        : NOTHING;
  const isGood = task.reason === null || task.state === 'succeeded';
  return (
    <>
      {code}
      {!isGood && (
        <>
          {' '}
          <code class="reason">{task.reason}</code>
        </>
      )}
      {!isGood && task.message && <span class="muted"> {task.message}</span>}
    </>
  );
}

function ranFor(task: Task): string {
  if (task.started_at === null) return NOTHING;
  return formatDuration(secondsBetween(task.started_at, task.finished_at ?? now.value));
}

function logOf(job: Job, task: Task): string {
  return linkTo(['jobs', job.id, 'logs'], {task: task.task, attempt: String(task.attempt)});
}

function rowId(task: Task): string {
  return `task-${task.role}-${task.index}`;
}

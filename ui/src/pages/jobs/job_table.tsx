// The rows of the list. On narrow screens each row is a card (by style alone).
import type {JSX} from 'preact';

import type {Job} from '../../api/types';
import {formatDuration, secondsBetween} from '../../format/times';
import {qualityOf} from '../../format/quality';
import {formatPercent, formatRate, formatValue, NOTHING} from '../../format/numbers';
import {Labels} from '../../parts/labels';
import {Age} from '../../parts/moments';
import {ProgressBar, stepsOf} from '../../parts/progress_bar';
import {Sparkline} from '../../parts/sparkline';
import {StateBadge} from '../../parts/state_badge';
import {linkTo} from '../../route';
import {useLossHistory} from './loss_history';
import {nextSort} from './sort';

interface JobTableProps {
  jobs: Job[];
  selected: ReadonlySet<string>;
  onSelect(selected: ReadonlySet<string>): void;
  sort: string;
  onSort(sort: string): void;
}

interface Column {
  title: string;
  by?: string; // what the rows are sorted by
  isNumber?: boolean;
}

const COLUMNS: Column[] = [
  {title: 'State', by: 'state'},
  {title: 'Job', by: 'job'},
  {title: 'Progress', by: 'progress'},
  {title: 'Step', by: 'step', isNumber: true},
  {title: 'Loss', by: 'loss', isNumber: true},
  {title: 'Test metric', by: 'metric', isNumber: true},
  {title: 'Curve'},
  {title: 'Examples/s', by: 'rate', isNumber: true},
  {title: 'ETA', by: 'eta', isNumber: true},
  {title: 'Age', by: 'age', isNumber: true},
];

export function JobTable(props: JobTableProps): JSX.Element {
  const {jobs, selected, onSelect, sort, onSort} = props;
  const isAll = jobs.every((job) => selected.has(job.id));
  const select = (ids: string[], isOn: boolean) => {
    const next = new Set(selected);
    for (const id of ids) isOn ? next.add(id) : next.delete(id);
    onSelect(next);
  };
  return (
    <div class="table-frame">
      <table class="jobs">
        <thead>
          <tr>
            <th class="pick">
              <input
                type="checkbox"
                aria-label="Select all jobs in view"
                checked={isAll}
                ref={(box) => {
                  if (box) box.indeterminate = !isAll && selected.size > 0;
                }}
                onChange={() =>
                  select(
                    jobs.map((job) => job.id),
                    !isAll,
                  )
                }
              />
            </th>
            {COLUMNS.map((column) => (
              <Heading key={column.title} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <Row
              key={job.id}
              job={job}
              isSelected={selected.has(job.id)}
              onSelect={(isOn) => select([job.id], isOn)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface HeadingProps {
  column: Column;
  sort: string;
  onSort(sort: string): void;
}

function Heading({column, sort, onSort}: HeadingProps): JSX.Element {
  const {title, by} = column;
  const order = by === sort ? 'ascending' : `-${by}` === sort ? 'descending' : undefined;
  return (
    <th scope="col" class={column.isNumber ? 'number' : undefined} aria-sort={order}>
      {by === undefined ? (
        title
      ) : (
        <button
          type="button"
          class="sort"
          title={`Sort the jobs in view by ${title.toLowerCase()}`}
          onClick={() => onSort(nextSort(by, sort))}
        >
          {title}
          {order && <span aria-hidden="true">{order === 'ascending' ? '↑' : '↓'}</span>}
        </button>
      )}
    </th>
  );
}

interface RowProps {
  job: Job;
  isSelected: boolean;
  onSelect(isOn: boolean): void;
}

function Row({job, isSelected, onSelect}: RowProps): JSX.Element {
  const {status} = job;
  const name = job.spec.name ?? job.id;
  return (
    <tr data-job={job.id} class={isSelected ? 'selected' : undefined}>
      <td class="pick">
        <input
          type="checkbox"
          aria-label={`Select ${name}, ${job.id}`}
          checked={isSelected}
          onChange={(event) => onSelect(event.currentTarget.checked)}
        />
      </td>
      <td class="cell-state">
        <StateBadge state={status.state} note={status.message} />
      </td>
      <td class="cell-name">
        <a class="job-link" href={linkTo(['jobs', job.id])} title={name}>
          {name}
        </a>
        <span class="job-under">
          <span class="id">{job.id}</span>
          <Labels labels={job.spec.labels ?? {}} />
          {needsWords(job) && (
            <span class="why" title={status.message}>
              {status.message}
            </span>
          )}
        </span>
      </td>
      <td class="cell-progress">
        <span class="progress-line">
          <ProgressBar job={job} />
          <span class="percent">{formatPercent(status.progress)}</span>
        </span>
        {status.step > 0 && <span class="steps-under">step {stepsOf(job)}</span>}
      </td>
      <td class="number cell-step" data-name="step">
        {stepsOf(job)}
      </td>
      <Figure of="loss" name="loss" text={formatValue(status.loss)} />
      <QualityCell job={job} />
      <td class="cell-curve">
        <LossCurve job={job} />
      </td>
      <Figure of="rate" name="examples/s" text={formatRate(status.examples_per_second)} />
      <Figure of="eta" name={hasRun(job) ? '' : 'ETA'} text={etaOf(job)} />
      <td class="number cell-age" data-name="age">
        <Age time={status.created_at} />
      </td>
    </tr>
  );
}

// Which metric it is stands below it: jobs of one list have different ones.
function QualityCell({job}: {job: Job}): JSX.Element {
  const quality = qualityOf(job.status.metrics, 'test');
  const value = formatValue(quality?.value);
  const text = quality ? (
    <>
      {value} <span class="metric-name">{quality.name.replace(/^test /, '')}</span>
    </>
  ) : (
    value
  );
  return <Figure of="metric" name={quality?.name ?? ''} text={text} />;
}

interface FigureProps {
  of: string;
  name: string;
  text: JSX.Element | string;
}

function Figure({of, name, text}: FigureProps): JSX.Element {
  return (
    <td class={`number cell-${of}${text === NOTHING ? ' is-empty' : ''}`} data-name={name}>
      {text}
    </td>
  );
}

function LossCurve({job}: {job: Job}): JSX.Element {
  const {points, ref} = useLossHistory(job);
  return (
    <span ref={ref}>
      <Sparkline points={points} label={`loss, now ${formatValue(job.status.loss)}`} />
    </span>
  );
}

// What waits or has failed says why, right in the list.
function needsWords(job: Job): boolean {
  return job.status.state === 'failed' || job.status.state === 'queued';
}

// It has ended, and not before it began.
function hasRun({status}: Job): boolean {
  return status.started_at !== null && status.finished_at !== null;
}

// Of a job that has run: how long.
function etaOf({status}: Job): JSX.Element | string {
  if (status.eta_seconds !== null) return formatDuration(status.eta_seconds);
  if (status.started_at === null || status.finished_at === null) return NOTHING;
  const ran = secondsBetween(status.started_at, status.finished_at);
  return (
    <span class="muted" title="how long it ran">
      ran {formatDuration(ran)}
    </span>
  );
}

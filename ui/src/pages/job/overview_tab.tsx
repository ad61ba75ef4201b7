// The first look at a job: what went wrong first, its curves, its roles and its timeline.
import type {JSX} from 'preact';

import {hasEnded, type Failure, type Job, type Series} from '../../api/types';
import {Chart} from '../../charts/chart';
import {useCurves} from '../../charts/use_curves';
import {formatBytes, plural} from '../../format/numbers';
import {qualityOf, titleOf} from '../../format/quality';
import {Empty} from '../../parts/notices';
import {Icon} from '../../parts/icons';
import {linkTo} from '../../route';
import {CostPanel} from './cost_panel';
import {LogLine} from './log_line';
import type {LiveJob} from './live_job';
import {PartitionPanel} from './partition_panel';
import {restartMarks} from './restarts';
import {Timeline} from './timeline';
import {WaitingReasons} from './waiting_reasons';

export function OverviewTab({job, live}: {job: Job; live: LiveJob}): JSX.Element {
  const {status} = job;
  const series = live.series.value ?? [];
  const loss = useCurves(series, ['loss', 'test_loss']);
  const quality = qualitySeries(series);
  const qualityCurves = useCurves(series, [quality, `test_${quality}`]);
  const marks = restartMarks(job, series, 'step');
  const hasPoints = loss.length + qualityCurves.length > 0;
  return (
    <div class="overview">
      <div class="overview-main">
        {status.first_failure && <FirstFailure job={job} failure={status.first_failure} />}
        {status.state === 'queued' && <WaitingReasons job={job} />}
        {hasPoints ? (
          <>
            <section class="panel">
              <Chart title="Loss" curves={loss} axis="step" marks={marks} />
            </section>
            {qualityCurves.length > 0 && (
              <section class="panel">
                <Chart
                  title={titleOf(quality)}
                  curves={qualityCurves}
                  axis="step"
                  marks={marks}
                />
              </section>
            )}
          </>
        ) : (
          <section class="panel">
            <NoCurves job={job} isLoaded={live.series.value !== null} />
          </section>
        )}
      </div>
      <div class="overview-side">
        <Roles job={job} />
        <PartitionPanel job={job} />
        <CostPanel job={job} />
        <Timeline job={job} events={live.events.value} />
      </div>
    </div>
  );
}

// The one that the head of the page has, too; of both splits.
function qualitySeries(series: Series[]): string {
  const values = Object.fromEntries(series.map(({name}) => [name, null]));
  const quality = qualityOf(values, 'test') ?? qualityOf(values, 'batch');
  return quality?.series.replace(/^test_/, '') ?? 'accuracy';
}

function FirstFailure({job, failure}: {job: Job; failure: Failure}): JSX.Element {
  const ended =
    failure.signal !== null
      ? `signal ${failure.signal}`
      : failure.exit_code !== null
        ? `exit code ${failure.exit_code}`
        : '';
  const href = linkTo(['jobs', job.id, 'logs'], {
    task: failure.task,
    attempt: String(failure.attempt),
  });
  return (
    <section class="panel first-failure" aria-labelledby="first-failure">
      <h2 id="first-failure">
        <Icon name="warning" />
        First failure
      </h2>
      <p>
        <b>{failure.task}</b> of attempt {failure.attempt}
        {failure.agent && (
          <>
            {' '}
            on <b>{failure.agent}</b>
          </>
        )}
        : {failure.message || ended}{' '}
        {failure.reason && <code class="reason">{failure.reason}</code>}
        {ended && failure.message && <span class="muted"> {ended}</span>}
      </p>
      {failure.log_tail && (
        <div class="log-tail" tabIndex={0} role="region" aria-label="The end of its log">
          {failure.log_tail
            .trimEnd()
            .split('\n')
            .map((line, index) => (
              <LogLine
                key={index}
                number={index + 1}
                text={line}
                query=""
                isRaw={false}
                isCurrent={false}
              />
            ))}
        </div>
      )}
      <p>
        <a href={href}>The whole log</a>
      </p>
    </section>
  );
}

function NoCurves({job, isLoaded}: {job: Job; isLoaded: boolean}): JSX.Element {
  const {state} = job.status;
  if (!isLoaded) return <Empty title="Loading curves…" />;
  if (state === 'queued') return <Empty title="Curves begin when the job runs" />;
  if (state === 'starting' || state === 'running') {
    return (
      <Empty title="The first values are on their way">
        <p>The job has begun.</p>
      </Empty>
    );
  }
  return <Empty title="The job has reported no values" />;
}

function Roles({job}: {job: Job}): JSX.Element {
  const {state, roles, latest_checkpoint: checkpoint} = job.status;
  const resources = (role: string) => {
    const asked = (job.spec.roles as Record<string, unknown> | undefined)?.[role] as
      | {resources?: {cpus: number; memory_mb: number; gpus: number; gpu_name?: string}}
      | undefined;
    const each = asked?.resources;
    if (!each) return '';
    const kind = each.gpu_name ? ` (${each.gpu_name})` : '';
    const gpus = each.gpus > 0 ? `, ${plural(each.gpus, 'GPU')}${kind}` : '';
    return `${plural(each.cpus, 'cpu')}, ${formatBytes(each.memory_mb * 2 ** 20)}${gpus} each`;
  };
  return (
    <section class="panel" aria-labelledby="roles">
      <h2 id="roles">Roles</h2>
      <ul class="roles">
        {Object.entries(roles).map(([role, count]) => (
          <li key={role}>
            <b>{role}</b>
            <span class="role-cells" aria-hidden="true">
              {Array.from({length: Math.min(count.desired, 64)}, (_, index) => (
                <span key={index} class={index < count.running ? 'cell on' : 'cell'} />
              ))}
            </span>
            <span class="number">
              {hasEnded(state)
                ? plural(count.desired, 'task')
                : `${count.running} of ${count.desired} running`}
            </span>
            <span class="muted">{resources(role)}</span>
          </li>
        ))}
      </ul>
      <p class="muted">
        {attemptsOf(job)}
        {checkpoint !== null && (
          <>
            ; newest checkpoint at{' '}
            <a href={linkTo(['jobs', job.id, 'checkpoints'])}>step {checkpoint}</a>
          </>
        )}
        .
      </p>
    </section>
  );
}

function attemptsOf({status}: Job): string {
  const {attempt, restarts, state} = status;
  if (attempt === 0) return hasEnded(state) ? 'It never ran' : 'It has not run yet';
  const all = restarts.user + restarts.infra;
  if (all === 0) return `Attempt ${attempt}${attempt === 1 ? '; never restarted' : ''}`;
  const infra = `${restarts.infra} for the infrastructure`;
  return `Attempt ${attempt}; restarted ${plural(all, 'time')}, of which ${infra}`;
}

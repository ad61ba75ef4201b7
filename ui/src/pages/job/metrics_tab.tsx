// All curves of a job, in groups, beside those of other jobs if wanted.
import type {JSX} from 'preact';
import {useMemo, useState} from 'preact/hooks';

import {addressOf, get, send, wordsOf} from '../../api/client';
import {usePoll} from '../../api/poll';
import {isAtRest, type Job, type Series} from '../../api/types';
import {Chart} from '../../charts/chart';
import type {Axis} from '../../charts/curve';
import {Empty, Loading, tell} from '../../parts/notices';
import {saveFile} from '../../parts/save_file';
import {goTo, route} from '../../route';
import {chartCurves, groupsOf, type ComparedJob} from './chart_groups';
import {ComparePicker} from './compare_picker';
import {comparedIn, linkToComparison} from './comparison';
import type {LiveJob} from './live_job';
import {MetricTools, type MetricView} from './metric_tools';
import {restartMarks, startOf} from './restarts';

const POINTS = 1_500;
const CSV_POINTS = 100_000;
const OTHERS_MS = 4_000;
const SYNC_KEY = 'metrics';
const CURVES_OF_SEVERAL = 2; // of each job: what was trained on and what was tested on

export function MetricsTab({job, live}: {job: Job; live: LiveJob}): JSX.Element {
  const [view, setView] = useState<MetricView>({axis: 'step', smoothing: 0, isLog: false});
  const [range, setRange] = useState<[number, number] | null>(null);
  const compared = comparedIn(route.value.query, job.id);
  const {others, missing} = useOthers(compared);
  const zoomed = useZoomed(job, view.axis, range, live);
  const all = live.series.value;
  const own = zoomed ?? all;
  const jobs = useMemo<ComparedJob[]>(
    () => [
      {id: job.id, name: job.spec.name ?? job.id, series: own ?? [], start: startOf(job)},
      ...others,
    ],
    [own, others, job.id],
  );
  const groups = useMemo(() => groupsOf(all ?? []), [all]);
  const changeView = (change: Partial<MetricView>) => {
    if (change.axis && change.axis !== view.axis) setRange(null);
    setView({...view, ...change});
  };

  if (all === null) return <Loading what="metrics" />;
  const marks = restartMarks(job, all, view.axis);
  return (
    <div class="metrics">
      <MetricTools
        view={view}
        onView={changeView}
        isZoomed={range !== null}
        onShowAll={() => setRange(null)}
        onCsv={() => void saveCsv(job)}
      />
      <ComparePicker
        job={job}
        compared={jobs}
        onCompare={(ids) => goTo(linkToComparison([job.id, ...ids]))}
      />
      {missing.length > 0 && (
        <p class="fault" role="alert">
          Not compared, as they cannot be read: {missing.join(', ')}
        </p>
      )}
      {groups.length === 0 && (
        <Empty title="No values yet">
          <p>They come with the first steps of the job.</p>
        </Empty>
      )}
      <div class="chart-grid">
        {groups.map((group) => (
          <section key={group.title} class="panel">
            <GroupChart
              title={group.title}
              names={group.names}
              jobs={jobs}
              view={view}
              marks={marks}
              range={range}
              onRange={setRange}
            />
          </section>
        ))}
      </div>
    </div>
  );
}

interface GroupChartProps {
  title: string;
  names: string[];
  jobs: ComparedJob[];
  view: MetricView;
  marks: ReturnType<typeof restartMarks>;
  range: [number, number] | null;
  onRange(range: [number, number] | null): void;
}

function GroupChart(props: GroupChartProps): JSX.Element {
  const {names, view} = props;
  const [chosen, setChosen] = useState(props.jobs[0]?.id ?? '');
  // Many curves of each of several jobs tell nothing: one job at a time.
  const isOneByOne = props.jobs.length > 1 && names.length > CURVES_OF_SEVERAL;
  const jobs = useMemo(() => {
    if (!isOneByOne) return props.jobs;
    return [props.jobs.find((one) => one.id === chosen) ?? props.jobs[0]].filter((one) => !!one);
  }, [props.jobs, isOneByOne, chosen]);
  const curves = useMemo(
    () => chartCurves(names, jobs, view),
    [names.join(), jobs, view.axis, view.smoothing, view.isLog],
  );
  return (
    <>
      {isOneByOne && (
        <div class="chips of-job" role="group" aria-label={`${props.title} of`}>
          {props.jobs.map((one) => (
            <button
              key={one.id}
              type="button"
              class="chip"
              title={one.id}
              aria-pressed={one.id === jobs[0]?.id}
              onClick={() => setChosen(one.id)}
            >
              {one.name}
            </button>
          ))}
        </div>
      )}
      <Chart
        title={props.title}
        curves={curves}
        axis={view.axis}
        isLog={view.isLog}
        marks={jobs[0]?.id === props.jobs[0]?.id ? props.marks : []}
        range={props.range}
        onRange={props.onRange}
        syncKey={SYNC_KEY}
      />
    </>
  );
}

// The series of the jobs compared with, asked for again while one of them may go on.
function useOthers(ids: string[]): {others: ComparedJob[]; missing: string[]} {
  const [isLive, setLive] = useState(true);
  const {data} = usePoll(
    async (signal) => {
      const asked = await Promise.allSettled(ids.map((id) => readCompared(id, signal)));
      const read = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      setLive(read.some((one) => !one.isAtRest));
      return {others: read, missing: ids.filter((_, i) => asked[i]?.status === 'rejected')};
    },
    {everyMs: isLive && ids.length > 0 ? OTHERS_MS : 0, key: ids.join()},
  );
  return useMemo(() => data ?? {others: [], missing: []}, [data]);
}

async function readCompared(
  id: string,
  signal: AbortSignal,
): Promise<ComparedJob & {isAtRest: boolean}> {
  const job = await get('/v1/jobs/{id}', {path: {id}, signal});
  const metrics = await get('/v1/jobs/{id}/metrics', {
    path: {id},
    query: {max_points: POINTS},
    signal,
  });
  return {
    id: job.id,
    name: job.spec.name ?? job.id,
    series: metrics.series,
    start: startOf(job),
    isAtRest: isAtRest(job.status.state),
  };
}

// A part of the axis with all the points that the server has for it.
function useZoomed(
  job: Job,
  axis: Axis,
  range: [number, number] | null,
  live: LiveJob,
): Series[] | null {
  const key = range && axis === 'step' ? range.map(Math.round).join() : '';
  const {data} = usePoll(
    async (signal) => {
      if (!range || key === '') return null;
      const answer = await get('/v1/jobs/{id}/metrics', {
        path: {id: job.id},
        query: {
          from_step: Math.max(0, Math.floor(range[0])),
          to_step: Math.max(0, Math.ceil(range[1])),
          max_points: POINTS,
        },
        signal,
      });
      // Series without a point in the part keep what is known of them.
      return (live.series.value ?? []).map(
        (known) =>
          answer.series.find((one) => one.name === known.name && one.points.length > 1) ?? known,
      );
    },
    {everyMs: 0, key: `${job.id} ${key}`},
  );
  return key === '' ? null : data;
}

async function saveCsv(job: Job): Promise<void> {
  try {
    const address = addressOf('/v1/jobs/{id}/metrics', job, {max_points: CSV_POINTS});
    const answer = await send(address, {headers: {Accept: 'text/csv'}});
    saveFile(`${job.spec.name ?? job.id}-metrics.csv`, await answer.blob());
  } catch (error) {
    tell(wordsOf(error), 'failed');
  }
}

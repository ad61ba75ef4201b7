// One job: its head, which stays, and the tab that is open.
import type {JSX} from 'preact';
import {useEffect, useState} from 'preact/hooks';

import {ApiError} from '../../api/client';
import {returns} from '../../api/connection';
import type {Job} from '../../api/types';
import {Empty, Failed, Loading} from '../../parts/notices';
import {linkTo} from '../../route';
import {CheckpointsTab} from './checkpoints_tab';
import {JobHead} from './job_head';
import {LiveJob, type WantedSeries} from './live_job';
import {LogsTab} from './logs_tab';
import {MetricsTab} from './metrics_tab';
import {ModelTab} from './model_tab';
import {OverviewTab} from './overview_tab';
import {SpecTab} from './spec_tab';
import {TasksTab} from './tasks_tab';

const TABS = ['overview', 'metrics', 'tasks', 'logs', 'checkpoints', 'model', 'spec'] as const;

export function JobPage({id, tab}: {id: string; tab: string}): JSX.Element {
  const [attempt, setAttempt] = useState(0); // of loading this page
  const [live, setLive] = useState(() => new LiveJob(id, wantedFor(tab)));
  const returned = returns.value;
  useEffect(() => {
    // A job that was shown before the server went away stays until there is news of it.
    const next = new LiveJob(id, wantedFor(tab));
    next.job.value = live.job.value;
    next.events.value = live.events.value;
    next.series.value = live.series.value;
    setLive(next);
    void next.start();
    return () => next.close();
  }, [id, attempt, returned]);
  useEffect(() => {
    if (tab === 'metrics') live.wantAll();
  }, [tab, live]);

  const job = live.job.value;
  const error = live.error.value;
  document.title = job ? `${job.spec.name ?? id} · Trainyard` : 'Trainyard';
  if (error instanceof ApiError && error.status === 404) return <NoSuchJob id={id} />;
  if (!job && error) {
    return (
      <Failed
        what="The job cannot be shown"
        error={error}
        retry={() => setAttempt(attempt + 1)}
      />
    );
  }
  if (!job) return <Loading what="the job" />;
  return (
    <div class="page job-page">
      <JobHead job={job} onChange={() => setAttempt(attempt + 1)} />
      <nav class="tabs" aria-label="About this job">
        {TABS.map((one) => (
          <a
            key={one}
            href={linkTo(['jobs', id, ...(one === 'overview' ? [] : [one])])}
            aria-current={one === tab ? 'page' : undefined}
          >
            {one}
          </a>
        ))}
      </nav>
      <Tab tab={tab} job={job} live={live} />
    </div>
  );
}

function Tab({tab, job, live}: {tab: string; job: Job; live: LiveJob}): JSX.Element {
  switch (tab) {
    case 'overview':
      return <OverviewTab job={job} live={live} />;
    case 'metrics':
      return <MetricsTab job={job} live={live} />;
    case 'tasks':
      return <TasksTab job={job} />;
    case 'logs':
      return <LogsTab job={job} />;
    case 'checkpoints':
      return <CheckpointsTab job={job} />;
    case 'model':
      return <ModelTab job={job} />;
    case 'spec':
      return <SpecTab job={job} />;
    default:
      return (
        <Empty title={`A job has no page “${tab}”`}>
          <p>
            <a class="button" href={linkTo(['jobs', job.id])}>
              Go to its overview
            </a>
          </p>
        </Empty>
      );
  }
}

function NoSuchJob({id}: {id: string}): JSX.Element {
  return (
    <Empty title={`There is no job ${id}`}>
      <p>It may have been deleted.</p>
      <p>
        <a class="button" href={linkTo(['jobs'])}>
          Go to the jobs
        </a>
      </p>
    </Empty>
  );
}

function wantedFor(tab: string): WantedSeries {
  return tab === 'metrics' ? 'all' : 'overview';
}

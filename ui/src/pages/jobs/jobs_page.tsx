// The list of jobs, live: filtered, in pages, with what can be done to several at once.
import type {JSX} from 'preact';
import {useState} from 'preact/hooks';

import {ApiError, get} from '../../api/client';
import {usePoll} from '../../api/poll';
import {isAtRest} from '../../api/types';
import {Empty, Failed, Loading} from '../../parts/notices';
import {Icon} from '../../parts/icons';
import {linkTo, replaceWith, route} from '../../route';
import {Filters} from './filters';
import {filterOf, isFiltered, linkToJobs, type JobFilter} from './job_filter';
import {JobTable} from './job_table';
import {SelectionBar} from './selection_bar';
import {sorted} from './sort';

const PAGE_LENGTH = 50;
const LIVE_MS = 2_000;
const CALM_MS = 6_000; // nothing in view changes by itself; a new job may come

export function JobsPage(): JSX.Element {
  const filter = filterOf(route.value.query);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [everyMs, setEveryMs] = useState(LIVE_MS);
  const {data, error, refresh} = usePoll(
    async (signal) => {
      const page = await get('/v1/jobs', {query: queryOf(filter), signal});
      setEveryMs(page.items.every((job) => isAtRest(job.status.state)) ? CALM_MS : LIVE_MS);
      return page;
    },
    {everyMs, key: JSON.stringify({...filter, sort: ''})},
  );
  const jobs = sorted(data?.items ?? [], filter.sort);
  const chosen = jobs.filter((job) => selected.has(job.id));
  document.title = 'Jobs · Trainyard';

  return (
    <div class="page">
      <h1>Jobs</h1>
      <Filters filter={filter} />
      {error ? (
        <Refused error={error} retry={refresh} />
      ) : !data ? (
        <Loading what="jobs" />
      ) : jobs.length === 0 ? (
        <NoJobs filter={filter} />
      ) : (
        <JobTable
          jobs={jobs}
          selected={selected}
          onSelect={setSelected}
          sort={filter.sort}
          onSort={(sort) => replaceWith(linkToJobs({...filter, sort}))}
        />
      )}
      <Pages filter={filter} next={data?.next_page_token ?? null} />
      <SelectionBar jobs={chosen} onClear={() => setSelected(new Set())} onDone={refresh} />
    </div>
  );
}

function queryOf(filter: JobFilter): object {
  return {
    limit: PAGE_LENGTH,
    state: filter.state || undefined,
    name_contains: filter.name || undefined,
    label: filter.labels,
    page_token: filter.tokens[filter.tokens.length - 1],
  } as object;
}

// A filter that the server does not take is the reader's to mend, not to try again.
function Refused({error, retry}: {error: unknown; retry: () => void}): JSX.Element {
  if (!(error instanceof ApiError) || error.status !== 400) {
    return <Failed what="The jobs cannot be listed" error={error} retry={retry} />;
  }
  return (
    <Empty title="No job can match this filter">
      <p>{error.problem.errors[0]?.message ?? error.message}</p>
      <p>
        <a class="button" href={linkTo(['jobs'])}>
          Show all jobs
        </a>
      </p>
    </Empty>
  );
}

function NoJobs({filter}: {filter: JobFilter}): JSX.Element {
  if (isFiltered(filter) || filter.tokens.length > 0) {
    return (
      <Empty title="No job matches">
        <p>No job has this state, this in its name, and these labels.</p>
        <p>
          <a class="button" href={linkTo(['jobs'])}>
            Show all jobs
          </a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No jobs yet">
      <p>A job is one training run: a model, a dataset and how many workers it gets.</p>
      <p>
        <a class="button primary" href={linkTo(['submit'])}>
          <Icon name="plus" />
          Submit the first
        </a>
      </p>
      <p class="hint">
        or from a shell: <code>trainyard submit examples/digits-mlp.json</code>
      </p>
    </Empty>
  );
}

function Pages({filter, next}: {filter: JobFilter; next: string | null}): JSX.Element | null {
  const {tokens} = filter;
  if (tokens.length === 0 && next === null) return null;
  const newer = linkToJobs({...filter, tokens: tokens.slice(0, -1)});
  const older = next === null ? null : linkToJobs({...filter, tokens: [...tokens, next]});
  return (
    <nav class="pages" aria-label="Pages of the list">
      {tokens.length > 0 ? (
        <a class="button" href={newer}>
          <Icon name="left" />
          Newer
        </a>
      ) : (
        <span class="button off">
          <Icon name="left" />
          Newer
        </span>
      )}
      <span class="muted">page {tokens.length + 1}</span>
      {older ? (
        <a class="button" href={older}>
          Older
          <Icon name="right" />
        </a>
      ) : (
        <span class="button off">
          Older
          <Icon name="right" />
        </span>
      )}
    </nav>
  );
}

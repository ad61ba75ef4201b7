// The frame around every page: navigation, the banner about the server, and which page is shown.
import type {JSX} from 'preact';
import {useEffect, useRef} from 'preact/hooks';

import {awaySince} from './api/connection';
import {formatTime} from './format/times';
import {ClusterPage} from './pages/cluster/cluster_page';
import {JobPage} from './pages/job/job_page';
import {JobsPage} from './pages/jobs/jobs_page';
import {SubmitPage} from './pages/submit/submit_page';
import {ConfirmDialog} from './parts/confirm';
import {Icon} from './parts/icons';
import {Empty, Toasts} from './parts/notices';
import {linkTo, route} from './route';
import {ThemeSwitch} from './theme_switch';

export function App(): JSX.Element {
  const {parts} = route.value;
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={linkTo(['jobs'])}>
          <Mark />
          Trainyard
        </a>
        <nav class="places" aria-label="Pages">
          <Place to="jobs" current={parts[0] ?? 'jobs'}>
            Jobs
          </Place>
          <Place to="cluster" current={parts[0] ?? 'jobs'}>
            Cluster
          </Place>
        </nav>
        <ThemeSwitch />
        <a class="button primary" href={linkTo(['submit'])}>
          <Icon name="plus" />
          Submit a job
        </a>
      </header>
      <Banner />
      <main id="main" tabIndex={-1}>
        <Page />
      </main>
      <Toasts />
      <ConfirmDialog />
    </>
  );
}

function Page(): JSX.Element {
  const {parts} = route.value;
  const [page = 'jobs', id, tab] = parts;
  useFocusOnChange(`${page}/${id ?? ''}`);
  if (page === 'jobs' && id && parts.length <= 3) {
    return <JobPage key={id} id={id} tab={tab ?? 'overview'} />;
  }
  if (parts.length > 1) return <NoSuchPage />;
  if (page === 'jobs') return <JobsPage />;
  if (page === 'submit') return <SubmitPage key={route.value.query.get('from') ?? ''} />;
  if (page === 'cluster') return <ClusterPage />;
  return <NoSuchPage />;
}

function NoSuchPage(): JSX.Element {
  document.title = 'No such page · Trainyard';
  return (
    <Empty title="There is no such page">
      <p>
        Nothing is at <code>{location.hash}</code>.
      </p>
      <p class="buttons">
        <a class="button" href={linkTo(['jobs'])}>
          Go to the jobs
        </a>
        <a class="button" href={linkTo(['cluster'])}>
          Go to the cluster
        </a>
      </p>
    </Empty>
  );
}

// A reader who cannot see the page change is put at the beginning of the new one.
function useFocusOnChange(place: string): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    window.scrollTo(0, 0);
    document.getElementById('main')?.focus({preventScroll: true});
  }, [place]);
}

function Place(props: {to: string; current: string; children: string}): JSX.Element {
  return (
    <a href={linkTo([props.to])} aria-current={props.current === props.to ? 'page' : undefined}>
      {props.children}
    </a>
  );
}

function Banner(): JSX.Element {
  const since = awaySince.value;
  return (
    <div role="alert">
      {since && (
        <p class="banner">
          <Icon name="warning" />
          <span>
            The server cannot be reached since {formatTime(since.toISOString())}. What you see is
            as of then; jobs go on training. Trying again…
          </span>
        </p>
      )}
    </div>
  );
}

function Mark(): JSX.Element {
  return (
    <svg class="mark" width={22} height={22} viewBox="0 0 24 24" aria-hidden="true">
      <path class="mark-rail" d="M2 20h20" />
      <path d="M3 4c3.5 0 4 4.5 6.5 7.5S16 16 21 16" />
      <circle cx={21} cy={16} r={2} />
    </svg>
  );
}

function skipToMain(event: MouseEvent): void {
  event.preventDefault(); // "#main" would be taken for a page
  document.getElementById('main')?.focus();
}

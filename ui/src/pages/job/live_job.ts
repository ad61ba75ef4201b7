// One job as it happens: what it is, its timeline and its curves, from one event stream. The past
// is asked for once, thinned by the server; the stream begins where that ends.
import {signal} from '@preact/signals';

import {ApiError, addressOf, get, wasAborted} from '../../api/client';
import {serverThere} from '../../api/connection';
import {followEvents, type StreamEvent} from '../../api/event_stream';
import {hasEnded, type Job, type JobEvent, type Series} from '../../api/types';
import {isQuality} from '../../format/quality';
import {mergeSeries} from './merge_series';

const EVENTS_AT_ONCE = 500;
const EVENTS_MAX = 5_000; // of a timeline; no reader gets to its end
const POINTS = 1_500; // per series: about as many as a wide screen has columns
const POINTS_MAX = 6_000; // live points are not thinned; then all are asked for again
const REFRESH_MS = 700; // between two looks at the job while the stream has news

// What the overview shows: less than all that a job measures.
export type WantedSeries = 'overview' | 'all';

function isOfOverview(name: string): boolean {
  return name === 'loss' || name === 'test_loss' || isQuality(name);
}

export class LiveJob {
  readonly job = signal<Job | null>(null);
  readonly events = signal<JobEvent[]>([]);
  readonly series = signal<Series[] | null>(null);
  readonly error = signal<unknown>(null);

  private readonly stop = new AbortController();
  private attempt = 0; // that the points are of
  private refreshing = false;
  private refreshAgain = false;

  constructor(
    private readonly id: string,
    private wanted: WantedSeries,
  ) {}

  async start(): Promise<void> {
    this.error.value = null;
    try {
      const path = {id: this.id};
      const job = await get('/v1/jobs/{id}', {path, signal: this.stop.signal});
      this.attempt = job.status.attempt;
      this.job.value = job;
      const [, last] = await Promise.all([this.loadSeries(), this.loadEvents()]);
      // What the job became between the two answers is in the list, and comes by no stream.
      void this.refresh();
      if (!hasEnded(job.status.state)) await this.follow(last);
    } catch (error) {
      if (!wasAborted(error) && !this.stop.signal.aborted) this.error.value = error;
    }
  }

  close(): void {
    this.stop.abort();
  }

  // Shows all series from now on, not just those of the overview.
  wantAll(): void {
    if (this.wanted === 'all') return;
    this.wanted = 'all';
    void this.loadSeries().catch(() => {});
  }

  // The job anew: after an action, and when the stream has news. At most one call at a time.
  async refresh(): Promise<void> {
    this.refreshAgain = this.refreshing;
    if (this.refreshing) return;
    this.refreshing = true;
    try {
      const job = await get('/v1/jobs/{id}', {path: {id: this.id}, signal: this.stop.signal});
      if (job.version >= (this.job.value?.version ?? 0)) this.job.value = job;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) {
        this.error.value = error;
      } else {
        this.refreshAgain = true;
        await serverThere();
      }
    }
    setTimeout(() => {
      this.refreshing = false;
      if (this.refreshAgain && !this.stop.signal.aborted) void this.refresh();
    }, REFRESH_MS);
  }

  private async loadSeries(): Promise<void> {
    // A metric that the job does not show yet has no points yet: they come by the stream.
    const shown = Object.keys(this.job.value?.status.metrics ?? {}).filter(isOfOverview);
    const names = this.wanted === 'overview' ? ['loss', 'test_loss', ...shown].join(',') : '';
    const answer = await get('/v1/jobs/{id}/metrics', {
      path: {id: this.id},
      query: {max_points: POINTS, ...(names ? {names} : {})},
      signal: this.stop.signal,
    });
    this.series.value = answer.series;
  }

  // Returns the id of the last event there was.
  private async loadEvents(): Promise<number> {
    let events: JobEvent[] = [];
    let token: string | null = null;
    do {
      const page: {items: JobEvent[]; next_page_token: string | null} = await get(
        '/v1/jobs/{id}/events',
        {
          path: {id: this.id},
          query: {limit: EVENTS_AT_ONCE, ...(token ? {page_token: token} : {})},
          signal: this.stop.signal,
        },
      );
      events = events.concat(page.items);
      token = page.next_page_token;
    } while (token !== null && events.length < EVENTS_MAX);
    this.events.value = events;
    return events[events.length - 1]?.id ?? 0;
  }

  private async follow(lastEvent: number): Promise<void> {
    const lastStep = lastStepOf(this.series.value ?? []);
    const lastId = lastStep < 0 ? `${lastEvent}` : `${lastEvent}-${this.attempt}-${lastStep}`;
    const ended = new AbortController();
    this.stop.signal.addEventListener('abort', () => ended.abort());
    const stopWatching = this.job.subscribe((job) => {
      if (job && hasEnded(job.status.state)) ended.abort(); // nothing comes any more
    });
    await followEvents(addressOf('/v1/jobs/{id}/events', {id: this.id}), {
      lastId: lastId === '0' ? '' : lastId,
      signal: ended.signal,
      onEvent: (event) => this.take(event),
    });
    stopWatching();
    // The last points may have come with the end.
    if (!this.stop.signal.aborted) await Promise.all([this.loadSeries(), this.loadEvents()]);
  }

  private take(event: StreamEvent): void {
    if (event.event === 'metrics') this.takePoints(event);
    else this.takeEvent(JSON.parse(event.data) as JobEvent);
    void this.refresh();
  }

  private takeEvent(event: JobEvent): void {
    const known = this.events.value;
    if (known.some((one) => one.id === event.id)) return;
    this.events.value = [...known, event].slice(-EVENTS_MAX);
  }

  private takePoints(event: StreamEvent): void {
    const attempt = Number(event.id.split('-')[1] ?? this.attempt);
    const {series} = JSON.parse(event.data) as {series: Series[]};
    const wanted = series.filter(({name}) => this.wanted === 'all' || isOfOverview(name));
    const merged = mergeSeries(this.series.value ?? [], wanted);
    this.series.value = merged;
    const isLong = merged.some((one) => one.points.length > POINTS_MAX);
    // A new attempt may have gone back: what lies beyond its beginning is no longer so.
    if (attempt !== this.attempt || isLong) void this.loadSeries().catch(() => {});
    this.attempt = attempt;
  }
}

function lastStepOf(series: Series[]): number {
  return series.reduce(
    (last, one) => Math.max(last, one.points[one.points.length - 1]?.step ?? -1),
    -1,
  );
}

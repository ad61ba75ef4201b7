// The loss curves beside the jobs of the list: the past is asked for once, when the row comes
// into view, and then grows by the values that the list itself brings.
import type {RefObject} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';

import {get} from '../../api/client';
import type {Job} from '../../api/types';
import type {SparkPoint} from '../../parts/sparkline';

const POINTS = 48; // of a history asked for
const POINTS_MAX = 240; // after which every second one goes
const JOBS_MAX = 600;
const ASKED_AT_ONCE = 3; // browsers have six connections to a server; others need some

interface History {
  points: SparkPoint[];
  attempt: number;
  isAsked: boolean;
}

const histories = new Map<string, History>();
const queue: Array<() => Promise<void>> = [];
let running = 0;

export function useLossHistory(job: Job): {
  points: SparkPoint[];
  ref: RefObject<HTMLSpanElement>;
} {
  const ref = useRef<HTMLSpanElement>(null);
  const [, redraw] = useState(0);
  const history = historyOf(job);
  append(history, job);
  useEffect(() => {
    const element = ref.current;
    if (!element || history.isAsked || job.status.attempt === 0) return;
    const watch = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watch.disconnect();
      if (history.isAsked) return;
      history.isAsked = true;
      enqueue(async () => {
        await ask(job.id, history);
        redraw((count) => count + 1);
      });
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [history, job.status.attempt === 0]);
  return {points: history.points, ref};
}

// A new attempt goes back to a checkpoint: its curve is asked for anew.
function historyOf(job: Job): History {
  const known = histories.get(job.id);
  if (known && known.attempt === job.status.attempt) return known;
  if (histories.size > JOBS_MAX) histories.clear();
  const history = {points: [], attempt: job.status.attempt, isAsked: false};
  histories.set(job.id, history);
  return history;
}

function append(history: History, job: Job): void {
  const {step, loss} = job.status;
  const last = history.points[history.points.length - 1];
  if (loss === null || step === 0 || (last && last.step >= step)) return;
  history.points.push({step, value: loss});
  if (history.points.length > POINTS_MAX) {
    history.points = history.points.filter((_, index) => index % 2 === 0);
  }
}

async function ask(id: string, history: History): Promise<void> {
  const answer = await get('/v1/jobs/{id}/metrics', {
    path: {id},
    query: {names: 'loss', max_points: POINTS},
  });
  const past = (answer.series[0]?.points ?? []).flatMap(({step, value}) =>
    value === null ? [] : [{step, value}],
  );
  const end = past[past.length - 1]?.step ?? -1;
  history.points = [...past, ...history.points.filter((point) => point.step > end)];
}

function enqueue(task: () => Promise<void>): void {
  queue.push(task);
  runNext();
}

function runNext(): void {
  if (running >= ASKED_AT_ONCE) return;
  const task = queue.shift();
  if (!task) return;
  ++running;
  // A curve that cannot be had is left out: the list says itself what is wrong.
  void task()
    .catch(() => {})
    .finally(() => {
      --running;
      runNext();
    });
}

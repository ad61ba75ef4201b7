// The log of a task: followed, searched, downloaded.
import type {JSX} from 'preact';
import {useCallback, useEffect, useMemo, useRef, useState} from 'preact/hooks';

import {addressOf, get} from '../../api/client';
import {usePoll} from '../../api/poll';
import {hasEnded, isAtRest, type Job} from '../../api/types';
import {formatCount, plural} from '../../format/numbers';
import {Empty, Failed, Loading} from '../../parts/notices';
import {VirtualList} from '../../parts/virtual_list';
import {linkTo, replaceWith, route} from '../../route';
import {LogLine} from './log_line';
import {LogLines} from './log_lines';
import {LogSearch} from './log_search';
import {LogTools} from './log_tools';

const LINE_HEIGHT = 20;
const TAIL = 100_000;

export function LogsTab({job}: {job: Job}): JSX.Element {
  const {query} = route.value;
  const newest = job.status.attempt;
  const attempt = Number(query.get('attempt')) || newest;
  const tasks = useTasks(job, attempt);
  const task = query.get('task') ?? chiefOf(tasks);
  if (newest === 0) {
    return (
      <Empty title="No log yet">
        <p>Tasks write logs once the job has been placed.</p>
      </Empty>
    );
  }
  if (task === null) return <Loading what="tasks" />;
  const show = (next: {task?: string; attempt?: number}) =>
    replaceWith(
      linkTo(['jobs', job.id, 'logs'], {
        task: next.task ?? task,
        attempt: String(next.attempt ?? attempt),
      }),
    );
  const isLive = attempt === newest && !hasEnded(job.status.state);
  return (
    <Log
      key={`${task} ${attempt} ${isLive}`}
      job={job}
      task={task}
      attempt={attempt}
      tasks={tasks ?? [task]}
      isLive={isLive}
      onShow={show}
    />
  );
}

function useTasks(job: Job, attempt: number): string[] | null {
  const {data} = usePoll(
    async (signal) =>
      attempt === 0
        ? []
        : (
            await get('/v1/jobs/{id}/tasks', {path: {id: job.id}, query: {attempt}, signal})
          ).items.map((task) => task.task),
    {everyMs: 0, key: `${job.id} ${attempt} ${isAtRest(job.status.state)}`},
  );
  return data;
}

function chiefOf(tasks: string[] | null): string | null {
  if (tasks === null) return null;
  return (
    tasks.find((task) => task.startsWith('chief')) ??
    tasks.find((task) => task === 'worker/0') ??
    tasks[0] ??
    null
  );
}

interface LogProps {
  job: Job;
  task: string;
  attempt: number;
  tasks: string[];
  isLive: boolean;
  onShow(next: {task?: string; attempt?: number}): void;
}

function Log(props: LogProps): JSX.Element {
  const {job, task, attempt, isLive} = props;
  const log = useLogLines(job.id, task, attempt, isLive);
  const [follows, setFollows] = useState(true);
  const [isRaw, setRaw] = useState(false);
  const [isOnlyHits, setOnlyHits] = useState(false);
  const [query, setQuery] = useState('');
  const [hit, setHit] = useState<number | null>(null); // which of the hits is looked at
  const search = useMemo(() => new LogSearch(query), [query]);
  search.update(log.lines);
  const step = useCallback(
    (by: number) => {
      const count = search.hits.length;
      if (count === 0) return;
      setFollows(false);
      setHit((old) => (old === null ? (by > 0 ? 0 : count - 1) : (old + by + count) % count));
    },
    [search],
  );

  const isFiltered = isOnlyHits && query !== '';
  const count = isFiltered ? search.hits.length : log.lines.length;
  const lineOf = (index: number) => (isFiltered ? (search.hits[index] ?? 0) : index);
  const current = hit === null ? null : (search.hits[hit] ?? null);
  return (
    <div class="logs">
      <LogTools
        {...props}
        attempts={job.status.attempt}
        query={query}
        hits={search.hits.length}
        hit={hit}
        onStep={step}
        isRaw={isRaw}
        onRaw={setRaw}
        isOnlyHits={isOnlyHits}
        onOnlyHits={setOnlyHits}
        follows={follows}
        onFollow={setFollows}
        onQuery={(text) => (setQuery(text), setHit(null))}
        download={addressOf('/v1/jobs/{id}/logs', job, {task, attempt, tail: TAIL})}
      />
      {log.state === 'failed' ? (
        <Failed what="The log cannot be read" error={log.fault} />
      ) : log.state === 'loading' && count === 0 ? (
        <Loading what="the log" />
      ) : (
        <VirtualList
          count={count}
          lineHeight={LINE_HEIGHT}
          label={`Log of ${task}`}
          stickToEnd={follows}
          onStickToEnd={setFollows}
          shown={isFiltered ? hit : current}
          render={(index) => (
            <LogLine
              key={lineOf(index)}
              number={log.dropped + lineOf(index) + 1}
              text={log.lines[lineOf(index)] ?? ''}
              query={query}
              isRaw={isRaw}
              isCurrent={lineOf(index) === current}
            />
          )}
        />
      )}
      <p class="log-foot muted" role="status">
        {plural(log.lines.length, 'line')}
        {log.dropped > 0 && `, ${formatCount(log.dropped)} earlier ones left out`}
        {log.state === 'following' ? '; more come as they are written' : '; the log is complete'}
      </p>
    </div>
  );
}

function useLogLines(job: string, task: string, attempt: number, isLive: boolean): LogLines {
  const [, redraw] = useState(0);
  const log = useRef<LogLines | null>(null);
  log.current ??= new LogLines({job, task, attempt, isLive}, () => redraw((count) => count + 1));
  useEffect(() => {
    void log.current?.read();
    return () => log.current?.close();
  }, []);
  return log.current;
}

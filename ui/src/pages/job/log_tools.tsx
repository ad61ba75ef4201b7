// The tools above a log.
import type {JSX} from 'preact';

import {Check} from '../../parts/check';
import {Icon} from '../../parts/icons';
import {AttemptPicker} from './attempt_picker';

interface LogToolsProps {
  task: string;
  tasks: string[];
  attempt: number;
  attempts: number;
  onShow(next: {task?: string; attempt?: number}): void;
  query: string;
  onQuery(query: string): void;
  hits: number;
  hit: number | null;
  onStep(by: number): void;
  isOnlyHits: boolean;
  onOnlyHits(isOn: boolean): void;
  isRaw: boolean;
  onRaw(isOn: boolean): void;
  follows: boolean;
  onFollow(isOn: boolean): void;
  download: string;
}

export function LogTools(props: LogToolsProps): JSX.Element {
  const tasks = props.tasks.includes(props.task) ? props.tasks : [props.task, ...props.tasks];
  return (
    <div class="tools">
      <label class="check">
        Task
        <select
          value={props.task}
          onChange={(event) => props.onShow({task: event.currentTarget.value})}
        >
          {tasks.map((task) => (
            <option key={task} value={task}>
              {task}
            </option>
          ))}
        </select>
      </label>
      <AttemptPicker
        count={props.attempts}
        value={props.attempt}
        onPick={(attempt) => props.onShow({attempt})}
      />
      <SearchField {...props} />
      <Check isOn={props.isOnlyHits} onChange={props.onOnlyHits}>
        Only matches
      </Check>
      <Check isOn={props.follows} onChange={props.onFollow}>
        Follow
      </Check>
      <Check isOn={props.isRaw} onChange={props.onRaw}>
        Raw
      </Check>
      <a
        class="button push"
        href={props.download}
        download={`${props.task.replace('/', '-')}.log`}
      >
        <Icon name="download" />
        Download
      </a>
    </div>
  );
}

function SearchField({query, onQuery, hits, hit, onStep}: LogToolsProps): JSX.Element {
  const found =
    query === ''
      ? ''
      : hits === 0
        ? 'none'
        : hit === null
          ? `${hits.toLocaleString('en')} found`
          : `${hit + 1} of ${hits.toLocaleString('en')}`;
  return (
    <form
      class="field-with-icon log-search"
      role="search"
      onSubmit={(event) => (event.preventDefault(), onStep(1))}
    >
      <Icon name="search" />
      <input
        type="search"
        placeholder="Search"
        aria-label="Search the log"
        value={query}
        onInput={(event) => onQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !event.shiftKey) return;
          event.preventDefault();
          onStep(-1);
        }}
      />
      <span class="log-found" role="status">
        {found}
      </span>
      <button
        type="button"
        class="quiet icon-only"
        title="The match before (Shift+Enter)"
        aria-label="The match before"
        disabled={hits === 0}
        onClick={() => onStep(-1)}
      >
        <Icon name="up" />
      </button>
      <button
        type="submit"
        class="quiet icon-only"
        title="The next match (Enter)"
        aria-label="The next match"
        disabled={hits === 0}
      >
        <Icon name="down" />
      </button>
    </form>
  );
}

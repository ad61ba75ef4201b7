// One line of a log. What tasks write is JSON by line; anything else is shown as it is.
import type {JSX} from 'preact';

import {cutAtMatches} from './log_search';

interface LogLineProps {
  number: number;
  text: string;
  query: string;
  isRaw: boolean;
  isCurrent: boolean;
}

export function LogLine({number, text, query, isRaw, isCurrent}: LogLineProps): JSX.Element {
  const entry = isRaw ? null : parseEntry(text);
  return (
    <div class={isCurrent ? 'log-line current' : 'log-line'}>
      <span class="log-number" aria-hidden="true">
        {number}
      </span>
      {entry ? (
        <>
          <span class="log-time" title={entry.time}>
            {clockOf(entry.time)}
          </span>
          <span class={`log-level level-${entry.level}`}>{entry.level}</span>
          <b>
            <Marked text={entry.event} query={query} />
          </b>
          {entry.fields.map(([name, value]) => (
            <span key={name}>
              {' '}
              <span class="log-key">{name}=</span>
              <Marked text={value} query={query} />
            </span>
          ))}
        </>
      ) : (
        <Marked text={withoutControls(text)} query={query} />
      )}
    </div>
  );
}

function Marked({text, query}: {text: string; query: string}): JSX.Element {
  if (query === '') return <>{text}</>;
  return (
    <>
      {cutAtMatches(text, query).map((part, index) =>
        index % 2 === 1 ? <mark key={index}>{part}</mark> : part,
      )}
    </>
  );
}

interface Entry {
  time: string;
  level: string;
  event: string;
  fields: Array<[string, string]>;
}

const LEVELS = new Set(['debug', 'info', 'warning', 'error']);

function parseEntry(text: string): Entry | null {
  if (!text.startsWith('{')) return null;
  try {
    const {time, level, event, ...rest} = JSON.parse(text) as Record<string, unknown>;
    if (typeof time !== 'string' || typeof event !== 'string') return null;
    const fields = Object.entries(rest).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
    return {time, level: LEVELS.has(String(level)) ? String(level) : 'info', event, fields};
  } catch {
    return null;
  }
}

// "2026-11-21T02:44:45.270Z" -> "02:44:45.270", in the reader's zone.
function clockOf(time: string): string {
  const moment = new Date(time);
  if (Number.isNaN(moment.getTime())) return time;
  const two = (value: number) => String(value).padStart(2, '0');
  return (
    `${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}.` +
    String(moment.getMilliseconds()).padStart(3, '0')
  );
}

// Colour codes and the like of programs that believe to write on a terminal.
function withoutControls(text: string): string {
  return text.replace(/\u001b\[[0-9;?]*[A-Za-z]|[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
}

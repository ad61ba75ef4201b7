// Moments and ages, with the exact UTC on hover.
import type {JSX} from 'preact';

import {exactUtc, formatAge, formatTime, now} from '../format/times';
import {NOTHING} from '../format/numbers';

export function Moment({time}: {time: string | null}): JSX.Element {
  if (time === null) return <>{NOTHING}</>;
  return (
    <time dateTime={time} title={exactUtc(time)}>
      {formatTime(time)}
    </time>
  );
}

export function Age({time}: {time: string | null}): JSX.Element {
  if (time === null) return <>{NOTHING}</>;
  return (
    <time dateTime={time} title={`${formatTime(time)}, exactly ${exactUtc(time)}`}>
      {formatAge(time, now.value)}
    </time>
  );
}

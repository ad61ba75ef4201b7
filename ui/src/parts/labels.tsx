// Labels of a job, each a link to the jobs that have it.
import type {JSX} from 'preact';

import {linkTo} from '../route';

export function Labels({labels}: {labels: Record<string, string>}): JSX.Element | null {
  const pairs = Object.entries(labels);
  if (pairs.length === 0) return null;
  return (
    <span class="labels">
      {pairs.map(([key, value]) => (
        <a
          key={key}
          class="label"
          href={linkTo(['jobs'], {label: `${key}:${value}`})}
          title={`Show the jobs with ${key}:${value}`}
        >
          <span class="label-key">{key}</span>
          {value}
        </a>
      ))}
    </span>
  );
}

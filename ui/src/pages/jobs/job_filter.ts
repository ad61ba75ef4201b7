// What of the list is shown, as it stands in the page's address.
import {JOB_STATES, type JobState} from '../../api/types';
import {linkTo} from '../../route';

export interface JobFilter {
  state: JobState | '';
  name: string; // a part of it
  labels: string[]; // "key:value"
  sort: string; // by a column, "-" before it: largest first; "" = newest first
  tokens: string[]; // of the pages on the way here; none on the first
}

export function filterOf(query: URLSearchParams): JobFilter {
  const state = query.get('state') ?? '';
  return {
    state: JOB_STATES.find((one) => one === state) ?? '',
    name: query.get('name') ?? '',
    labels: query.getAll('label'),
    sort: query.get('sort') ?? '',
    tokens: query.getAll('page'),
  };
}

export function linkToJobs(filter: JobFilter): string {
  return linkTo(['jobs'], {
    state: filter.state,
    name: filter.name,
    label: filter.labels,
    sort: filter.sort,
    page: filter.tokens,
  });
}

export function isFiltered(filter: JobFilter): boolean {
  return filter.state !== '' || filter.name !== '' || filter.labels.length > 0;
}

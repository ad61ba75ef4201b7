// Which jobs are compared, as it stands in the address: #/jobs/j-1/metrics?compare=j-2&compare=j-3.
import {linkTo} from '../../route';

export const MOST_COMPARED = 8; // there are eight colours

export function linkToComparison([first = '', ...others]: string[]): string {
  return linkTo(['jobs', first, 'metrics'], {compare: others});
}

// The others, each once.
export function comparedIn(query: URLSearchParams, own: string): string[] {
  const ids = new Set(query.getAll('compare').filter((id) => id !== '' && id !== own));
  return [...ids].slice(0, MOST_COMPARED - 1);
}

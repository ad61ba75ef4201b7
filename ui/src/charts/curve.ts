// A curve to be drawn, and what is done to its values first.
import type {Series} from '../api/types';

export type Axis = 'step' | 'time';

export interface Curve {
  label: string;
  color: string; // a custom property, "--curve-1"
  isDashed: boolean; // measured on the test split, by convention
  isFaint: boolean; // the unsmoothed values behind a smoothed curve
  xs: number[];
  ys: Array<number | null>;
}

// Points of a series on an axis: steps, or seconds since `start`.
export function coordinates(
  series: Series,
  axis: Axis,
  start: number,
): {xs: number[]; ys: Array<number | null>} {
  const xs = series.points.map(({step, time}) =>
    axis === 'step' ? step : (new Date(time).getTime() - start) / 1000,
  );
  // Several steps of one instant: an axis must ascend.
  if (axis === 'time') {
    for (let i = 1; i < xs.length; ++i) xs[i] = Math.max(xs[i] ?? 0, (xs[i - 1] ?? 0) + 1e-4);
  }
  return {xs, ys: series.points.map(({value}) => value)};
}

// Exponential moving average without the pull of its beginning. Gaps stay gaps.
export function smooth(ys: Array<number | null>, weight: number): Array<number | null> {
  if (weight <= 0) return ys;
  let sum = 0;
  let share = 0;
  return ys.map((y) => {
    if (y === null) return null;
    sum = sum * weight + y * (1 - weight);
    share = share * weight + (1 - weight);
    return sum / share;
  });
}

// What a logarithmic axis cannot show is left out.
export function positive(ys: Array<number | null>): Array<number | null> {
  return ys.map((y) => (y !== null && y > 0 ? y : null));
}

// A curve the size of a word.
import type {JSX} from 'preact';

export interface SparkPoint {
  step: number;
  value: number;
}

const WIDTH = 88;
const HEIGHT = 22;
const MARGIN = 2;

export function Sparkline({points, label}: {points: SparkPoint[]; label: string}): JSX.Element {
  if (points.length < 2)
    return <svg class="spark" width={WIDTH} height={HEIGHT} aria-hidden="true" />;
  const first = points[0] as SparkPoint;
  const last = points[points.length - 1] as SparkPoint;
  let lowest = Infinity;
  let highest = -Infinity;
  for (const {value} of points) {
    lowest = Math.min(lowest, value);
    highest = Math.max(highest, value);
  }
  const across = (step: number) =>
    MARGIN + ((step - first.step) / (last.step - first.step || 1)) * (WIDTH - 2 * MARGIN);
  const down = (value: number) =>
    MARGIN + ((highest - value) / (highest - lowest || 1)) * (HEIGHT - 2 * MARGIN);
  const line = points.map(
    (point) => `${across(point.step).toFixed(1)},${down(point.value).toFixed(1)}`,
  );
  return (
    <svg
      class="spark"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      <polyline points={line.join(' ')} />
      <circle cx={across(last.step)} cy={down(last.value)} r={1.8} />
    </svg>
  );
}

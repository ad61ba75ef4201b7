// Series of a job as the curves of a chart, made anew only when they change.
import {useMemo} from 'preact/hooks';

import type {Series} from '../api/types';
import {curveColor} from './colors';
import {coordinates, type Curve} from './curve';

// Of the names those that there are; the second is that of the test split.
export function useCurves(series: Series[], names: string[]): Curve[] {
  const found = names.map((name) => series.find((one) => one.name === name));
  return useMemo(
    () =>
      found.flatMap((one, index) =>
        !one
          ? []
          : [
              {
                label: one.name.startsWith('test_') ? 'test' : 'train',
                color: curveColor(index),
                isDashed: index > 0,
                isFaint: false,
                ...coordinates(one, 'step', 0),
              },
            ],
      ),
    found,
  );
}

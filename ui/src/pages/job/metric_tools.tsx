// How the curves are shown: axis, smoothing, scale; and the CSV of them all.
import type {JSX} from 'preact';

import type {Axis} from '../../charts/curve';
import {Check} from '../../parts/check';
import {Icon} from '../../parts/icons';

export interface MetricView {
  axis: Axis;
  smoothing: number; // 0 to 0.99: weight of the past
  isLog: boolean;
}

interface MetricToolsProps {
  view: MetricView;
  onView(change: Partial<MetricView>): void;
  isZoomed: boolean;
  onShowAll(): void;
  onCsv(): void;
}

export function MetricTools(props: MetricToolsProps): JSX.Element {
  const {view, onView} = props;
  return (
    <div class="tools" role="toolbar" aria-label="How the curves are shown">
      <div class="segments" role="group" aria-label="Axis">
        {(['step', 'time'] as const).map((axis) => (
          <button
            key={axis}
            type="button"
            aria-pressed={view.axis === axis}
            onClick={() => onView({axis})}
          >
            {axis === 'step' ? 'Steps' : 'Time'}
          </button>
        ))}
      </div>
      <label class="check">
        Smoothing
        <input
          type="range"
          min={0}
          max={0.99}
          step={0.01}
          value={view.smoothing}
          onInput={(event) => onView({smoothing: event.currentTarget.valueAsNumber})}
        />
        <output>{view.smoothing.toFixed(2)}</output>
      </label>
      <Check isOn={view.isLog} onChange={(isLog) => onView({isLog})}>
        Log scale
      </Check>
      {props.isZoomed ? (
        <button type="button" onClick={props.onShowAll}>
          Show all
        </button>
      ) : (
        <span class="hint">Drag over a chart to zoom in</span>
      )}
      <button type="button" class="push" onClick={props.onCsv}>
        <Icon name="download" />
        CSV
      </button>
    </div>
  );
}

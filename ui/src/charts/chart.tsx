// A chart of curves over one axis: zoom by dragging, a double click shows all again. The values
// under the cursor stand in its legend.
import type {JSX} from 'preact';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import uPlot from 'uplot';

import {formatTick, formatValue} from '../format/numbers';
import {formatDuration} from '../format/times';
import {paints} from '../theme';
import {chartPng} from './chart_png';
import {resolveColor} from './colors';
import type {Axis, Curve} from './curve';
import {saveFile} from '../parts/save_file';
import {Icon} from '../parts/icons';

const FEW = 30;

export interface Mark {
  x: number;
  label: string;
}

export interface ChartProps {
  title: string;
  curves: Curve[];
  axis: Axis;
  isLog?: boolean;
  marks?: Mark[];
  height?: number;
  range?: [number, number] | null; // of the axis; null = all there is
  onRange?(range: [number, number] | null): void;
  syncKey?: string; // charts of one key share their cursor
}

export function Chart(props: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const data = useMemo(() => align(props.curves), [props.curves]);
  const shape = JSON.stringify([
    props.curves.map((one) => [
      one.label,
      one.color,
      one.isDashed,
      one.isFaint,
      one.ys.length <= FEW,
    ]),
    props.isLog,
    props.axis,
    paints.value,
  ]);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(optionsOf(latest, element, setAt), data, element);
    plot.current = made;
    const sizes = new ResizeObserver(() =>
      made.setSize({width: element.clientWidth, height: latest.current.height ?? 220}),
    );
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    const made = plot.current;
    if (!made) return;
    made.setData(data, false);
    const [from, to] = props.range ?? extent(data[0]);
    made.setScale('x', {min: from, max: to});
  }, [data, shape, props.range?.[0], props.range?.[1], props.marks?.length]);

  const save = async () => {
    if (!plot.current) return;
    saveFile(`${props.title}.png`, await chartPng(plot.current, props.title, props.curves));
  };
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{props.title}</span>
        <Legend curves={props.curves} data={data} at={at} axis={props.axis} />
        <button
          type="button"
          class="quiet icon-only"
          title="Save as PNG"
          onClick={save}
          aria-label={`Save the chart ${props.title} as PNG`}
        >
          <Icon name="download" />
        </button>
      </figcaption>
      <div ref={box} class="plot" role="img" aria-label={wordsFor(props)} />
    </figure>
  );
}

interface LegendProps {
  curves: Curve[];
  data: uPlot.AlignedData;
  at: number | null;
  axis: Axis;
}

function Legend({curves, data, at, axis}: LegendProps): JSX.Element {
  const x = at === null ? null : data[0][at];
  return (
    <span class="legend">
      {x !== null && x !== undefined && (
        <span class="legend-x">{axis === 'step' ? `step ${x}` : formatDuration(x)}</span>
      )}
      {curves.map((curve, index) =>
        curve.isFaint ? null : (
          <span key={curve.label} class="legend-item">
            <svg width={16} height={8} aria-hidden="true">
              <path
                d="M0 4h16"
                style={{stroke: `var(${curve.color})`}}
                stroke-dasharray={curve.isDashed ? '4 3' : undefined}
              />
            </svg>
            {curve.label} <b>{formatValue(valueAt(data[index + 1], at))}</b>
          </span>
        ),
      )}
    </span>
  );
}

// The value there or the last before it, as series are not all reported at the same steps;
// without a cursor the last of all.
function valueAt(
  ys: ArrayLike<number | null | undefined> | undefined,
  at: number | null,
): number | null {
  for (let i = at ?? (ys?.length ?? 0) - 1; ys && i >= 0; --i) {
    const y = ys[i];
    if (y !== null && y !== undefined) return y;
  }
  return null;
}

function align(curves: Curve[]): uPlot.AlignedData {
  if (curves.length === 0) return [[]];
  return uPlot.join(curves.map((curve) => [curve.xs, curve.ys] as uPlot.AlignedData));
}

function extent(xs: ArrayLike<number>): [number, number] {
  const first = xs[0] ?? 0;
  const last = xs[xs.length - 1] ?? 1;
  return first === last ? [first - 1, last + 1] : [first, last];
}

function wordsFor({title, curves}: ChartProps): string {
  const values = curves
    .filter((curve) => !curve.isFaint)
    .map(({label, ys}) => `${label} ${formatValue(ys[ys.length - 1])}`);
  return `${title}: ${values.join(', ') || 'no values yet'}`;
}

function optionsOf(
  latest: {current: ChartProps},
  element: HTMLElement,
  setAt: (at: number | null) => void,
): uPlot.Options {
  const {curves, axis, isLog, syncKey} = latest.current;
  const ink = resolveColor('--muted');
  const grid = {stroke: resolveColor('--grid'), width: 1};
  const font = `11px ${getComputedStyle(element).fontFamily}`;
  const axes = {stroke: ink, font, grid, ticks: {...grid, size: 4}};
  return {
    width: element.clientWidth,
    height: latest.current.height ?? 220,
    legend: {show: false},
    padding: [10, 28, 0, 0], // right: half of the longest label, which stands under the last tick
    cursor: {
      drag: {x: true, y: false, setScale: false},
      points: {size: 6},
      ...(syncKey ? {sync: {key: syncKey}} : {}),
    },
    scales: {x: {time: false}, y: {distr: isLog ? 3 : 1}},
    axes: [
      {
        ...axes,
        size: 28,
        values: (_, ticks) =>
          ticks.map((tick) => (axis === 'step' ? stepText(tick) : formatDuration(tick))),
      },
      {
        ...axes,
        size: 56,
        values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : formatTick(tick))),
      },
    ],
    series: [
      {},
      ...curves.map((curve): uPlot.Series => ({
        stroke: resolveColor(curve.color, curve.isFaint ? 0.28 : 1),
        width: curve.isFaint ? 1 : 1.75,
        ...(curve.isDashed ? {dash: [5, 4]} : {}),
        spanGaps: true,
        // Few values are dots: a curve of one would be nothing.
        points: {show: curve.ys.filter((y) => y !== null).length <= FEW, size: 5},
      })),
    ],
    hooks: {
      setCursor: [(plot) => setAt(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          if (plot.select.width < 4) return;
          const left = plot.posToVal(plot.select.left, 'x');
          const right = plot.posToVal(plot.select.left + plot.select.width, 'x');
          plot.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
          latest.current.onRange?.([left, right]);
        },
      ],
      ready: [
        (plot) => plot.over.addEventListener('dblclick', () => latest.current.onRange?.(null)),
      ],
      draw: [(plot) => drawMarks(plot, latest.current.marks ?? [])],
    },
  };
}

function stepText(step: number): string {
  if (step >= 1e6) return `${+(step / 1e6).toFixed(2)}M`;
  return step >= 1e4 ? `${+(step / 1e3).toFixed(1)}k` : String(+step.toFixed(2));
}

// A line where something happened: a restart.
function drawMarks(plot: uPlot, marks: Mark[]): void {
  const {ctx, bbox} = plot;
  ctx.save();
  ctx.strokeStyle = resolveColor('--mark');
  ctx.fillStyle = resolveColor('--mark');
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  for (const mark of marks) {
    const x = plot.valToPos(mark.x, 'x', true);
    if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(mark.label, x + 4 * devicePixelRatio, bbox.top + 2 * devicePixelRatio);
  }
  ctx.restore();
}

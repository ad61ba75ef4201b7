// A line chart as SVG, drawn by hand: curves over steps, and the values under the pointer in the
// legend.

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = {left: 52, right: 20, top: 8, bottom: 22};

export function formatNumber(value) {
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-4) return value.toExponential(2);
  if (size < 10) return value.toFixed(4);
  return value.toLocaleString('en', {maximumFractionDigits: size < 1000 ? 1 : 0});
}

// About `count` round numbers from low to high.
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const [factor] = [[1, 1.5], [2, 3.5], [5, 7.5], [10, Infinity]]
    .find(([, end]) => rough < end * power);
  const step = factor * power;
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; ++i) found.push(i * step);
  return found;
}

function tickLabel(value) {
  const rounded = Number(value.toPrecision(6));
  return Math.abs(rounded) >= 1000 ? rounded.toLocaleString('en') : String(rounded);
}

function add(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function rangeOf(series) {
  const points = series.flatMap((each) => each.points);
  const steps = points.map((point) => point.step);
  const values = points.map((point) => point.value);
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const firstStep = Math.min(...steps);
  return {firstStep, lastStep: Math.max(...steps, firstStep + 1), low, high};
}

function nearest(points, step) {
  return points.reduce((best, point) =>
    Math.abs(point.step - step) < Math.abs(best.step - step) ? point : best);
}

export class LineChart {
  // `names`: {metric name: 'train' | 'test'}, in the order of the legend.
  constructor(container, names) {
    this.names = names;
    this.series = [];
    this.legend = document.createElement('div');
    this.legend.className = 'legend';
    this.svg = document.createElementNS(SVG, 'svg');
    container.replaceChildren(this.legend, this.svg);
    this.svg.addEventListener('pointermove', (event) => this.draw(event.offsetX));
    this.svg.addEventListener('pointerleave', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  show(series) {
    this.series = series
      .filter((each) => each.name in this.names)
      .map((each) => ({...each, points: each.points.filter((p) => Number.isFinite(p.value))}))
      .filter((each) => each.points.length > 0);
    this.draw();
  }

  draw(pointer) {
    this.svg.replaceChildren();
    this.legend.replaceChildren();
    const width = this.svg.clientWidth;
    const height = this.svg.clientHeight;
    if (width <= MARGIN.left + MARGIN.right) return;
    if (this.series.length === 0) {
      add(this.svg, 'text', {x: MARGIN.left, y: height / 2}, 'No measurements yet');
      return;
    }
    const range = rangeOf(this.series);
    const inner = {
      width: width - MARGIN.left - MARGIN.right,
      height: height - MARGIN.top - MARGIN.bottom,
    };
    const scale = {
      x: (step) => MARGIN.left +
        inner.width * (step - range.firstStep) / (range.lastStep - range.firstStep),
      y: (value) => MARGIN.top + inner.height * (range.high - value) / (range.high - range.low),
    };
    this.drawAxes(range, scale, width, height);
    this.drawCurves(scale);
    const inside = pointer >= MARGIN.left && pointer <= width - MARGIN.right;
    const step = inside
      ? range.firstStep + (pointer - MARGIN.left) / inner.width * (range.lastStep - range.firstStep)
      : range.lastStep;
    if (inside) this.drawCursor(scale, step, height);
    this.drawLegend(step);
  }

  drawAxes(range, scale, width, height) {
    for (const value of ticks(range.low, range.high, 4)) {
      const y = scale.y(value);
      const ends = {x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y};
      add(this.svg, 'line', {class: 'grid', ...ends});
      const label = {x: MARGIN.left - 8, y: y + 4, 'text-anchor': 'end'};
      add(this.svg, 'text', label, tickLabel(value));
    }
    for (const step of ticks(range.firstStep, range.lastStep, Math.max(2, width / 120))) {
      const label = {x: scale.x(step), y: height - 6, 'text-anchor': 'middle'};
      add(this.svg, 'text', label, tickLabel(step));
    }
  }

  drawCurves(scale) {
    for (const {name, points} of this.series) {
      const path = points.map(({step, value}) => [scale.x(step), scale.y(value)]
        .map((pixels) => pixels.toFixed(1)).join(','));
      add(this.svg, 'polyline', {class: `curve ${this.names[name]}`, points: path.join(' ')});
      if (points.length === 1) this.drawDot(scale, name, points[0]);
    }
  }

  drawDot(scale, name, point) {
    const at = {cx: scale.x(point.step), cy: scale.y(point.value), r: 4};
    add(this.svg, 'circle', {class: `dot ${this.names[name]}`, ...at});
  }

  drawCursor(scale, step, height) {
    const at = nearest(this.series.flatMap((each) => each.points), step).step;
    const x = scale.x(at);
    const ends = {x1: x, x2: x, y1: MARGIN.top, y2: height - MARGIN.bottom};
    add(this.svg, 'line', {class: 'cursor', ...ends});
    for (const {name, points} of this.series) this.drawDot(scale, name, nearest(points, at));
  }

  drawLegend(step) {
    for (const {name, points} of this.series) {
      const point = nearest(points, step);
      const item = document.createElement('span');
      item.className = this.names[name];
      const at = point.step.toLocaleString('en');
      item.textContent = `${name.replace('_', ' ')} ${formatNumber(point.value)} at step ${at}`;
      this.legend.append(item);
    }
  }
}

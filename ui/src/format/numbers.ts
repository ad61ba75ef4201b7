// Numbers as people read them. null and undefined are "–": there is nothing to show.

export const NOTHING = '–';

const UNITS = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const;

type Maybe = number | null | undefined;

// 0.0672432 -> "0.0672", 12345.6 -> "12,346", 1e-9 -> "1.00e-9": four digits that mean something.
export function formatValue(value: Maybe): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(2);
  if (size >= 1000) return Math.round(value).toLocaleString('en');
  if (Number.isInteger(value)) return String(value);
  return value
    .toPrecision(4)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');
}

export function formatCount(value: Maybe): string {
  return value === null || value === undefined ? NOTHING : value.toLocaleString('en');
}

// 166274.5 -> "166 k"
export function formatRate(value: Maybe): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  for (const [size, unit] of UNITS) {
    if (value >= size) return `${(value / size).toPrecision(3)} ${unit}`;
  }
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

// A tick of an axis, where there is little room: 1500000 -> "1.5 M", 0.25 -> "0.25"
export function formatTick(value: number): string {
  const unit = UNITS.find(([size]) => Math.abs(value) >= size);
  if (!unit || Math.abs(value) < 1e5) return formatValue(value);
  return `${Number((value / unit[0]).toPrecision(4))} ${unit[1]}`;
}

export function formatPercent(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 1) return '<1 %';
  return `${Math.floor(percent)} %`; // 100 % is said when all is done, not a step before
}

export function formatBytes(bytes: Maybe): string {
  if (bytes === null || bytes === undefined) return NOTHING;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes;
  let unit = 0;
  for (; size >= 1024 && unit < units.length - 1; ++unit) size /= 1024;
  const text = unit === 0 ? String(size) : size.toPrecision(size >= 1000 ? 4 : 3);
  return `${text.replace(/\.0+$/, '')} ${units[unit]}`;
}

// 2048 MB as the API counts them -> "2 GiB"
export function formatMemory(megabytes: Maybe): string {
  return megabytes === null || megabytes === undefined
    ? NOTHING
    : formatBytes(megabytes * 2 ** 20);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

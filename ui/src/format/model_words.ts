// What a model's layers say, in words and numbers. null is what only the data's files tell.
import type {ModelLayer} from '../api/types';
import {formatCount, formatRate, NOTHING} from './numbers';

type Maybe = number | null | undefined;

export const UNKNOWN = '?';
export const FILES_TELL = 'the data’s files tell';

// [28, 28, null] -> "28 × 28 × ?"
export function formatShape(shape: ModelLayer['shape']): string {
  if (!shape) return UNKNOWN;
  if (shape.length === 0) return 'one number';
  return shape.map((size) => (size === null ? UNKNOWN : formatCount(size as number))).join(' × ');
}

// 158800 -> "159 kFLOP"
export function formatFlops(flops: Maybe): string {
  if (flops === null || flops === undefined) return NOTHING;
  return /\s/.test(formatRate(flops)) ? `${formatRate(flops)}FLOP` : `${flops} FLOP`;
}

// Of all parameters: 0.98729 -> "98.7 %"
export function formatShare(share: number): string {
  return share > 0 && share < 0.0005 ? '<0.1 %' : `${(share * 100).toFixed(1)} %`;
}

// As a job's memory_mb counts: 1616880 -> "1.54 MiB"
export function formatMebibytes(bytes: Maybe): string {
  if (bytes === null || bytes === undefined) return NOTHING;
  const size = bytes / 2 ** 20;
  return `${size >= 100 ? formatCount(Math.round(size)) : Number(size.toPrecision(3))} MiB`;
}

// {units: 100, activation: "relu", bias: true} -> "units 100, activation relu, bias"; what is off
// or has parts of its own is left to the details.
export function argumentWords(layer: ModelLayer): string {
  return Object.entries(layer.arguments ?? {})
    .map(([name, value]) => wordsOfArgument(name.replace(/_/g, ' '), value))
    .filter((words) => words !== '')
    .join(', ');
}

function wordsOfArgument(name: string, value: unknown): string {
  if (value === true) return name;
  if (typeof value === 'number') return `${name} ${value}`;
  if (typeof value === 'string') return value === 'none' ? '' : `${name} ${value}`;
  const isPlain = Array.isArray(value) && value.every((one) => typeof one === 'number');
  if (!isPlain || value.length === 0 || value.every((one) => one === 0)) return '';
  const isOneValue = value.every((one) => one === value[0]);
  return `${name} ${isOneValue ? value[0] : value.join(' × ')}`;
}

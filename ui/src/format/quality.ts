// Which of a job's metrics says, beside the loss, how good its model is: what a list has room for.
// The client has the same order (api/client/quality.cpp).
import {sentence} from './words';

const QUALITIES = [
  /^recall_\d+$/,
  /^auc$/,
  /^accuracy$/,
  /^sequence_accuracy$/,
  /^top_\d+$/,
  /^edit_distance$/,
  /^perplexity$/,
  /^mean_absolute_error$/,
];

export type Split = 'test' | 'batch';

export interface Quality {
  name: string; // "test recall 10"
  series: string; // "test_recall_10"
  value: number | null;
}

// Of either split.
export function isQuality(series: string): boolean {
  return placeOf(series.replace(/^test_/, '')) < QUALITIES.length;
}

// Of these metrics of this split; null where they have none.
export function qualityOf(metrics: Record<string, number | null>, split: Split): Quality | null {
  const isOfTest = (series: string) => series.startsWith('test_');
  const [first] = Object.keys(metrics)
    .filter((series) => isQuality(series) && isOfTest(series) === (split === 'test'))
    .sort(inOrder);
  if (first === undefined) return null;
  const name = `${split} ${first.replace(/^test_/, '').replaceAll('_', ' ')}`;
  return {name, series: first, value: metrics[first] ?? null};
}

// "test_recall_10" -> "Test recall 10", "test_auc" -> "Test AUC"
export function titleOf(series: string): string {
  return sentence(series.replaceAll('_', ' ').replace(/\bauc\b/, 'AUC'));
}

// As qualityOf() prefers them.
export function inOrder(a: string, b: string): number {
  return (
    placeOf(a.replace(/^test_/, '')) - placeOf(b.replace(/^test_/, '')) || a.localeCompare(b)
  );
}

function placeOf(name: string): number {
  const place = QUALITIES.findIndex((one) => one.test(name));
  return place < 0 ? QUALITIES.length : place;
}

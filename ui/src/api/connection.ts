// Is the server there? Calls report what they saw; while it is away, this asks after its health
// with growing pauses, and tells all who wait when it is back.
import {signal} from '@preact/signals';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;

// Since when the server cannot be reached; null = it can.
export const awaySince = signal<Date | null>(null);

// How often it has come back: whoever shows data asks anew when this grows.
export const returns = signal(0);

let waiting: Array<() => void> = [];

export function reportAway(): void {
  if (awaySince.value !== null) return;
  awaySince.value = new Date();
  void probe(FIRST_PAUSE_MS);
}

export function reportAnswer(): void {
  if (awaySince.value === null) return;
  awaySince.value = null;
  returns.value += 1;
  const told = waiting;
  waiting = [];
  for (const tell of told) tell();
}

// Fulfilled once the server is there: at once, when it is not known to be away.
export function serverThere(): Promise<void> {
  if (awaySince.value === null) return Promise.resolve();
  return new Promise((resolve) => waiting.push(resolve));
}

async function probe(pauseMs: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
  if (awaySince.value === null) return;
  try {
    const answer = await fetch('/healthz', {cache: 'no-store'});
    if (answer.ok) return reportAnswer();
  } catch {
    // Still away: that is what is being found out here.
  }
  void probe(Math.min(pauseMs * 2, LONGEST_PAUSE_MS));
}

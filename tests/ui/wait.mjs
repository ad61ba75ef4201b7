// Waiting for a condition, until a deadline.
import {setTimeout as rest} from 'node:timers/promises';

const DEADLINE_MS = 120_000;
const BETWEEN_TWO_LOOKS_MS = 50;

export async function until(what, isSo, deadlineMs = DEADLINE_MS) {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const found = await isSo();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await rest(BETWEEN_TWO_LOOKS_MS);
  }
}

// Server-sent events read with fetch: unlike EventSource it can begin behind what is already
// known, by a Last-Event-ID of its own. It reconnects until it is aborted or the server says that
// there is nothing to follow: by an "end" event, or by a 204.
import {AwayError, ApiError, send, wasAborted} from './client';
import {reportAway, serverThere} from './connection';

export interface StreamEvent {
  id: string;
  event: string;
  data: string;
}

export interface FollowOptions {
  lastId: string;
  signal: AbortSignal;
  onEvent(event: StreamEvent): void;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

export async function followEvents(address: string, options: FollowOptions): Promise<void> {
  let lastId = options.lastId;
  let pauseMs = FIRST_PAUSE_MS;
  const onEvent = (event: StreamEvent) => {
    if (event.id) lastId = event.id;
    pauseMs = FIRST_PAUSE_MS;
    options.onEvent(event);
  };
  while (!options.signal.aborted) {
    try {
      if ((await readOnce(address, lastId, options.signal, onEvent)) === 'ended') return;
    } catch (error) {
      if (options.signal.aborted || wasAborted(error)) return;
      if (error instanceof ApiError && error.status === 400 && lastId !== '') lastId = '';
      else if (error instanceof ApiError && error.status !== 429 && error.status < 500)
        throw error;
      else if (!(error instanceof AwayError) && !(error instanceof ApiError)) reportAway();
    }
    if (options.signal.aborted) return;
    await pause(pauseMs * (0.75 + Math.random() / 2), options.signal);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    await serverThere();
  }
}

async function readOnce(
  address: string,
  lastId: string,
  signal: AbortSignal,
  onEvent: (event: StreamEvent) => void,
): Promise<'ended' | 'broken'> {
  const headers: Record<string, string> = {Accept: 'text/event-stream'};
  if (lastId !== '') headers['Last-Event-ID'] = lastId;
  const answer = await send(address, {headers, signal});
  if (answer.status === 204) return 'ended';
  if (!answer.body) return 'broken';
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return 'broken';
    text += value;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event?.event === 'end') {
        await reader.cancel();
        return 'ended';
      }
      if (event) onEvent(event);
    }
  }
}

// "id: 1\nevent: transition\ndata: {…}" -> its parts; null for a comment that only keeps the
// line.
export function parseBlock(block: string): StreamEvent | null {
  const event: StreamEvent = {id: '', event: 'message', data: ''};
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, '');
    const name = line.slice(0, colon);
    if (name === 'id') event.id = value;
    else if (name === 'event') event.event = value;
    else if (name === 'data') event.data += event.data ? `\n${value}` : value;
  }
  return event.data ? event : null;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), {once: true});
  });
}

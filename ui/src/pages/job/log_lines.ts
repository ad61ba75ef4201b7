// The lines of a task's log as they come: read as a stream, kept up to a bound, announced once a
// frame.
import {ApiError, AwayError, addressOf, send, wasAborted, wordsOf} from '../../api/client';
import {reportAway, serverThere} from '../../api/connection';

export interface LogSource {
  job: string;
  task: string;
  attempt: number;
  isLive: boolean; // may the task still write?
}

export type LogState = 'loading' | 'following' | 'whole' | 'failed';

const TAIL = 100_000; // as many as the server gives
const LINES_MAX = 200_000;
const RETRY_MS = 1_000;

export class LogLines {
  lines: string[] = [];
  dropped = 0; // lines that were here and are not any more
  state: LogState = 'loading';
  fault = '';

  private readonly stop = new AbortController();
  private frame = 0;
  private rest = '';

  constructor(
    private readonly source: LogSource,
    private readonly onChange: () => void,
  ) {}

  close(): void {
    this.stop.abort();
    cancelAnimationFrame(this.frame);
  }

  async read(): Promise<void> {
    for (;;) {
      try {
        await this.readOnce();
        this.state = 'whole';
        return this.announce();
      } catch (error) {
        if (this.stop.signal.aborted || wasAborted(error)) return;
        if (error instanceof ApiError && error.status !== 429 && error.status < 500) {
          this.state = 'failed';
          this.fault = wordsOf(error);
          return this.announce();
        }
        if (!(error instanceof AwayError) && !(error instanceof ApiError)) reportAway();
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      await serverThere();
      if (this.stop.signal.aborted) return;
    }
  }

  private async readOnce(): Promise<void> {
    const {job, task, attempt, isLive} = this.source;
    const query = {task, attempt, tail: TAIL, ...(isLive ? {follow: true} : {})};
    const answer = await send(addressOf('/v1/jobs/{id}/logs', {id: job}, query), {
      signal: this.stop.signal,
    });
    // After a lost connection the log is read again from its beginning.
    this.lines = [];
    this.rest = '';
    this.state = isLive ? 'following' : 'loading';
    this.announce();
    if (!answer.body) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      this.take(value);
    }
    if (this.rest !== '') this.take('\n');
  }

  private take(text: string): void {
    const pieces = (this.rest + text).split('\n');
    this.rest = pieces.pop() ?? '';
    for (const piece of pieces) this.lines.push(piece);
    if (this.lines.length > LINES_MAX) {
      const excess = this.lines.length - LINES_MAX / 2;
      this.lines = this.lines.slice(excess);
      this.dropped += excess;
    }
    this.announce();
  }

  private announce(): void {
    if (this.frame !== 0 || this.stop.signal.aborted) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.onChange();
    });
  }
}

// A hook that keeps an answer fresh: asks now, then again some time after each answer; not while
// the page is hidden, and at once when it is seen again or the server has come back.
import {useEffect, useRef, useState} from 'preact/hooks';

import {AwayError, wasAborted} from './client';
import {returns} from './connection';

export interface Polled<T> {
  data: T | null;
  error: unknown;
  isFirst: boolean; // no answer of any kind yet
  refresh(): void;
}

export interface PollOptions {
  everyMs: number; // 0 = ask once
  key: string; // another key is another question: the old answer is dropped
}

type Ask<T> = (signal: AbortSignal) => Promise<T>;

export function usePoll<T>(ask: Ask<T>, options: PollOptions): Polled<T> {
  const [state, setState] = useState<{key: string; data: T | null; error: unknown}>({
    key: options.key,
    data: null,
    error: null,
  });
  const latest = useRef({ask, everyMs: options.everyMs});
  latest.current = {ask, everyMs: options.everyMs};
  const refresh = useRef(() => {});
  const returned = returns.value;

  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let asking = false;
    let again = false; // asked for while an answer was on its way, which may be too old
    const askNow = async () => {
      clearTimeout(timer);
      again = asking;
      if (asking || stop.signal.aborted) return;
      asking = true;
      try {
        const data = await latest.current.ask(stop.signal);
        if (!stop.signal.aborted) setState({key: options.key, data, error: null});
      } catch (error) {
        if (!wasAborted(error) && !stop.signal.aborted) {
          // While the server is away the last answer stays; the banner says that it is old.
          setState((old) =>
            error instanceof AwayError && old.key === options.key
              ? {...old, error: old.data ? null : error}
              : {key: options.key, data: null, error},
          );
        }
      }
      asking = false;
      clearTimeout(timer);
      if (again) return void askNow();
      if (latest.current.everyMs > 0 && !document.hidden && !stop.signal.aborted) {
        timer = window.setTimeout(askNow, latest.current.everyMs);
      }
    };
    const onVisible = () => {
      if (!document.hidden) void askNow();
    };
    refresh.current = () => void askNow();
    void askNow();
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [options.key, returned]);

  const isCurrent = state.key === options.key;
  const data = isCurrent ? state.data : null;
  const error = isCurrent ? state.error : null;
  return {data, error, isFirst: !data && !error, refresh: () => refresh.current()};
}

// A state as shape, colour and word: never colour alone.
import type {JSX} from 'preact';

import type {AnyState} from '../api/types';
import {Icon, type IconName} from './icons';

const SHAPES: Record<AnyState, IconName> = {
  queued: 'clock',
  assigned: 'clock',
  starting: 'half',
  running: 'play',
  stopping: 'stop',
  succeeded: 'check',
  ready: 'check',
  failed: 'cross',
  cancelled: 'slash',
  killed: 'slash',
  suspended: 'pause',
  cordoned: 'pause',
  draining: 'half',
  unknown: 'question',
  lost: 'question',
  disconnected: 'question',
  down: 'cross',
};

export function StateBadge({state, note}: {state: AnyState; note?: string}): JSX.Element {
  return (
    <span class={`state state-${state}`} title={note}>
      <StateShape state={state} />
      <span>{state}</span>
    </span>
  );
}

// The shape alone, where the word is beside it or in the element's label.
export function StateShape({state}: {state: AnyState}): JSX.Element {
  return (
    <span class={`state-shape state-${state}`} aria-hidden="true">
      <Icon name={SHAPES[state] ?? 'question'} size={12} />
    </span>
  );
}

// What is shown in place of data: nothing there yet, an error, still loading. And passing
// messages.
import {signal} from '@preact/signals';
import type {ComponentChildren, JSX} from 'preact';

import {wordsOf} from '../api/client';
import {Icon} from './icons';

// Nothing to show, and what to do next.
export function Empty(props: {title: string; children?: ComponentChildren}): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children}
    </div>
  );
}

export function Failed(props: {what: string; error: unknown; retry?: () => void}): JSX.Element {
  return (
    <div class="empty failed" role="alert">
      <p class="empty-title">
        <Icon name="warning" /> {props.what}
      </p>
      <p>{wordsOf(props.error)}</p>
      {props.retry && (
        <button type="button" onClick={props.retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Loading({what}: {what: string}): JSX.Element {
  return (
    <p class="loading" role="status">
      Loading {what}…
    </p>
  );
}

interface Toast {
  id: number;
  text: string;
  kind: 'done' | 'failed';
}

const SHOWN_MS = 6_000;
const toasts = signal<Toast[]>([]);
let nextId = 1;

export function tell(text: string, kind: Toast['kind'] = 'done'): void {
  const toast = {id: nextId++, text, kind};
  toasts.value = [...toasts.value.slice(-3), toast];
  setTimeout(() => {
    toasts.value = toasts.value.filter((one) => one.id !== toast.id);
  }, SHOWN_MS);
}

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <p key={toast.id} class={`toast toast-${toast.kind}`}>
          <Icon name={toast.kind === 'done' ? 'check' : 'warning'} /> {toast.text}
        </p>
      ))}
    </div>
  );
}

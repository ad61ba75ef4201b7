// Times and durations. Shown in the reader's zone; the exact UTC is in the element's title.
import {signal} from '@preact/signals';

import {NOTHING} from './numbers';

// The time of now, moved once a second while anybody can see it: ages are counted from it.
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);
document.addEventListener('visibilitychange', () => (now.value = Date.now()));

// 93.4 -> "1m 33s"; two units at most.
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NOTHING;
  const whole = Math.max(0, Math.round(seconds));
  if (seconds > 0 && seconds < 1) return '<1s';
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}h ${Math.floor(whole / 60) % 60}m`;
  return `${Math.floor(whole / 86_400)}d ${Math.floor(whole / 3600) % 24}h`;
}

export function secondsBetween(from: string, to: string | number): number {
  return (new Date(to).getTime() - new Date(from).getTime()) / 1000;
}

// "12s ago"; "just now" also for a clock that is a little ahead of ours.
export function formatAge(time: string, at: number): string {
  const seconds = secondsBetween(time, at);
  return seconds < 2 ? 'just now' : `${formatDuration(seconds)} ago`;
}

const clock = new Intl.DateTimeFormat(undefined, {timeStyle: 'medium'});
const dayAndClock = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'medium',
});

// Today's times without the day.
export function formatTime(time: string): string {
  const moment = new Date(time);
  if (Number.isNaN(moment.getTime())) return time;
  const isToday = moment.toDateString() === new Date().toDateString();
  return (isToday ? clock : dayAndClock).format(moment);
}

export function exactUtc(time: string): string {
  return `${time.replace('T', ' ').replace('Z', '')} UTC`;
}

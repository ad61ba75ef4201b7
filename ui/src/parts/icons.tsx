// The page's icons: paths on a grid of 16, drawn in the colour of the text around them.
import type {JSX} from 'preact';

const PATHS = {
  plus: 'M8 3v10M3 8h10',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  slash: 'M4 12 12 4',
  play: 'M5.5 3.5v9l7-4.5z',
  pause: 'M5.5 4v8M10.5 4v8',
  stop: 'M4.5 4.5h7v7h-7z',
  clock: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 5v3l2 1.5',
  half: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 4.5a3.5 3.5 0 0 1 0 7z',
  question: 'M6 6.2a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.4M8 11.6v.1',
  copy: 'M6 6V3h7v7h-3M3 6h7v7H3z',
  download: 'M8 3v7M4.5 7 8 10.5 11.5 7M3 13h10',
  search: 'M7 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM10 10l3.5 3.5',
  up: 'M4 10l4-4 4 4',
  down: 'M4 6l4 4 4-4',
  left: 'M10 4 6 8l4 4',
  right: 'M6 4l4 4-4 4',
  sun:
    'M8 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1' +
    'M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
  screen: 'M2.5 3.5h11v7h-11zM6 13.5h4M8 10.5v3',
  warning: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.7v.1',
  repeat: 'M3 8a5 5 0 0 1 8.5-3.5L13 6M13 3v3h-3M13 8a5 5 0 0 1-8.5 3.5L3 10M3 13v-3h3',
  flag: 'M4 14V2.5h8l-2 3 2 3H4',
  trash: 'M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 8.5h6l.5-8.5',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({name, size = 16}: {name: IconName; size?: number}): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

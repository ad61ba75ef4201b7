// Light or dark: what the system says, unless the reader chose otherwise in this browser.
import {signal} from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'trainyard.theme';
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

export const theme = signal<Theme>(read());

// Grows with each change of colours, for what is drawn on a canvas.
export const paints = signal(0);

systemIsDark.addEventListener('change', () => (paints.value += 1));

export function isDark(): boolean {
  return theme.value === 'dark' || (theme.value === 'system' && systemIsDark.matches);
}

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Storage is forbidden: the choice lasts as long as the page.
  }
  applyTheme();
}

export function applyTheme(): void {
  const root = document.documentElement;
  if (theme.value === 'system') root.removeAttribute('data-theme');
  else root.setAttribute('data-theme', theme.value);
  paints.value += 1;
}

function read(): Theme {
  try {
    const text = localStorage.getItem(KEY);
    return text === 'light' || text === 'dark' ? text : 'system';
  } catch {
    return 'system';
  }
}

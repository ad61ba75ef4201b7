// Light, dark, or as the system has it.
import type {JSX} from 'preact';

import {Icon, type IconName} from './parts/icons';
import {chooseTheme, theme, type Theme} from './theme';

const CHOICES: Array<{theme: Theme; icon: IconName; words: string}> = [
  {theme: 'system', icon: 'screen', words: 'Colours as the system has them'},
  {theme: 'light', icon: 'sun', words: 'Light colours'},
  {theme: 'dark', icon: 'moon', words: 'Dark colours'},
];

export function ThemeSwitch(): JSX.Element {
  return (
    <div class="themes" role="group" aria-label="Colours">
      {CHOICES.map((choice) => (
        <button
          key={choice.theme}
          type="button"
          class="quiet icon-only"
          title={choice.words}
          aria-label={choice.words}
          aria-pressed={theme.value === choice.theme}
          onClick={() => chooseTheme(choice.theme)}
        >
          <Icon name={choice.icon} />
        </button>
      ))}
    </div>
  );
}

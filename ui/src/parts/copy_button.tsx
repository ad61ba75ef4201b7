// Puts a text on the clipboard, and says so.
import type {JSX} from 'preact';

import {Icon} from './icons';
import {tell} from './notices';

export function CopyButton({text, what}: {text: string; what: string}): JSX.Element {
  const copy = async () => {
    try {
      await copyText(text);
      tell(`Copied ${what}`);
    } catch {
      tell(`The browser does not let this page copy ${what}`, 'failed');
    }
  };
  return (
    <button
      type="button"
      class="quiet icon-only"
      title={`Copy ${what}`}
      aria-label={`Copy ${what}`}
      onClick={copy}
    >
      <Icon name="copy" />
    </button>
  );
}

async function copyText(text: string): Promise<void> {
  // Only pages from https or localhost have a clipboard; others copy from a field.
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand('copy');
  field.remove();
  if (!copied) throw new Error('not allowed');
}

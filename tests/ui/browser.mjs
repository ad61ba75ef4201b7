// Debian's Chromium, without a window. A page that logs an error, or wants what its content
// security policy forbids, fails its test.
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';

const require = createRequire(new URL('../../ui/package.json', import.meta.url));
const {chromium} = require('playwright-core');
export const axeSource = require('axe-core').source;

export const CHROMIUM = process.env.TRAINYARD_CHROMIUM ?? '/usr/bin/chromium';
const DEADLINE_MS = 120_000; // the machine may be busy with other tests

export class Browser {
  #browser;

  static async start() {
    const made = new Browser();
    made.#browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: process.getuid() === 0 ? ['--no-sandbox'] : [],
    });
    return made;
  }

  // The page, and `faults`: what went wrong in it, which `close` finds empty or fails.
  async open(url, {width = 1440, height = 900, theme = 'light', expected = []} = {}) {
    const context = await this.#browser.newContext({
      viewport: {width, height},
      colorScheme: theme,
      locale: 'en-GB',
      timezoneId: 'UTC',
      acceptDownloads: true,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(DEADLINE_MS);
    const faults = [];
    const add = (text) => expected.some((pattern) => pattern.test(text)) || faults.push(text);
    page.on('pageerror', (error) => add(`error: ${error.message}`));
    page.on('dialog', (dialog) => {
      add(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      if (message.type() === 'error') add(`console: ${message.text()} ${message.location().url}`);
    });
    await page.goto(url);
    return {
      page,
      faults,
      close: async () => {
        await context.close();
        assert.deepEqual(faults, []);
      },
    };
  }

  async close() {
    await this.#browser.close();
  }
}

// The element comes into view, with this text if one is given.
export async function sees(locator, text) {
  const shown = text === undefined ? locator : locator.filter({hasText: text});
  await shown.first().waitFor({state: 'visible'});
}

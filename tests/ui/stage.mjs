// What a file of tests plays on: a yard and a browser, there before its first test and gone after
// its last.
import {after, afterEach, before} from 'node:test';

import {Browser} from './browser.mjs';
import {Yard} from './yard.mjs';

export let yard;
export let browser;

// `prepare` is called once both are there. Jobs that a test leaves behind are cancelled, unless the
// tests share them.
export function setStage({agents, prepare = async () => {}, sharesJobs = false} = {}) {
  before(async () => {
    yard = await Yard.start(agents);
    browser = await Browser.start();
    await prepare();
  });
  if (!sharesJobs) afterEach(() => yard.cancelAll());
  after(async () => {
    await browser?.close();
    await yard?.close();
  });
}

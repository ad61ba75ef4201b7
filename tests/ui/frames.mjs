// The times between the frames that Chromium showed while something went on, from its own trace.

export async function framesOf(page, act) {
  const session = await page.context().newCDPSession(page);
  const events = [];
  session.on('Tracing.dataCollected', ({value}) => events.push(...value));
  const done = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: {includedCategories: ['disabled-by-default-devtools.timeline.frame']},
  });
  await act();
  await session.send('Tracing.end');
  await done;
  const times = events
    .filter(({name}) => name === 'DrawFrame')
    .map(({ts}) => ts / 1000)
    .sort((a, b) => a - b);
  const gaps = times
    .slice(1)
    .map((time, index) => time - times[index])
    .sort((a, b) => a - b);
  const at = (share) => Number((gaps[Math.floor((gaps.length - 1) * share)] ?? 0).toFixed(1));
  return {count: times.length, median: at(0.5), most: at(0.95), longest: at(1)};
}

// The files that are served: few bytes, nothing from elsewhere; and what they are made from.
import assert from 'node:assert/strict';
import {readdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {gzipSync} from 'node:zlib';

import {uiFolder} from './yard.mjs';

const BYTES_MAX = 150_000;

function filesBelow(folder) {
  return readdirSync(folder, {withFileTypes: true}).flatMap((entry) => {
    const name = path.join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(name) : [name];
  });
}

test('all files together are small enough', (context) => {
  const sizes = filesBelow(uiFolder).map(
    (file) => gzipSync(readFileSync(file), {level: 9}).length,
  );
  const all = sizes.reduce((sum, size) => sum + size, 0);
  context.diagnostic(`${all} bytes with gzip, of ${BYTES_MAX}`);
  assert.ok(all < BYTES_MAX, `${all} bytes`);
});

test('nothing is loaded from elsewhere', () => {
  const known = /^https?:\/\/(www\.w3\.org|127\.0\.0\.1|localhost)/;
  for (const file of filesBelow(uiFolder)) {
    const text = readFileSync(file, 'utf8');
    for (const [address] of text.matchAll(/(https?:)?\/\/[a-z0-9-]+(\.[a-z0-9-]+)+/g)) {
      assert.match(address, known, `${file}: ${address}`);
    }
  }
});

test('the lock file names no registry, and nothing that Node.js 18 does not run', () => {
  const lock = JSON.parse(readFileSync('ui/package-lock.json', 'utf8'));
  for (const [name, {resolved, engines}] of Object.entries(lock.packages)) {
    assert.equal(resolved, undefined, name);
    const needed = engines?.node;
    if (needed) assert.ok(mayRunOn18(needed), `${name} needs Node.js ${needed}`);
  }
});

// Does one of the alternatives begin at version 18 or before?
function mayRunOn18(range) {
  return range.split('||').some((one) => {
    const version = Number(/(\d+)/.exec(one)?.[1] ?? 0);
    return one.includes('^') ? version === 18 : version <= 18;
  });
}

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { test } from 'node:test';
import { Gone, field } from '../src/client.js';
import { GaveUp, Missing, Server, crashes, locate } from '../src/server.js';
import { become, folder, launchIn, type Faults } from './fakeserver.js';

const bounded = { timeout: 180_000 };

function served(faults: Faults = {}) {
  const dir = folder(faults);
  const clock = { ms: 0 };
  const counts = { starts: 0 };
  const launch = () => {
    counts.starts++;
    return launchIn(dir);
  };
  const server = new Server(launch, '0.1.0', () => undefined, undefined, () => clock.ms);
  const ask = async (target: string, signal?: AbortSignal) => (await server.call('map_workspace', { target }, signal)).text;
  const pid = async () => field(JSON.parse(await ask('a.ts')), 'pid');
  return { dir, server, counts, clock, ask, pid };
}

test('a server is started once, when it is first asked', bounded, async (t) => {
  const { server, counts, pid } = served();
  t.after(() => server.close());
  assert.equal(counts.starts, 0);
  const [a, b] = await Promise.all([pid(), pid()]);
  assert.equal(a, b);
  assert.equal(counts.starts, 1);
});

test('a server that crashes is started again, until it crashed too often', bounded, async (t) => {
  const { server, counts, clock, ask, pid } = served();
  t.after(() => server.close());
  for (let i = 0; i < crashes.most; i++) {
    await assert.rejects(ask('crash.ts'), Gone);
  }
  await assert.rejects(ask('a.ts'), (e) => e instanceof GaveUp && /ended 3 times .* it said: mwp: panic in a test/.test(e.message));
  assert.equal(counts.starts, crashes.most);
  clock.ms = crashes.within;
  await pid();
  assert.equal(counts.starts, crashes.most + 1, 'crashes of long ago do not count');
});

test('a server that never starts is given up too, and closing forgives', bounded, async (t) => {
  const { dir, server, ask, pid } = served({ dead: true });
  t.after(() => server.close());
  for (let i = 0; i < crashes.most; i++) {
    await assert.rejects(ask('a.ts'), Gone);
  }
  await assert.rejects(ask('a.ts'), GaveUp);
  become(dir, {});
  await assert.rejects(ask('a.ts'), GaveUp);
  await server.close();
  await pid();
});

test('closing is no crash, and ends the process', bounded, async (t) => {
  const { server, pid } = served();
  t.after(() => server.close());
  for (let i = 0; i <= crashes.most; i++) {
    const p = await pid();
    assert.equal(typeof p, 'number');
    await server.close();
    assert.throws(() => process.kill(p as number, 0), { code: 'ESRCH' });
  }
});

test('closing and cancelling do not wait for a handshake', bounded, async (t) => {
  const { server, ask } = served({ mute: true });
  t.after(() => server.close());
  const stop = new AbortController();
  const cancelled = ask('a.ts', stop.signal);
  stop.abort(new Error('another tab'));
  await assert.rejects(cancelled, { message: 'another tab' });
  const waiting = assert.rejects(ask('a.ts'), /was ended: it is not wanted any more/);
  await server.close();
  await waiting;
});

const name = process.platform === 'win32' ? 'mwp.exe' : 'mwp';

/** A directory with a program. */
function withProgram(): string {
  const dir = folder();
  writeFileSync(join(dir, name), '#!/bin/sh\n');
  chmodSync(join(dir, name), 0o755);
  return dir;
}

test('locate', async (t) => {
  const [a, b, none] = [withProgram(), withProgram(), folder()];
  const nested = folder();
  mkdirSync(join(nested, name));
  const go = folder();
  mkdirSync(join(go, 'bin'));
  writeFileSync(join(go, 'bin', name), '');
  chmodSync(join(go, 'bin', name), 0o755);
  const hidden = relative(process.cwd(), a);
  const table: { what: string; configured?: string; env?: NodeJS.ProcessEnv; want: string | RegExp }[] = [
    { what: 'the first on PATH', env: { PATH: [none, b, a].join(delimiter) }, want: join(b, name) },
    { what: 'the configured one', configured: join(a, name), env: { PATH: b }, want: join(a, name) },
    { what: 'no relative entry', env: { PATH: [hidden, '.', '', b].join(delimiter) }, want: join(b, name) },
    { what: 'no directory', env: { PATH: [nested, b].join(delimiter) }, want: join(b, name) },
    { what: 'GOBIN after PATH', env: { PATH: none, GOBIN: a, GOPATH: go }, want: join(a, name) },
    { what: 'GOPATH', env: { GOPATH: [none, go].join(delimiter) }, want: join(go, 'bin', name) },
    { what: 'nothing', env: { PATH: none, GOPATH: none }, want: /^mwp is not installed.*go install .*mwp\.path/s },
    { what: 'a relative setting', configured: hidden, env: { PATH: a }, want: /^mwp\.path is ".*", want an absolute path$/ },
    { what: 'a setting that leads nowhere', configured: join(none, name), env: { PATH: a }, want: /^mwp\.path is .*, where there is no program$/ },
    { what: 'a setting that is a directory', configured: join(nested, name), env: { PATH: a }, want: /where there is no program$/ },
  ];
  for (const { what, configured, env, want } of table) {
    await t.test(what, () => {
      if (typeof want === 'string') {
        assert.equal(locate(configured ?? '', env), want);
      } else {
        assert.throws(() => locate(configured ?? '', env), (e) => e instanceof Missing && want.test(e.message));
      }
    });
  }
});

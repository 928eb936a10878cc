import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Client, Gone, Refused, field, limits, type Limits } from '../src/client.js';
import { folder, launchIn, type Faults } from './fakeserver.js';
import { absent, binary, guarded, mwp, workspace } from './realworkspace.js';

const bounded = { timeout: 180_000 };

async function connect(t: TestContext, faults: Faults = {}, bounds: Partial<Limits> = {}) {
  const dir = folder(faults);
  const log: string[] = [];
  const kept = { ...limits, ...bounds };
  const client = await Client.connect(launchIn(dir), '0.1.0', (line) => log.push(line), kept);
  t.after(() => client.close());
  const sent = () => readFileSync(join(dir, 'sent.log'), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as unknown);
  return { client, log, sent, bounds: kept };
}

test('a call is a handshake and one line', bounded, async (t) => {
  const { client, sent } = await connect(t);
  const answer = await client.call('map_workspace', { target: 'a.ts', render: 'json' });
  assert.equal(field(answer.structured, 'target'), 'a.ts');
  assert.deepEqual(sent(), [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'mwp-vscode', version: '0.1.0' } } },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'map_workspace', arguments: { target: 'a.ts', render: 'json' } } },
  ]);
});

test('what a tool refuses is Refused with its text', bounded, async (t) => {
  const { client } = await connect(t);
  await assert.rejects(client.call('map_workspace', { target: 'refused.ts' }), (e) =>
    e instanceof Refused && e.message === 'error[outside_root]: refused.ts is not in [the workspace](command:x)');
  await assert.rejects(client.call('map_workspace', { target: 'wrong.ts' }), { message: 'target: want a string' });
});

test('lines that are no answers change nothing, and requests are answered', bounded, async (t) => {
  const { client, log, sent } = await connect(t);
  assert.equal(field(JSON.parse((await client.call('map_workspace', { target: 'noise.ts' })).text), 'target'), 'noise.ts');
  await client.call('map_workspace', { target: 'a.ts' });
  assert.deepEqual(log, ['not a message: not JSON']);
  assert.deepEqual(sent().filter((m) => field(m, 'method') === undefined), [
    { jsonrpc: '2.0', id: 'x', result: {} },
    { jsonrpc: '2.0', id: 'y', error: { code: -32601, message: 'no method roots/list' } },
  ]);
});

test('answers arrive whole, large or byte by byte', bounded, async (t) => {
  const { client } = await connect(t);
  assert.equal((await client.call('map_workspace', { target: 'big.ts' })).text, 'é'.repeat(9 << 20));
  assert.equal((await client.call('map_workspace', { target: 'parts.ts' })).text, 'Straße ✓');
});

test('an answer of no known shape is an empty one', bounded, async (t) => {
  const { client } = await connect(t);
  assert.equal((await client.call('map_workspace', { target: 'odd.ts' })).text, '');
});

test('a cancelled call is told to the server, and its late answer is dropped', bounded, async (t) => {
  const { client, sent } = await connect(t);
  const stop = new AbortController();
  const slow = client.call('map_workspace', { target: 'slow.ts' }, stop.signal);
  stop.abort(new Error('another tab'));
  await assert.rejects(slow, { message: 'another tab' });
  const next = await client.call('map_workspace', { target: 'a.ts' });
  assert.equal(field(JSON.parse(next.text), 'target'), 'a.ts');
  assert.deepEqual(sent()[3], { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
  await assert.rejects(client.call('map_workspace', { target: 'a.ts' }, stop.signal), { message: 'another tab' });
  assert.equal(sent().length, 5, 'a call that is cancelled before it begins is not sent');
});

test('calls overlap, and each has its own answer', bounded, async (t) => {
  const { client } = await connect(t);
  const names = Array.from({ length: 50 }, (_, i) => `${i}.ts`);
  const got = await Promise.all(names.map(async (target) => field(JSON.parse((await client.call('map_workspace', { target })).text), 'target')));
  assert.deepEqual(got, names);
});

test('calls of a server that ends are Gone with its last words', bounded, async (t) => {
  const { client } = await connect(t);
  const both = [client.call('map_workspace', { target: 'crash.ts' }), client.call('map_workspace', { target: 'a.ts' })];
  for (const p of await Promise.allSettled(both)) {
    assert.ok(p.status === 'rejected' && p.reason instanceof Gone);
    assert.equal(p.reason.message, 'mwp serve-mcp ended with 2; it said: mwp: panic in a test');
  }
  await assert.rejects(client.call('map_workspace', { target: 'a.ts' }), Gone);
});

const starts: { name: string; faults: Faults; bounds?: Partial<Limits>; want: RegExp }[] = [
  { name: 'dead', faults: { dead: true }, want: /^mwp serve-mcp ended with 3; it said: mwp: the disk is on fire$/ },
  { name: 'mute', faults: { mute: true }, bounds: { handshake: 50 }, want: /was ended: no handshake within 50 ms$/ },
  { name: 'of another age', faults: { revision: '2031-01-01' }, want: /was ended: it speaks revision "2031-01-01" of MCP, want one of 2025-11-25, / },
];
for (const { name, faults, bounds, want } of starts) {
  test(`a server that is ${name} is Gone`, bounded, async (t) => {
    await assert.rejects(connect(t, faults, bounds), (e) => e instanceof Gone && want.test(e.message));
  });
}

test('a program that is not there is Gone', bounded, async () => {
  const launch = { command: join(folder(), 'mwp'), args: [], cwd: folder() };
  await assert.rejects(Client.connect(launch, '0', () => undefined), (e) => e instanceof Gone && /could not be started in .*ENOENT/.test(e.message));
});

test('an endless line ends the server', bounded, async (t) => {
  const { client } = await connect(t, {}, { line: 1 << 20 });
  await assert.rejects(client.call('map_workspace', { target: 'big.ts' }), /was ended: its answer has a line of more than 1048576 bytes/);
});

test('a call that takes too long is given up, and the server goes on', bounded, async (t) => {
  const { client, bounds } = await connect(t, {}, { call: 50 });
  await assert.rejects(client.call('map_workspace', { target: 'slow.ts' }), { message: 'map_workspace took more than 50 ms' });
  bounds.call = limits.call;
  await client.call('map_workspace', { target: 'a.ts' });
});

test('closing ends the server, by force when it stays', bounded, async (t) => {
  const good = await connect(t);
  await good.client.close();
  assert.equal((await good.client.ended).message, 'mwp serve-mcp ended with 0');
  const bad = await connect(t, { stays: true }, { close: 50 });
  await bad.client.close();
  assert.equal((await bad.client.ended).message, 'mwp serve-mcp was ended: it did not end when asked to');
});

test('the real server answers what the command line prints', { ...bounded, skip: absent }, async (t) => {
  const dir = workspace();
  const log: string[] = [];
  const client = await Client.connect({ command: binary, args: ['serve-mcp', '--root', dir], cwd: dir }, '0.1.0', (line) => log.push(line));
  t.after(() => client.close());
  for (const target of [guarded, 'free/a.py', 'free', 'free/new.py', guarded]) {
    const map = await client.call('map_workspace', { target, full: true, render: 'markdown' });
    assert.equal(map.text.trimEnd(), mwp(dir, 'map', target, '--render', 'markdown').trimEnd(), target);
    assert.equal(map.structured, undefined);
    const json = await client.call('map_workspace', { target, full: true, render: 'json' });
    assert.equal(field(field(json.structured, 'delta'), 'mode'), 'full');
    assert.deepEqual({ ...(json.structured as object), delta: null }, JSON.parse(mwp(dir, 'map', target)), target);
    assert.equal(field(json.structured, 'read_only'), target === guarded);
  }
  const account = await client.call('explain_context', { target: guarded });
  assert.match(account.text, /shop\/\.mwp-context\.md/);
  await assert.rejects(client.call('map_workspace', { target: '../elsewhere.py', full: true }), Refused);
  await assert.rejects(client.call('map_workspace', { target: 7 }), (e) => !(e instanceof Refused) && /target/.test(String(e)));
  const stop = new AbortController();
  const many = Array.from({ length: 20 }, () => client.call('map_workspace', { target: guarded, full: true }, stop.signal));
  stop.abort(new Error('another tab'));
  assert.equal((await Promise.allSettled(many)).filter((p) => p.status === 'rejected').length, 20);
  await client.call('map_workspace', { target: guarded, full: true });
  await client.close();
  assert.equal((await client.ended).message.split(';')[0], 'mwp serve-mcp ended with 0');
});

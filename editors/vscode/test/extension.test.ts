import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ExtensionContext } from 'vscode';
import { editor, Uri, workspace as files } from './fakevscode.js'; // before what requires vscode
import { activate, deactivate } from '../src/extension.js';
import { field } from '../src/client.js';
import { become, folder, type Faults } from './fakeserver.js';
import { absent, binary, guarded, mwp, wanted, workspace } from './realworkspace.js';

const bounded = { timeout: 180_000 };
const manifest = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8')) as {
  version: string;
  contributes: { commands: { command: string }[] };
};

/** Activates the extension in an editor with these folders. */
function begin(t: TestContext, dirs: string[], program = process.execPath): void {
  editor.begin(dirs, program);
  const subscriptions: { dispose(): void }[] = [];
  activate({ subscriptions, extension: { packageJSON: manifest } } as unknown as ExtensionContext);
  t.after(async () => {
    await deactivate();
    subscriptions.forEach((d) => d.dispose());
    assert.deepEqual([...editor.live], [], 'something outlives the extension');
  });
}

function one(t: TestContext, faults: Faults = {}) {
  const dir = folder(faults);
  begin(t, [dir]);
  return { dir, at: (name: string) => Uri.file(join(dir, name)) };
}

const status = () => editor.items[0] ?? assert.fail('no item in the status bar');
const shown = () => editor.shown.at(-1) ?? assert.fail('no document was shown');
const member = (text: string, name: string) => field(JSON.parse(text), name);

/** The calls that the server of a folder was sent, as "rendering target". */
function asked(dir: string): string[] {
  const log = join(dir, 'sent.log');
  const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1) : []; // whole lines
  return lines.map((line) => JSON.parse(line) as { method: string; params: { name: string; arguments: { render?: string; target: string } } })
    .filter((m) => m.method === 'tools/call')
    .map((m) => `${m.params.arguments.render ?? m.params.name} ${m.params.arguments.target}`);
}

/** Waits until the server of a folder was sent something. */
async function sent(dir: string, what: () => boolean): Promise<void> {
  const watcher = watch(dir);
  try {
    while (!what()) {
      await once(watcher, 'change');
    }
  } finally {
    watcher.close();
  }
}

test('the commands of the manifest are the registered ones', bounded, (t) => {
  one(t);
  assert.deepEqual([...editor.commands.keys()].sort(), manifest.contributes.commands.map((c) => c.command).sort());
});

test('the map and the account of the active file are shown', bounded, async (t) => {
  const { dir, at } = one(t);
  editor.look(at('src/a b#?.ts'));
  await editor.run('mwp.showMap');
  assert.equal(shown().uri.path, '/a b#?.ts.map.md');
  const { pid, ...map } = JSON.parse(shown().text) as Record<string, unknown>;
  assert.deepEqual(map, { tool: 'map_workspace', target: 'src/a b#?.ts', full: true, render: 'markdown', read_only: false, warnings: [] });
  await editor.run('mwp.explain'); // of the file, though its map is active now
  assert.equal(shown().uri.path, '/a b#?.ts.explain.txt');
  assert.equal(member(shown().text, 'tool'), 'explain_context');
  assert.equal(member(shown().text, 'target'), 'src/a b#?.ts');
  assert.equal(member(shown().text, 'pid'), pid, 'one server for both');
  await editor.run('mwp.showMap', at('b.ts'));
  assert.equal(member(shown().text, 'target'), 'b.ts');
  assert.deepEqual(asked(dir).filter((a) => !a.startsWith('json')), ['markdown src/a b#?.ts', 'explain_context src/a b#?.ts', 'markdown b.ts']);
  assert.deepEqual(editor.messages, []);
});

test('a document that is open gets the new text', bounded, async (t) => {
  const { at } = one(t);
  await editor.run('mwp.showMap', at('a.ts'));
  const first = member(shown().text, 'pid');
  await editor.run('mwp.restart');
  await editor.until(() => member(shown().text, 'pid') !== first);
  const second = member(shown().text, 'pid');
  shown().text = 'old';
  await editor.run('mwp.showMap', at('a.ts'));
  assert.equal(member(shown().text, 'pid'), second);
  assert.equal(editor.shown[0], editor.shown[1]);
});

test('an editor that comes back with our documents open gets their texts', bounded, async (t) => {
  const { at } = one(t);
  const uri = Uri.from({ scheme: 'mwp', authority: 'map', path: '/a.ts.map.md', query: at('a.ts').toString() });
  assert.equal(member((await files.openTextDocument(Uri.parse(uri.toString()))).text, 'target'), 'a.ts');
  const odd = [
    Uri.from({ scheme: 'mwp', authority: 'verify', query: at('a.ts').toString() }),
    Uri.from({ scheme: 'mwp', authority: 'map', query: Uri.file('/etc/passwd').toString() }),
    Uri.from({ scheme: 'mwp', authority: 'map', query: uri.toString() }),
    Uri.from({ scheme: 'mwp', authority: 'map', query: 'https://example.org/a.ts' }),
  ];
  for (const u of odd) {
    await assert.rejects(files.openTextDocument(u), /no document verify|is in no folder of this workspace/);
  }
});

test('the status says which guards fail, while that file is active', bounded, async (t) => {
  const { at } = one(t);
  assert.equal(status().visible, false);
  editor.look(at('guarded.ts'));
  await editor.until(() => status().visible);
  assert.equal(status().tooltip, 'The map of this file is read-only:\nshop/.mwp-context.md:6: the check fails: ./check exited 1');
  assert.equal(status().command, 'mwp.showMap');
  await editor.run('mwp.showMap');
  await editor.until(() => status().visible);
  editor.look(at('a.ts'));
  assert.equal(status().visible, false, 'at once, not after the answer');
  editor.look(at('guarded.ts'));
  await editor.until(() => status().visible);
  editor.look(undefined);
  assert.equal(status().visible, false);
});

test('the status follows a save and the results of guards', bounded, async (t) => {
  const { dir, at } = one(t);
  for (const event of [() => editor.look(at('guarded.ts')), () => editor.save(at('x.ts')), () => editor.verified()]) {
    const before = asked(dir).length;
    event();
    status().tooltip = '';
    await editor.until(() => status().tooltip !== '' && status().visible);
    assert.equal(asked(dir).length, before + 1);
  }
});

test('of fast switches the last counts, and late answers are dropped', bounded, async (t) => {
  const { dir, at } = one(t);
  for (const name of ['1.ts', '2.ts', 'guarded.ts', '3.ts', 'guarded.ts']) {
    editor.look(at(name));
  }
  await editor.until(() => status().visible);
  assert.deepEqual(asked(dir), ['json guarded.ts']);

  // The server holds the first until it is told that nobody wants it, and then answers
  // all the same that the file is read-only.
  editor.look(at('slow.ts'));
  await sent(dir, () => asked(dir).includes('json slow.ts'));
  editor.look(at('a.ts'));
  await editor.run('mwp.explain', at('other.ts')); // answered after the late answer
  assert.match(readFileSync(join(dir, 'sent.log'), 'utf8'), /notifications\/cancelled/);
  assert.equal(status().visible, false);
});

test('a person may stop waiting', bounded, async (t) => {
  const { at } = one(t);
  const map = editor.run('mwp.showMap', at('slow.ts'));
  await editor.until(() => editor.progress.length > 0);
  editor.progress[0]?.();
  await map;
  assert.deepEqual([editor.shown, editor.messages], [[], []]);
});

test('what has no folder is told, and asks nobody', bounded, async (t) => {
  const { dir } = one(t);
  const table: [Uri | undefined, RegExp][] = [
    [undefined, /^mwp: no file is open$/],
    [Uri.from({ scheme: 'untitled', path: 'Untitled-1' }), /the text has no file yet; save it first$/],
    [Uri.file(join(dir, '..', 'elsewhere.ts')), /elsewhere\.ts is in no folder of this workspace$/],
    [Uri.from({ scheme: 'git', path: join(dir, 'a.ts') }), /is in no folder of this workspace$/],
  ];
  for (const [uri, want] of table) {
    editor.look(uri);
    await editor.run('mwp.showMap');
    assert.match(editor.messages.at(-1)?.text ?? '', want);
  }
  assert.equal(editor.messages.length, table.length);
  assert.deepEqual(asked(dir), []);
});

test('what the server refuses is told in its words, and only to who asked', bounded, async (t) => {
  const { dir, at } = one(t);
  editor.look(at('refused.ts'));
  await editor.until(() => editor.log.some((l) => l.startsWith('error[outside_root]')));
  assert.equal(editor.messages.length, 0);
  await editor.run('mwp.showMap');
  assert.deepEqual(editor.messages.map((m) => [m.kind, m.text]), [['warning', 'mwp: error[outside_root]: refused.ts is not in [the workspace] (command:x)']]);
  editor.look(at('odd.ts'));
  await editor.until(() => status().visible);
  assert.equal(status().tooltip, 'The map of this file is read-only:');
  assert.equal(asked(dir).length, 3);
});

test('each folder has its server, the innermost counts, and leaving ends it', bounded, async (t) => {
  const [a, b] = [folder(), folder()];
  const inner = join(a, 'inner');
  begin(t, [a, b]);
  const pids = new Map<string, unknown>();
  for (const dir of [a, b, inner]) {
    await editor.run('mwp.showMap', Uri.file(join(dir, 'x.ts')));
    pids.set(dir, member(shown().text, 'pid'));
  }
  assert.notEqual(pids.get(a), pids.get(b));
  assert.equal(pids.get(a), pids.get(inner), 'inner is no folder of the workspace');
  assert.deepEqual(asked(a).filter((x) => !x.startsWith('json')), ['markdown x.ts', 'markdown inner/x.ts']);
  editor.leave(b);
  await editor.run('mwp.showMap', Uri.file(join(b, 'x.ts')));
  assert.match(editor.messages[0]?.text ?? '', /is in no folder of this workspace$/);
});

test('without the program a person is told how to get it, once', bounded, async (t) => {
  const dir = folder();
  begin(t, [dir], join(dir, 'mwp'));
  editor.look(Uri.file(join(dir, 'a.ts')));
  await editor.until(() => editor.messages.length === 1);
  const [first] = editor.messages;
  assert.match(first?.text ?? '', /^mwp: mwp\.path is .*mwp, where there is no program$/);
  assert.deepEqual([first?.kind, first?.buttons], ['error', ['How to install', 'Open settings']]);
  const logged = editor.log.length;
  editor.look(Uri.file(join(dir, 'b.ts')));
  await editor.until(() => editor.log.length > logged);
  assert.equal(editor.messages.length, 1, 'told again without being asked');
  await editor.run('mwp.showMap');
  assert.equal(editor.messages.length, 2);
  first?.press('Open settings');
  editor.messages[1]?.press('How to install');
  await editor.until(() => editor.visited.length === 2);
  assert.deepEqual(editor.visited, ['workbench.action.openSettings mwp.path', 'https://github.com/model-workspace-protocol/mwp']);
  editor.set('path', process.execPath); // mended, and nothing else is needed
  editor.look(Uri.file(join(dir, 'guarded.ts')));
  await editor.until(() => status().visible);
});

test('a server that keeps crashing is given up until a person restarts it', bounded, async (t) => {
  const { dir, at } = one(t, { dead: true });
  for (let i = 1; i <= 3; i++) {
    await editor.run('mwp.showMap', at('a.ts'));
    assert.equal(editor.messages.length, i);
    assert.match(editor.messages.at(-1)?.text ?? '', /^mwp: mwp serve-mcp ended with 3; it said: mwp: the disk is on fire$/);
  }
  editor.look(at('guarded.ts'));
  await editor.until(() => editor.messages.length === 4);
  const last = editor.messages[3];
  assert.match(last?.text ?? '', /^mwp: mwp serve-mcp ended 3 times and is not started again: .*the disk is on fire$/);
  assert.deepEqual(last?.buttons, ['Restart', 'Show log']);
  become(dir, {});
  last?.press('Restart');
  await editor.until(() => status().visible);
});

test('deactivating ends the servers', bounded, async (t) => {
  const { at } = one(t);
  await editor.run('mwp.showMap', at('guarded.ts'));
  await editor.until(() => status().visible);
  await deactivate();
  assert.throws(() => process.kill(member(shown().text, 'pid') as number, 0), { code: 'ESRCH' });
  assert.equal(status().visible, false);
  assert.equal(editor.commands.size, 0);
});

test('nothing begins after deactivating', bounded, async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((r) => r === 'Timeout').length;
  const before = timers();
  const { dir, at } = one(t);
  editor.look(at('a.ts'));
  const map = editor.run('mwp.showMap', at('slow.ts'));
  await sent(dir, () => asked(dir).includes('markdown slow.ts'));
  const restart = editor.run('mwp.restart'); // it looks again when the servers have ended
  await deactivate();
  await Promise.all([map, restart]);
  assert.equal(timers(), before);
  assert.equal(editor.messages.length, 0);
});

test('the real server, from the failing guard to the mended one', { ...bounded, skip: absent }, async (t) => {
  const dir = workspace();
  begin(t, [dir], binary);
  editor.look(Uri.file(join(dir, guarded)));
  await editor.until(() => status().visible);
  assert.match(status().tooltip ?? '', /^The map of this file is read-only:\nshop\/\.mwp-context\.md:3: the check fails: exists /);
  await editor.run('mwp.showMap');
  assert.equal(shown().text.trimEnd(), mwp(dir, 'map', guarded, '--render', 'markdown').trimEnd());
  await editor.run('mwp.explain');
  assert.match(shown().text, /exists schema\.sql/);
  await editor.run('mwp.showMap', Uri.file(join(dir, 'free', 'a.py')));
  assert.equal(shown().text.trimEnd(), mwp(dir, 'map', 'free/a.py', '--render', 'markdown').trimEnd());
  editor.look(Uri.file(join(dir, guarded)));
  await editor.until(() => status().visible);
  writeFileSync(join(dir, wanted), '');
  editor.save(Uri.file(join(dir, wanted)));
  await editor.until(() => !status().visible);
  assert.deepEqual(editor.messages, []);
});

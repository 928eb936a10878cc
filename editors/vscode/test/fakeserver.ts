/**
 * A stand-in for `mwp serve-mcp` that misbehaves as its target asks. A test writes a
 * file serve-mcp.js that calls serve into a folder and starts node in it: node takes
 * the first argument, "serve-mcp", for that file, so no script of a shell is needed.
 */
import { appendFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Launch } from '../src/client.js';

export interface Faults {
  /** Ends before the handshake, saying so on stderr. */
  readonly dead?: boolean;
  /** Reads, and never answers. */
  readonly mute?: boolean;
  /** The revision that initialize answers. */
  readonly revision?: string;
  /** Ignores the end of its input. */
  readonly stays?: boolean;
}

/** A folder whose server has the faults. Every line that it is sent goes to sent.log. */
export function folder(faults: Faults = {}): string {
  const dir = mkdtempSync(join(tmpdir(), 'mwp-vscode-'));
  become(dir, faults);
  return dir;
}

/** Gives the folder's server, when it starts next, other faults. */
export function become(dir: string, faults: Faults): void {
  writeFileSync(join(dir, 'serve-mcp.js'), `require(${JSON.stringify(__filename)}).serve(${JSON.stringify(faults)});\n`);
}

export function launchIn(dir: string): Launch {
  return { command: process.execPath, args: ['serve-mcp', '--root', dir], cwd: dir };
}

interface Message {
  id?: number;
  method: string;
  params?: { requestId?: number; name?: string; arguments?: { target: string; render?: string } };
}

/** Runs in the child. */
export function serve(faults: Faults): void {
  if (faults.dead) {
    process.stderr.write('mwp: the disk is on fire\n');
    process.exit(3);
  }
  if (faults.stays) {
    setInterval(() => undefined, 1 << 30);
  }
  const held = new Map<number, Message>();
  createInterface({ input: process.stdin }).on('line', (line) => {
    appendFileSync('sent.log', `${line}\n`);
    const m = JSON.parse(line) as Message;
    if (faults.mute) {
      return;
    }
    if (m.method === 'initialize') {
      say({ id: m.id, result: { protocolVersion: faults.revision ?? '2025-11-25', capabilities: {}, serverInfo: { name: 'fake', version: '0' } } });
    } else if (m.method === 'tools/call') {
      answer(m, held);
    } else if (m.method === 'notifications/cancelled') {
      const late = held.get(m.params?.requestId ?? 0);
      if (late) {
        result(late, mapOf(late, true));
      }
    }
  });
}

function answer(m: Message, held: Map<number, Message>): void {
  const target = m.params?.arguments?.target ?? '';
  switch (basename(target).replace(/\.ts$/, '')) {
    case 'slow': // answered only after it was cancelled, against the rules
      held.set(m.id ?? 0, m);
      return;
    case 'crash':
      process.stderr.write('mwp: panic in a test\n');
      process.exit(2);
    case 'refused':
      return result(m, 'error[outside_root]: refused.ts is not in [the workspace](command:x)', { isError: true });
    case 'wrong':
      return say({ id: m.id, error: { code: -32602, message: 'target: want a string' } });
    case 'noise':
      process.stdout.write('\r\nnot JSON\n{"jsonrpc":"2.0","id":99,"result":1}\n[]\n{"jsonrpc":"2.0","id":"x","method":"ping"}\n');
      say({ id: 'y', method: 'roots/list' });
      say({ method: 'notifications/message', params: {} });
      break;
    case 'big':
      return result(m, 'é'.repeat(9 << 20));
    case 'parts':
      return piecemeal(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: { content: [{ type: 'text', text: 'Straße ✓' }] } }) + '\n'));
    case 'odd':
      return say({ id: m.id, result: { content: 'no list', structuredContent: { read_only: true, warnings: { code: 7 } } } });
  }
  const guarded = target.includes('guarded');
  result(m, mapOf(m, guarded), m.params?.arguments?.render === 'json' ? { structuredContent: JSON.parse(mapOf(m, guarded)) as unknown } : {});
}

/** A map, as far as the extension looks; other renderings name what was asked for. */
function mapOf(m: Message, readOnly: boolean): string {
  const asked = { pid: process.pid, tool: m.params?.name, ...m.params?.arguments };
  const warnings = [
    { code: 'guard_failed', severity: 'error', message: 'the check fails: ./check exited 1', source: 'shop/.mwp-context.md', line: 6 },
    { code: 'guard_failed', severity: 'warning', message: 'overridden', source: 'a', line: 1 },
    { code: 'guard_stale', severity: 'warning', message: 'stale' },
  ];
  return JSON.stringify({ ...asked, read_only: readOnly, warnings: readOnly ? warnings : [] });
}

function result(m: Message, text: string, more: object = {}): void {
  say({ id: m.id, result: { content: [{ type: 'text', text }], ...more } });
}

function say(message: object): void {
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
}

/** Writes every byte by itself, so that no character of several arrives whole. */
function piecemeal(bytes: Buffer, at = 0): void {
  if (at < bytes.length) {
    process.stdout.write(bytes.subarray(at, at + 1), () => setImmediate(() => piecemeal(bytes, at + 1)));
  }
}

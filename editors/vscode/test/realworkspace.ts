/** A workspace for the real server, whose program MWP_BINARY names. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export const binary = process.env['MWP_BINARY'] ?? '';

/** What to give as node:test's skip: a reason when there is no program. */
export const absent = binary === '' && 'NOT TESTED: MWP_BINARY does not name the mwp to drive';

/** The target whose guard fails, and the file that would heal it. */
export const guarded = 'shop/core/price.py';
export const wanted = 'shop/schema.sql';

/** Makes a workspace in which maps of shop/ are read-only, by a guard that runs nothing. */
export function workspace(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'mwp-vscode-real-')));
  const files = {
    '.mwp/config.toml': '[project]\nname = "shop"\ndescription = "Orders for spare parts"\n',
    'shop/.mwp-context.md': '---\nguards:\n  - exists: schema.sql\n---\nPrices are whole cents.\n',
    [guarded]: 'PRICE = 1\n',
    'free/a.py': 'A = 1\n',
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return dir;
}

/** What the command line prints. */
export function mwp(dir: string, ...args: string[]): string {
  return execFileSync(binary, [...args, '--root', dir], { cwd: dir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/**
 * The server of one workspace folder: found, started when it is first asked, and
 * started again after a crash, within a limit. It knows no editor.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { Client, Gone, type Answer, type Launch, type Limits } from './client.js';

/** There is no program to start; the message says how to get one. */
export class Missing extends Error {}

/** The server ended too often and is not started again until somebody asks for it. */
export class GaveUp extends Error {}

/** Ends that nobody asked for, and the milliseconds within which so many are too many. */
export const crashes = { most: 3, within: 5 * 60_000 };

/** A server that is started when it is needed. */
export class Server {
  readonly #connect: (signal: AbortSignal) => Promise<Client>;
  readonly #now: () => number;
  #ends: number[] = [];
  #last: Gone | undefined;
  #client: Promise<Client> | undefined;
  #unwanted = new AbortController();

  /** Now is the clock by which crashes are counted, in milliseconds. */
  constructor(launch: () => Launch, version: string, log: (line: string) => void, bounds?: Limits, now = Date.now) {
    this.#connect = async (signal) => Client.connect(launch(), version, log, bounds, signal);
    this.#now = now;
  }

  /** Client.call on a running server; rejects with Missing and GaveUp besides. */
  async call(tool: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<Answer> {
    const client = await unless(signal, this.#running());
    return client.call(tool, args, signal);
  }

  /** Ends the server, if any. The next call starts one, whatever happened before. */
  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#ends = [];
    this.#unwanted.abort();
    this.#unwanted = new AbortController();
    // One that did not start needs no ending.
    await client?.then((c) => c.close(), () => undefined);
  }

  #running(): Promise<Client> {
    if (this.#client) {
      return this.#client;
    }
    const since = this.#now() - crashes.within;
    this.#ends = this.#ends.filter((t) => t > since);
    if (this.#ends.length >= crashes.most) {
      return Promise.reject(new GaveUp(`mwp serve-mcp ended ${crashes.most} times and is not started again: ${this.#last?.message}`));
    }
    const started = this.#connect(this.#unwanted.signal);
    this.#client = started;
    const crashed = (why: unknown) => {
      if (this.#client !== started) {
        return; // closed, which is no crash
      }
      this.#client = undefined;
      if (why instanceof Gone) {
        this.#ends.push(this.#now());
        this.#last = why;
      }
    };
    started.then((c) => c.ended.then(crashed), crashed);
    return started;
  }
}

/**
 * The absolute path of mwp: the configured one, else the first on PATH, else what
 * `go install` made. Throws Missing. Relative entries of PATH do not count: they would
 * let the workspace say what is started.
 */
export function locate(configured: string, env: NodeJS.ProcessEnv = process.env): string {
  if (configured !== '') {
    if (!isAbsolute(configured)) {
      throw new Missing(`mwp.path is ${JSON.stringify(configured)}, want an absolute path`);
    }
    if (!runs(configured)) {
      throw new Missing(`mwp.path is ${configured}, where there is no program`);
    }
    return configured;
  }
  const name = process.platform === 'win32' ? 'mwp.exe' : 'mwp';
  const dirs = (env['PATH'] ?? '').split(delimiter);
  const go = (env['GOPATH'] || join(homedir(), 'go')).split(delimiter).map((d) => join(d, 'bin'));
  for (const dir of [...dirs, env['GOBIN'] ?? '', ...go]) {
    if (isAbsolute(dir) && runs(join(dir, name))) {
      return join(dir, name);
    }
  }
  throw new Missing('mwp is not installed, or not on the PATH of VS Code. Install it with ' +
    '`go install github.com/model-workspace-protocol/mwp/cmd/mwp@latest`, or say in the setting mwp.path where it is.');
}

/** The promise, or the signal's reason when that comes first. */
function unless<T>(signal: AbortSignal | undefined, p: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal?.reason);
    if (signal?.aborted) {
      stop();
    }
    signal?.addEventListener('abort', stop, { once: true });
    p.then(resolve, reject).finally(() => signal?.removeEventListener('abort', stop));
  });
}

function runs(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * An MCP client over the standard streams of a child process: one message a line, by
 * the handshake of revision 2025-11-25. It knows no editor and nothing of maps.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';

/** What to start. The command is an absolute path; no shell sees any of it. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** What a tool answered: all of its text, and its structured half when it has one. */
export interface Answer {
  readonly text: string;
  readonly structured: unknown;
}

/** Bounds on a server that does not keep to any. Times are in milliseconds. */
export interface Limits {
  /** From the start of the process to the end of the handshake. */
  readonly handshake: number;
  /** One call. The first map of a large tree reads all of it. */
  readonly call: number;
  /** From the end of its input to the end of the process; the server gives itself 2 s. */
  readonly close: number;
  /** Bytes in one line of the server, and in what is kept of its stderr for the log. */
  readonly line: number;
  readonly stderr: number;
}

export const limits: Limits = {
  handshake: 30_000,
  call: 120_000,
  close: 3_000,
  line: 32 << 20,
  stderr: 256 << 10,
};

/** The tool was asked and refused: the message is what the command line would say. */
export class Refused extends Error {}

/** The server is gone or never spoke; the message has its last words. */
export class Gone extends Error {}

const revision = '2025-11-25';
/** Revisions whose tools/call is the one below. */
const spoken = [revision, '2025-06-18', '2025-03-26', '2024-11-05'];

interface Waiting {
  resolve(result: unknown): void;
  reject(why: Error): void;
}

/** A running server. Calls may overlap; their answers are told apart by id. */
export class Client {
  /** Settles when the process has ended, however it came to that; never rejects. */
  readonly ended: Promise<Gone>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #limits: Limits;
  readonly #log: (line: string) => void;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;
  #gone: Gone | undefined;
  #why = '';
  #lastWords = '';

  private constructor(launch: Launch, log: (line: string) => void, bounds: Limits) {
    this.#limits = bounds;
    this.#log = log;
    this.#child = spawn(launch.command, launch.args, { cwd: launch.cwd, stdio: 'pipe', shell: false, windowsHide: true });
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (e) => resolve(this.#end(`could not be started in ${launch.cwd}: ${e.message}`)));
      this.#child.once('close', (code, signal) => resolve(this.#end(signal ? `ended by ${signal}` : `ended with ${code}`)));
    });
    // A write to a server that is gone fails here; what it means is told by its end.
    this.#child.stdin.on('error', (e) => log(`cannot write to the server: ${e.message}`));
    this.#child.stdout.on('data', lines(bounds.line, (line) => this.#take(line), () => {
      this.#kill(`its answer has a line of more than ${bounds.line} bytes`);
    }));
    this.#listen(this.#child);
  }

  /** Starts a server and shakes hands with it. Rejects with Gone, also when the signal comes first. */
  static async connect(launch: Launch, version: string, log: (line: string) => void, bounds: Limits = limits, signal?: AbortSignal): Promise<Client> {
    const c = new Client(launch, log, bounds);
    const late = setTimeout(() => c.#kill(`no handshake within ${bounds.handshake} ms`), bounds.handshake);
    const unwanted = () => c.#kill('it is not wanted any more');
    signal?.addEventListener('abort', unwanted, { once: true });
    try {
      const hello = await c.#request('initialize', {
        protocolVersion: revision,
        capabilities: {},
        clientInfo: { name: 'mwp-vscode', version },
      });
      const theirs = field(hello, 'protocolVersion');
      if (typeof theirs !== 'string' || !spoken.includes(theirs)) {
        throw new Error(`it speaks revision ${JSON.stringify(theirs)} of MCP, want one of ${spoken.join(', ')}`);
      }
    } catch (e) {
      c.#kill(e instanceof Error ? e.message : String(e));
      throw await c.ended;
    } finally {
      clearTimeout(late);
      signal?.removeEventListener('abort', unwanted);
    }
    c.#send({ method: 'notifications/initialized' });
    return c;
  }

  /**
   * Calls a tool. Rejects with Refused when the tool refuses, with Gone when the server
   * ends, and with the signal's reason when that comes first; the server is told, and
   * an answer that comes all the same is dropped.
   */
  async call(tool: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<Answer> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error(`${tool} took more than ${this.#limits.call} ms`)), this.#limits.call);
    try {
      const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
      const result = await this.#request('tools/call', { name: tool, arguments: args }, either);
      const text = textOf(field(result, 'content'));
      if (field(result, 'isError') === true) {
        throw new Refused(text || `${tool} failed and does not say why`);
      }
      return { text, structured: field(result, 'structuredContent') };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the server by ending its input, and by force when that does not do. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    const late = setTimeout(() => this.#kill('it did not end when asked to'), this.#limits.close);
    await this.ended;
    clearTimeout(late);
  }

  #request(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#gone || signal?.aborted) {
        return reject(this.#gone ?? signal?.reason);
      }
      const id = this.#next++;
      const stop = () => {
        this.#waiting.delete(id);
        this.#send({ method: 'notifications/cancelled', params: { requestId: id } });
        reject(signal?.reason);
      };
      const settle = <T>(how: (v: T) => void) => (v: T) => {
        signal?.removeEventListener('abort', stop);
        how(v);
      };
      signal?.addEventListener('abort', stop, { once: true });
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#send({ id, method, params });
    });
  }

  #send(message: object): void {
    if (this.#child.stdin.writable) {
      this.#child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
    }
  }

  #take(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      this.#log(`not a message: ${line.slice(0, 200)}`);
      return;
    }
    const id = field(message, 'id');
    const method = field(message, 'method');
    if (typeof method === 'string') {
      if (id !== undefined) {
        this.#send({ id, ...(method === 'ping' ? { result: {} } : { error: { code: -32601, message: `no method ${method}` } }) });
      }
      return;
    }
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (!waiting) {
      return;
    }
    this.#waiting.delete(id as number);
    const error = field(message, 'error');
    if (error === undefined) {
      waiting.resolve(field(message, 'result'));
    } else {
      waiting.reject(new Error(String(field(error, 'message') ?? 'the server answers with an error')));
    }
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    let left = this.#limits.stderr;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-1000);
      if (left > 0) {
        this.#log(text.slice(0, left).trimEnd());
        left -= text.length;
      }
    });
  }

  #kill(why: string): void {
    this.#why ||= why;
    this.#child.kill('SIGKILL');
  }

  #end(how: string): Gone {
    if (!this.#gone) {
      const said = this.#lastWords.trim();
      this.#gone = new Gone(`mwp serve-mcp ${this.#why ? `was ended: ${this.#why}` : how}${said ? `; it said: ${said}` : ''}`);
      for (const w of this.#waiting.values()) {
        w.reject(this.#gone);
      }
      this.#waiting.clear();
    }
    return this.#gone;
  }
}

/** The member of a value of unknown shape, undefined when it has none. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

function textOf(content: unknown): string {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.map((b) => field(b, 'text')).filter((t) => typeof t === 'string').join('\n');
}

/**
 * A listener that cuts a stream into lines. The parts of a line are joined once, at its
 * end: joining at each part would take time quadratic in the length of a large answer.
 */
function lines(max: number, take: (line: string) => void, tooLong: () => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  return (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      const line = Buffer.concat(parts).toString('utf8');
      parts = [];
      size = 0;
      start = end + 1;
      if (line.trim() !== '') {
        take(line);
      }
    }
    size += chunk.length - start;
    if (size > max) {
      parts = [];
      return tooLong();
    }
    parts.push(chunk.subarray(start));
  };
}

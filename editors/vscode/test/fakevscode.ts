/**
 * As much of the module "vscode" as the extension uses, and a person to drive it. To
 * import this file makes `require('vscode')` lead to it.
 */
import { EventEmitter as NodeEmitter, once } from 'node:events';
import Module from 'node:module';
import { basename, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

type Resolve = (request: string, ...rest: unknown[]) => string;
const modules = Module as unknown as { _resolveFilename: Resolve };
const resolve = modules._resolveFilename;
modules._resolveFilename = function (this: unknown, request: string, ...rest: unknown[]): string {
  return request === 'vscode' ? __filename : resolve.call(this, request, ...rest);
};

export class Uri {
  private constructor(readonly scheme: string, readonly authority: string, readonly path: string, readonly query: string) {}
  static from(p: { scheme: string; authority?: string; path?: string; query?: string }): Uri {
    return new Uri(p.scheme, p.authority ?? '', p.path ?? '', p.query ?? '');
  }
  static parse(text: string): Uri {
    const u = new URL(text);
    return new Uri(u.protocol.slice(0, -1), decodeURIComponent(u.host), decodeURIComponent(u.pathname), decodeURIComponent(u.search.slice(1)));
  }
  static file(file: string): Uri {
    return Uri.parse(pathToFileURL(file).href);
  }
  get fsPath(): string {
    return fileURLToPath(`file://${encodeURI(this.path).replaceAll('?', '%3F').replaceAll('#', '%23')}`);
  }
  toString(): string {
    const [path, query] = [this.path.split('/').map(encodeURIComponent).join('/'), encodeURIComponent(this.query)];
    return `${this.scheme}:${this.authority || this.scheme === 'file' ? '//' : ''}${this.authority}${path}${query && `?${query}`}`;
  }
}

export interface Disposable {
  dispose(): void;
}

export class EventEmitter<T> implements Disposable {
  readonly listeners = new Set<(e: T) => unknown>();
  readonly event = (listener: (e: T) => unknown): Disposable => {
    this.listeners.add(listener);
    return registered(() => this.listeners.delete(listener));
  };
  fire(e: T): void {
    [...this.listeners].forEach((l) => l(e));
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class ThemeColor {
  constructor(readonly id: string) {}
}
export const StatusBarAlignment = { Left: 1, Right: 2 };
export const ProgressLocation = { SourceControl: 1, Window: 10, Notification: 15 };
export const ViewColumn = { Active: -1, Beside: -2 };

interface Doc {
  uri: Uri;
  text: string;
}
interface Provider {
  provideTextDocumentContent(uri: Uri, token: Token): Promise<string>;
  onDidChange(listener: (uri: Uri) => unknown): Disposable;
}
export interface Token {
  isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): Disposable;
}
interface Item extends Disposable {
  visible: boolean;
  text: string;
  tooltip?: string;
  command?: string;
  backgroundColor?: ThemeColor;
  show(): void;
  hide(): void;
}
interface Message {
  kind: 'information' | 'warning' | 'error';
  text: string;
  buttons: string[];
  press(button: string): void;
}

const step = new NodeEmitter();
const fired = {
  editor: new EventEmitter<unknown>(),
  saved: new EventEmitter<Doc>(),
  closed: new EventEmitter<Doc>(),
  folders: new EventEmitter<{ added: unknown[]; removed: unknown[] }>(),
  configuration: new EventEmitter<{ affectsConfiguration(name: string): boolean }>(),
  kept: new EventEmitter<Uri>(),
};

/** The person at the editor, and what the extension did. */
export const editor = {
  commands: new Map<string, (...args: unknown[]) => unknown>(),
  providers: new Map<string, Provider>(),
  items: [] as Item[],
  messages: [] as Message[],
  log: [] as string[],
  visited: [] as string[],
  shown: [] as Doc[],
  settings: new Map<string, unknown>(),
  /** What is registered and not disposed of. */
  live: new Set<Disposable>(),
  /** The cancel buttons of progress that goes on. */
  progress: [] as (() => void)[],
  folders: [] as { uri: Uri; name: string; index: number }[],

  /** Begins again, with these folders and this program. */
  begin(dirs: string[], program: string): void {
    editor.folders = dirs.map((d, index) => ({ uri: Uri.file(d), name: basename(d), index }));
    editor.settings.clear();
    editor.settings.set('path', program);
    editor.messages.length = editor.items.length = editor.log.length = editor.visited.length = editor.shown.length = 0;
    window.activeTextEditor = undefined;
    workspace.textDocuments.length = 0;
  },
  look(uri: Uri | undefined): void {
    window.activeTextEditor = uri && { document: { uri, text: '' } };
    fired.editor.fire(window.activeTextEditor);
  },
  save(uri: Uri): void {
    fired.saved.fire({ uri, text: '' });
  },
  verified(): void {
    fired.kept.fire(Uri.file('/guards.cache.json'));
  },
  set(name: string, value: unknown): void {
    editor.settings.set(name, value);
    fired.configuration.fire({ affectsConfiguration: (n) => n === `mwp.${name}` });
  },
  leave(dir: string): void {
    const removed = editor.folders.filter((f) => f.uri.fsPath === dir);
    editor.folders = editor.folders.filter((f) => f.uri.fsPath !== dir);
    fired.folders.fire({ added: [], removed });
  },
  async run(command: string, ...args: unknown[]): Promise<void> {
    await editor.commands.get(command)?.(...args);
  },
  /** Waits for something that the extension does. */
  async until(what: () => boolean): Promise<void> {
    while (!what()) {
      await once(step, 'step');
    }
  },
};

function did(): void {
  step.emit('step');
}

function registered(undo: () => void): Disposable {
  const d = { dispose: () => { undo(); editor.live.delete(d); } };
  editor.live.add(d);
  return d;
}

function message(kind: Message['kind']) {
  return (text: string, ...buttons: string[]): Promise<string | undefined> => new Promise((press) => {
    editor.messages.push({ kind, text, buttons, press });
    did();
  });
}

export const window = {
  activeTextEditor: undefined as { document: Doc } | undefined,
  onDidChangeActiveTextEditor: fired.editor.event,
  showInformationMessage: message('information'),
  showWarningMessage: message('warning'),
  showErrorMessage: message('error'),
  createOutputChannel() {
    return {
      ...registered(() => undefined),
      info: (line: string) => { editor.log.push(line); did(); },
      show: () => { editor.visited.push('log'); did(); },
    };
  },
  createStatusBarItem(): Item {
    const item: Item = {
      visible: false, text: '',
      show: () => { item.visible = true; did(); },
      hide: () => { item.visible = false; did(); },
      dispose: () => { item.visible = false; did(); },
    };
    editor.items.push(item);
    return item;
  },
  async withProgress<T>(options: { title: string }, task: (p: unknown, token: Token) => Promise<T>): Promise<T> {
    const { token, cancel } = source();
    editor.progress.push(cancel);
    did();
    try {
      return await task({ report: () => options }, token);
    } finally {
      editor.progress.splice(editor.progress.indexOf(cancel), 1);
    }
  },
  async showTextDocument(doc: Doc): Promise<void> {
    editor.shown.push(doc);
    editor.look(doc.uri);
    did();
  },
};

export const workspace = {
  textDocuments: [] as Doc[],
  onDidSaveTextDocument: fired.saved.event,
  onDidCloseTextDocument: fired.closed.event,
  onDidChangeWorkspaceFolders: fired.folders.event,
  onDidChangeConfiguration: fired.configuration.event,
  createFileSystemWatcher: () => ({
    ...registered(() => undefined),
    onDidChange: fired.kept.event, onDidCreate: fired.kept.event, onDidDelete: fired.kept.event,
  }),
  getConfiguration: () => ({ get: (name: string, otherwise: unknown) => editor.settings.get(name) ?? otherwise }),
  getWorkspaceFolder: (uri: Uri) => editor.folders
    .filter((f) => uri.scheme === 'file' && (uri.fsPath + sep).startsWith(f.uri.fsPath + sep))
    .sort((a, b) => b.uri.path.length - a.uri.path.length)[0],
  registerTextDocumentContentProvider(scheme: string, provider: Provider): Disposable {
    editor.providers.set(scheme, provider);
    const listener = provider.onDidChange((uri) => {
      const open = workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
      if (open) {
        provider.provideTextDocumentContent(uri, source().token).then((text) => {
          open.text = text;
          did();
        }, (e: unknown) => editor.log.push(String(e)));
      }
    });
    return registered(() => { editor.providers.delete(scheme); listener.dispose(); });
  },
  async openTextDocument(uri: Uri): Promise<Doc> {
    const open = workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
    if (open) {
      return open;
    }
    const doc = { uri, text: (await editor.providers.get(uri.scheme)?.provideTextDocumentContent(uri, source().token)) ?? '' };
    workspace.textDocuments.push(doc);
    return doc;
  },
};

export const commands = {
  registerCommand(name: string, f: (...args: unknown[]) => unknown): Disposable {
    editor.commands.set(name, f);
    return registered(() => editor.commands.delete(name));
  },
  executeCommand: (...args: unknown[]) => { editor.visited.push(args.join(' ')); did(); },
};

export const env = {
  openExternal: (uri: Uri) => { editor.visited.push(uri.toString()); did(); },
};

function source(): { token: Token; cancel: () => void } {
  const emitter = new EventEmitter<void>();
  const token = { isCancellationRequested: false, onCancellationRequested: (l: () => void) => emitter.event(l) };
  return { token, cancel: () => { token.isCancellationRequested = true; emitter.fire(); } };
}

/**
 * What the editor shows of mwp (D-82): the map of the file at hand, the account of that
 * map, and a sign when the map is read-only. Every rule is the server's; what it
 * answers is shown as it is.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { Gone, Refused, field, type Answer } from './client.js';
import { GaveUp, Missing, Server, locate } from './server.js';

const scheme = 'mwp';
const readme = 'https://github.com/model-workspace-protocol/mwp#readme';
/** A person who walks through tabs does not want a map of each. Milliseconds. */
const pause = 150;

/** A kind of document, by the authority of its URI: the tool that makes it, and how. */
const documents: Record<string, { tool: string; args: Record<string, unknown>; extension: string }> = {
  map: { tool: 'map_workspace', args: { full: true, render: 'markdown' }, extension: 'md' },
  explain: { tool: 'explain_context', args: {}, extension: 'txt' },
};

let running: Extension | undefined;

export function activate(context: vscode.ExtensionContext): void {
  running = new Extension(String(context.extension.packageJSON.version));
  context.subscriptions.push(running);
}

/** The editor waits some seconds for this; the servers end within them. */
export async function deactivate(): Promise<void> {
  await running?.close();
  running = undefined;
}

class Extension implements vscode.Disposable, vscode.TextDocumentContentProvider {
  readonly #servers = new Map<string, Server>();
  readonly #log = vscode.window.createOutputChannel('mwp', { log: true });
  readonly #status = vscode.window.createStatusBarItem('mwp.readOnly', vscode.StatusBarAlignment.Right, 100);
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  /** Texts that were fetched for a document that the editor is about to ask for. */
  readonly #fetched = new Map<string, string>();
  /** Troubles that were told without having been asked for: each is told once. */
  readonly #told = new Set<string>();
  readonly #version: string;
  readonly #disposables: vscode.Disposable[];
  #timer: NodeJS.Timeout | undefined;
  #asking: AbortController | undefined;
  /** The file that the status is of. */
  #shown = '';
  #closed = false;

  constructor(version: string) {
    this.#version = version;
    this.#status.name = 'mwp: read-only map';
    this.#status.text = '$(lock) mwp: read-only';
    this.#status.command = 'mwp.showMap';
    this.#status.backgroundColor = new vscode.ThemeColor('statusBarItem.warningBackground');
    // The results of guards change without a file of the editor being saved.
    const kept = vscode.workspace.createFileSystemWatcher('**/.mwp/{config.toml,guards.cache.json}');
    const look = () => this.#look();
    this.#disposables = [
      this.#log, this.#status, this.#changed, kept,
      vscode.workspace.registerTextDocumentContentProvider(scheme, this),
      vscode.commands.registerCommand('mwp.showMap', (uri?: vscode.Uri) => this.#open('map', uri)),
      vscode.commands.registerCommand('mwp.explain', (uri?: vscode.Uri) => this.#open('explain', uri)),
      vscode.commands.registerCommand('mwp.restart', () => this.#restart()),
      vscode.window.onDidChangeActiveTextEditor(look),
      vscode.workspace.onDidSaveTextDocument(look),
      kept.onDidChange(look), kept.onDidCreate(look), kept.onDidDelete(look),
      vscode.workspace.onDidCloseTextDocument((d) => this.#fetched.delete(d.uri.toString())),
      vscode.workspace.onDidChangeWorkspaceFolders((e) => this.#leave(e.removed)),
      vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration('mwp.path') ? this.#restart() : undefined),
    ];
    look();
  }

  dispose(): void {
    void this.close();
  }

  /** Ends everything that was started. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#asking?.abort();
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    this.#disposables.splice(0).forEach((d) => d.dispose());
    await Promise.all(servers.map((s) => s.close()));
  }

  /** The text of one of our documents, for the editor. */
  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const key = uri.toString();
    const text = this.#fetched.get(key);
    this.#fetched.delete(key);
    return text ?? (await this.#fetch(uri, token)).text;
  }

  async #fetch(uri: vscode.Uri, token: vscode.CancellationToken): Promise<Answer> {
    const what = documents[uri.authority];
    if (!what) {
      throw new Error(`no document ${uri.authority}, want ${Object.keys(documents).join(' or ')}`);
    }
    const cancel = new AbortController();
    const listener = token.onCancellationRequested(() => cancel.abort());
    try {
      return await this.#ask(subject(uri), what.tool, what.args, cancel.signal);
    } finally {
      listener.dispose();
    }
  }

  /**
   * Shows a document about a file. Its text is fetched first: what fails is then told
   * in our words, and a document that is open already gets the new text.
   */
  async #open(kind: 'map' | 'explain', given?: vscode.Uri): Promise<void> {
    const active = given ?? vscode.window.activeTextEditor?.document.uri;
    if (!active) {
      return void vscode.window.showInformationMessage('mwp: no file is open');
    }
    const file = subject(active);
    const name = `${path.posix.basename(file.path)}.${kind}.${documents[kind]?.extension}`;
    const uri = vscode.Uri.from({ scheme, authority: kind, path: `/${name}`, query: file.toString() });
    const progress = { location: vscode.ProgressLocation.Notification, title: `mwp: ${name}`, cancellable: true };
    await vscode.window.withProgress(progress, async (_, token) => {
      try {
        const { text } = await this.#fetch(uri, token);
        if (token.isCancellationRequested) {
          return;
        }
        this.#fetched.set(uri.toString(), text);
        this.#changed.fire(uri);
        const document = await vscode.workspace.openTextDocument(uri);
        await vscode.window.showTextDocument(document, { preview: true, viewColumn: vscode.ViewColumn.Beside });
      } catch (e) {
        if (!token.isCancellationRequested) {
          this.#tell(e);
        }
      }
    });
  }

  /** Asks the server of the folder that holds the file. */
  #ask(file: vscode.Uri, tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<Answer> {
    if (this.#closed) {
      return Promise.reject(new Error('the extension has ended'));
    }
    const folder = file.scheme === 'file' ? vscode.workspace.getWorkspaceFolder(file) : undefined;
    if (!folder) {
      const what = file.scheme === 'untitled' ? 'the text has no file yet; save it first' : `${file.path} is in no folder of this workspace`;
      return Promise.reject(new Refused(what));
    }
    // Relative to the folder: whatever links lead to it, the server is started in it.
    const target = path.relative(folder.uri.fsPath, file.fsPath).split(path.sep).join('/') || '.';
    return this.#server(folder).call(tool, { target, ...args }, signal);
  }

  #server(folder: vscode.WorkspaceFolder): Server {
    const key = folder.uri.toString();
    let server = this.#servers.get(key);
    if (!server) {
      const cwd = folder.uri.fsPath;
      const launch = () => ({
        command: locate(vscode.workspace.getConfiguration('mwp').get('path', '').trim()),
        args: ['serve-mcp', '--root', cwd],
        cwd,
      });
      server = new Server(launch, this.#version, (line) => this.#log.info(`${folder.name}: ${line}`));
      this.#servers.set(key, server);
    }
    return server;
  }

  /** Looks at the active file again, after a pause in which the last call counts. */
  #look(): void {
    if (this.#closed) {
      return; // after something that was waited for
    }
    clearTimeout(this.#timer);
    this.#asking?.abort();
    const file = vscode.window.activeTextEditor && subject(vscode.window.activeTextEditor.document.uri);
    if (!file || file.toString() !== this.#shown) {
      this.#hide(); // what it says is of another file
    }
    if (file?.scheme === 'file' && vscode.workspace.getWorkspaceFolder(file)) {
      this.#timer = setTimeout(() => void this.#refresh(file), pause);
    }
  }

  async #refresh(file: vscode.Uri): Promise<void> {
    const asking = new AbortController();
    this.#asking = asking;
    let failing: string[] | undefined;
    try {
      const answer = await this.#ask(file, 'map_workspace', { full: true, render: 'json' }, asking.signal);
      failing = failingGuards(answer);
    } catch (e) {
      if (!asking.signal.aborted) {
        this.#mention(e);
      }
    }
    if (asking.signal.aborted) {
      return; // of a file that is not at hand any more
    }
    if (!failing) {
      return this.#hide();
    }
    this.#shown = file.toString();
    this.#status.tooltip = ['The map of this file is read-only:', ...failing].join('\n');
    this.#status.show();
  }

  #hide(): void {
    this.#shown = '';
    this.#status.hide();
  }

  /** Ends all servers, forgets troubles, and asks anew for what is on the screen. */
  async #restart(): Promise<void> {
    await this.#stop([...this.#servers.keys()]);
    this.#told.clear();
    for (const d of vscode.workspace.textDocuments) {
      if (d.uri.scheme === scheme) {
        this.#changed.fire(d.uri);
      }
    }
    this.#look();
  }

  async #leave(folders: readonly vscode.WorkspaceFolder[]): Promise<void> {
    await this.#stop(folders.map((f) => f.uri.toString()));
    this.#look();
  }

  async #stop(keys: string[]): Promise<void> {
    const servers = keys.map((k) => this.#servers.get(k));
    keys.forEach((k) => this.#servers.delete(k));
    await Promise.all(servers.map((s) => s?.close()));
  }

  /** Tells a trouble that nobody waits for: once, and only what a person can mend. */
  #mention(e: unknown): void {
    const message = messageOf(e);
    this.#log.info(message);
    if ((e instanceof Missing || e instanceof GaveUp) && !this.#told.has(message)) {
      this.#told.add(message);
      this.#tell(e);
    }
  }

  /** Tells a trouble with what may be done about it. */
  #tell(e: unknown): void {
    if (this.#closed) {
      return; // nobody waits for it, and most likely it is that we ended the server
    }
    const actions: Record<string, () => unknown> = {};
    if (e instanceof Missing) {
      actions['How to install'] = () => vscode.env.openExternal(vscode.Uri.parse(readme));
      actions['Open settings'] = () => vscode.commands.executeCommand('workbench.action.openSettings', 'mwp.path');
    } else if (e instanceof GaveUp || e instanceof Gone) {
      actions['Restart'] = () => this.#restart();
      actions['Show log'] = () => this.#log.show();
    }
    const show = e instanceof Refused ? vscode.window.showWarningMessage : vscode.window.showErrorMessage;
    void show(`mwp: ${cut(unlinked(messageOf(e)), 500)}`, ...Object.keys(actions)).then((choice) => choice && actions[choice]?.());
  }
}

/** The file that a document is about: itself, or the one that our document is of. */
function subject(uri: vscode.Uri): vscode.Uri {
  return uri.scheme === scheme ? vscode.Uri.parse(uri.query) : uri;
}

/** What a map in JSON says about failing guards, in its own words; undefined unless it is read-only. */
function failingGuards(answer: Answer): string[] | undefined {
  const map = answer.structured ?? JSON.parse(answer.text);
  if (field(map, 'read_only') !== true) {
    return undefined;
  }
  const warnings = field(map, 'warnings');
  return (Array.isArray(warnings) ? warnings : [])
    .filter((w) => field(w, 'code') === 'guard_failed' && field(w, 'severity') === 'error')
    .slice(0, 20)
    .map((w) => cut(`${field(w, 'source')}:${field(w, 'line')}: ${field(w, 'message')}`, 300));
}

/** The text without links: notifications follow them to commands, and a workspace has a say in the text. */
function unlinked(text: string): string {
  return text.replaceAll('](', '] (');
}

function messageOf(e: unknown): string {
  return e instanceof Error ? e.message : String(e);
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

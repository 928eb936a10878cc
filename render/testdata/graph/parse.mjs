// Reads [{"name", "text", "labels": {id: label}, "edges": n}] from standard input
// and parses every text with Mermaid, as a page does. Prints one line for each text
// that does not parse, or that says something else than it should, and exits 1.
//
// The argument is a node_modules directory that holds mermaid and jsdom.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const modules = resolve(process.argv[2]);
const { JSDOM } = createRequire(join(modules, "x.js"))("jsdom");
const { window } = new JSDOM("<body></body>");
globalThis.window = window;
globalThis.document = window.document;
const entry = join(modules, "mermaid", "dist", "mermaid.core.mjs");
const { default: mermaid } = await import(pathToFileURL(entry));
mermaid.initialize({ startOnLoad: false });
await mermaid.parse("flowchart TB\n  a --> b"); // Loads the grammar, which adds settings once.
const settings = () => JSON.stringify(mermaid.mermaidAPI.getConfig());

// Mermaid keeps entities in a spelling of its own until it draws.
const decode = (s) =>
  s.replaceAll("<br>", "<br/>").replaceAll("ﬂ°quot¶ß", '"').replace(/ﬂ°°(\d+)¶ß/g, (_, n) => String.fromCodePoint(n));

async function complaint(input) {
  const before = settings();
  const parsed = await mermaid.parse(input.text);
  const diagram = await mermaid.mermaidAPI.getDiagramFromText(input.text);
  if (parsed.diagramType !== "flowchart-v2") return `is a ${parsed.diagramType}`;
  if (Object.keys(parsed.config ?? {}).length > 0) return `brings settings ${JSON.stringify(parsed.config)}`;
  if (settings() !== before) return "changes the page's settings";
  const vertices = [...diagram.db.getVertices().values()];
  if (vertices.length !== Object.keys(input.labels).length) return `has ${vertices.length} nodes`;
  for (const v of vertices) {
    if (v.link || v.haveCallback) return `node ${v.id} can be clicked`;
    if (decode(v.text) !== input.labels[v.id]) return `node ${v.id} reads ${JSON.stringify(decode(v.text))}`;
  }
  const edges = diagram.db.getEdges().length;
  if (edges !== input.edges) return `has ${edges} edges`;
  return "";
}

let failed = 0;
for (const input of JSON.parse(readFileSync(0, "utf8"))) {
  const said = await complaint(input).catch((e) => `does not parse: ${e.message ?? e}`);
  if (said) {
    console.log(`${input.name}: ${said}`);
    failed++;
  }
}
process.exit(failed > 0 ? 1 : 0);

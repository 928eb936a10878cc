// A client whose methods are called by lines on standard input, one JSON object each:
//
//   {"op": "callTool", "params": {...}}
//
// For each it writes one line: {"result", "progress"} or {"error": {code, message, data}}.
// "server" tells what was negotiated. The arguments are the generation of the SDK (v1 or
// v2), how v2 negotiates ("legacy", "auto" or a revision), and the server's command.
import { createInterface } from 'node:readline';

const [generation, negotiation, command, ...args] = process.argv.slice(2);
const info = { name: `typescript-${generation}`, version: '0' };
const env = { ...process.env };
const connect = { v1, v2 }[generation];
const client = await connect();

async function v1() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const client = new Client(info);
  const transport = new StdioClientTransport({ command, args, env });
  // This generation keeps the negotiated revision to itself, except for the transport.
  transport.setProtocolVersion = (version) => { client.negotiated = version; };
  await client.connect(transport);
  return client;
}

async function v2() {
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const mode = ['legacy', 'auto'].includes(negotiation) ? negotiation : { pin: negotiation };
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ command, args, env }));
  client.negotiated = client.getNegotiatedProtocolVersion();
  return client;
}

async function answer({ op, params }) {
  const progress = [];
  const options = { onprogress: (p) => progress.push(p) };
  switch (op) {
    case 'server':
      return {
        result: {
          protocolVersion: client.negotiated,
          serverInfo: client.getServerVersion(),
          capabilities: client.getServerCapabilities(),
          instructions: client.getInstructions(),
        },
      };
    case 'callTool': {
      const result = generation === 'v1' ? await client.callTool(params, undefined, options) : await client.callTool(params, options);
      return { result, progress };
    }
    default:
      return { result: await client[op](params) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    said = await answer(JSON.parse(line));
  } catch (e) {
    said = { error: { code: typeof e.code === 'number' ? e.code : 0, message: String(e.message ?? e), data: e.data } };
  }
  process.stdout.write(JSON.stringify(said) + '\n');
}
await client.close();

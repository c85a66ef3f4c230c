import { dirname, resolve } from "node:path";
import { EXIT } from "../../api/problems.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import type { CommandContext } from "../context.ts";
import { whoAnswers } from "../hooking/ask-server.ts";
import { isOwnDoor, makeRunFolder, ownFolder, ownUid, runFolder } from "../hooking/run-folder.ts";
import { shellWord } from "../agents/hook-script.ts";
import { StoreServer } from "../hooking/serve-store.ts";
import { placesOf } from "../places.ts";
import { printable } from "../render/printable.ts";
import { type OperatorToken, operatorToken } from "../serving/operator-token.ts";
import { plannedOidc } from "../serving/oidc-plan.ts";
import { plannedPorts } from "../serving/serve-plan.ts";

export async function serve(context: CommandContext): Promise<number> {
  const { io, input } = context;
  const quiet = input.flag("quiet");
  const disk = new NodeDisk();
  const recorded = { commits: 0, events: 0 };
  const store = await context.store({
    onCommit: ({ events }) => {
      recorded.commits += 1;
      recorded.events += events;
    },
  });
  const uid = ownUid();
  const usual = runFolder(disk, { env: io.env, home: store.home, uid });
  const wanted = input.text("socket");
  const run = wanted === undefined ? usual : { ...usual, socket: resolve(io.cwd(), wanted) };
  const ports = plannedPorts(context);
  const oidc = plannedOidc(context, ports.length > 0);
  makeRunFolder(disk, run, uid);
  ownFolder(disk, dirname(run.socket), uid);
  const idleMs = (input.number("idle") ?? 0) * 1000;
  // A process of an older version is told so by being asked, and leaves; one that a hook started makes way.
  const there = isOwnDoor(disk, run, uid) ? await whoAnswers(run.door, io.version) : undefined;
  if (there !== undefined && (there.stays || idleMs > 0)) {
    if (context.json) context.printJson({ socket: run.door, already: true, left: null });
    else if (!quiet) context.print(`there is a process for ${printable(store.home)} already`);
    return ports.length === 0 ? EXIT.done : EXIT.refused;
  }
  const { configFolder } = placesOf({ env: io.env, userHome: io.userHome, cwd: io.cwd(), store: input.text("store") });
  const operator = ports.length === 0 ? undefined : operatorOf(context, disk, configFolder);
  const server = new StoreServer({
    ...{ store, configFolder, disk, run, version: io.version, idleMs, ports },
    ...(operator === undefined ? {} : { operatorToken: operator.token }),
    ...(oidc === undefined ? {} : { oidc }),
    ...{ recorded, metricsPublic: input.flag("metricsPublic") },
    // Who was started by a hook is started anywhere.
    ...(idleMs > 0 ? {} : { folder: io.cwd() }),
    onListening: (urls) => tellListening(context, { socket: run.socket, urls, operator }),
    onFolder: (hosted) => tellFolder(context, hosted),
  });
  const endInterrupt = onInterrupt(context, server);
  try {
    const left = await server.serve();
    if (!quiet && !context.json) context.say(`ended: ${left}`);
    return EXIT.done;
  } finally {
    endInterrupt();
  }
}

function operatorOf({ io, input }: CommandContext, disk: NodeDisk, configFolder: string): OperatorToken {
  const file = input.text("tokenFile");
  return operatorToken(disk, {
    given: io.env["CHRONICLE_TOKEN"],
    file: file === undefined ? undefined : resolve(io.cwd(), file),
    configFolder,
  });
}

/** The first signal lets what was taken be answered; the second ends it where it stands: what was acknowledged is durable. */
function onInterrupt({ io }: CommandContext, server: StoreServer): () => void {
  let isTold = false;
  return io.onInterrupt(() => {
    if (isTold) process.exit(EXIT.failed);
    isTold = true;
    server.leave("signal");
  });
}

interface Listening {
  readonly socket: string;
  readonly urls: readonly string[];
  readonly operator: OperatorToken | undefined;
}

/** What it listens on, and how to ask it. */
function tellListening(context: CommandContext, { socket, urls, operator }: Listening): void {
  if (context.json) {
    context.printJson({ socket, urls: [...urls], token_from: operator?.from ?? null, already: false, left: null });
    return;
  }
  if (context.input.flag("quiet")) return;
  context.say(`listening on ${printable(socket)}`);
  for (const url of urls) context.say(`listening on ${url}`);
  const [url] = urls;
  if (url === undefined || operator === undefined) {
    context.say(`ask it: curl --unix-socket ${shellWord(socket)} http://chronicle/v1/workspaces`);
    return;
  }
  const from = operator.from.startsWith("$") ? operator.from : `$(cat ${shellWord(operator.from)})`;
  context.say(
    `operator's token: in ${printable(operator.from)}; for others: ${context.worded("chronicle token create --role reader")}`,
  );
  context.say(`ask it: curl -H "Authorization: Bearer ${from}" ${url}/v1/workspaces`);
}

/** The folder that it was started in. */
function tellFolder(context: CommandContext, hosted: WorkspaceApi | Error): void {
  if (context.json || context.input.flag("quiet")) return;
  const folder = printable(context.io.cwd());
  if (!(hosted instanceof Error)) context.say(`${printable(hosted.path)} is workspace ${hosted.id}`);
  else context.say(`${folder} is not served: ${printable(hosted.message)}`);
}

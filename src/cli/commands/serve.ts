import { dirname, resolve } from "node:path";
import { EXIT } from "../../api/problems.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import type { CommandContext } from "../context.ts";
import { isAnswered } from "../hooking/ask-server.ts";
import { isOwnDoor, makeRunFolder, ownFolder, ownUid, runFolder } from "../hooking/run-folder.ts";
import { StoreServer } from "../hooking/serve-store.ts";
import { placesOf } from "../places.ts";
import { printable } from "../render/printable.ts";

export async function serve(context: CommandContext): Promise<number> {
  const { io, input } = context;
  const quiet = input.flag("quiet");
  const disk = new NodeDisk();
  const store = await context.store();
  const uid = ownUid();
  const usual = runFolder(disk, { env: io.env, home: store.home, uid });
  const wanted = input.text("socket");
  const run = wanted === undefined ? usual : { ...usual, socket: resolve(io.cwd(), wanted) };
  makeRunFolder(disk, run, uid);
  ownFolder(disk, dirname(run.socket), uid);
  // A process of an older version is told so by being asked, and leaves.
  if (isOwnDoor(disk, run, uid) && (await isAnswered(run.door, io.version))) {
    if (context.json) context.printJson({ socket: run.door, already: true, left: null });
    else if (!quiet) context.print(`there is a process for ${printable(store.home)} already`);
    return EXIT.done;
  }
  const idleMs = (input.number("idle") ?? 0) * 1000;
  const onListening = (): void => (quiet || context.json ? undefined : context.say(`listening on ${run.socket}`));
  const { configFolder } = placesOf({ env: io.env, userHome: io.userHome, cwd: io.cwd(), store: input.text("store") });
  const server = new StoreServer({ store, configFolder, disk, run, version: io.version, idleMs, onListening });
  const endInterrupt = io.onInterrupt(() => server.leave("signal"));
  try {
    const left = await server.serve();
    if (context.json) context.printJson({ socket: run.socket, already: false, left });
    else if (!quiet) context.say(`ended: ${left}`);
    return EXIT.done;
  } finally {
    endInterrupt();
  }
}

import { watch } from "node:fs";
import { createInterface } from "node:readline";

/**
 * The helper that `unison -repeat watch` asks for changed paths. Some packages of unison lack it. The protocol is
 * version 1 of unison's own (src/fsmonitor/watchercommon.ml of unison 2.52). Each command is a line, and its arguments
 * are percent-encoded.
 */

/** A watched root; `replica` is unison's word for it. */
interface Replica {
  /** Paths that have changed since unison last asked for them. */
  readonly changed: Set<string>;
  close(): void;
}

const replicas = new Map<string, Replica>();
/** The ids of the replicas for whose next change unison waits. */
let waiting = new Set<string>();

function send(command: string, ...args: string[]): void {
  const encoded = args.map((arg) => encodeURIComponent(arg).replaceAll("%2F", "/"));
  process.stdout.write(`${[command, ...encoded].join(" ")}\n`);
}

/** Tells unison that a replica has changes. Unison then waits no longer. */
function announce(id: string): void {
  waiting = new Set();
  send("CHANGES", id);
}

function start(id: string, root: string): void {
  const changed = new Set<string>();
  const watcher = watch(root, { recursive: true }, (_, name) => {
    changed.add(name ?? "");
    if (waiting.has(id)) announce(id);
  });
  replicas.set(id, { changed, close: () => watcher.close() });
}

function answer(command: string, [id = "", root = ""]: readonly string[]): void {
  // Every other command ends the waiting.
  if (command !== "WAIT") waiting = new Set();
  const replica = replicas.get(id);
  switch (command) {
    case "START":
      if (replica === undefined) start(id, root);
      return send("OK");
    case "DIR":
    case "LINK":
      return send("OK");
    case "WAIT":
      if ((replica?.changed.size ?? 0) > 0) announce(id);
      else waiting.add(id);
      return undefined;
    case "CHANGES":
      for (const name of replica?.changed ?? []) send("RECURSIVE", name);
      replica?.changed.clear();
      return send("DONE");
    case "RESET":
      replica?.close();
      replicas.delete(id);
      return undefined;
    default:
      return undefined;
  }
}

send("VERSION", "1");
for await (const line of createInterface({ input: process.stdin })) {
  const [command = "", ...args] = line.split(" ").map(decodeURIComponent);
  answer(command, args);
}
process.exit(0);

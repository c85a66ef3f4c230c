import { watch } from "node:fs";
import { createInterface } from "node:readline";

/**
 * The helper that `unison -repeat watch` asks what has changed, for systems whose package of unison comes without one. Speaks
 * version 1 of its protocol (src/fsmonitor/watchercommon.ml of unison 2.52): commands of one line, arguments percent-encoded.
 */

interface Replica {
  readonly changed: Set<string>;
  close(): void;
}

const replicas = new Map<string, Replica>();
let waiting = new Set<string>();

function say(command: string, ...args: string[]): void {
  const encoded = args.map((arg) => encodeURIComponent(arg).replaceAll("%2F", "/"));
  process.stdout.write(`${[command, ...encoded].join(" ")}\n`);
}

function tell(id: string): void {
  waiting = new Set();
  say("CHANGES", id);
}

function start(id: string, root: string): void {
  const changed = new Set<string>();
  const watcher = watch(root, { recursive: true }, (_, name) => {
    changed.add(name ?? "");
    if (waiting.has(id)) tell(id);
  });
  replicas.set(id, { changed, close: () => watcher.close() });
}

function answer(command: string, [id = "", root = ""]: readonly string[]): void {
  // With any other command, unison no longer waits for changes.
  if (command !== "WAIT") waiting = new Set();
  const replica = replicas.get(id);
  switch (command) {
    case "START":
      if (replica === undefined) start(id, root);
      return say("OK");
    case "DIR":
    case "LINK":
      return say("OK");
    case "WAIT":
      if ((replica?.changed.size ?? 0) > 0) tell(id);
      else waiting.add(id);
      return undefined;
    case "CHANGES":
      for (const name of replica?.changed ?? []) say("RECURSIVE", name);
      replica?.changed.clear();
      return say("DONE");
    case "RESET":
      replica?.close();
      replicas.delete(id);
      return undefined;
    default:
      return undefined;
  }
}

say("VERSION", "1");
for await (const line of createInterface({ input: process.stdin })) {
  const [command = "", ...args] = line.split(" ").map(decodeURIComponent);
  answer(command, args);
}
process.exit(0);

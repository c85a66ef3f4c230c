import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { chronicleCommand, LIMITS_OFF } from "./chronicle-tool.ts";
import { runCommand, type Command } from "./command.ts";
import { Background, type SyncPair, type SyncPeer } from "./sync-peer.ts";

const PATIENCE_MS = 600_000;
const POLL_MS = 5;

/** The socket of the server of a pair's origin. */
export function originSocket({ home }: SyncPair): string {
  return join(home, "run-origin", "s.sock");
}

/** Commands of the origin and of the replica: each has a store of its own, as on two machines. */
function commandsOf({ from, to, home }: SyncPair) {
  const at = (folder: string, name: string) => {
    const command = chronicleCommand(folder, join(home, name));
    mkdirSync(join(home, `run-${name}`), { recursive: true, mode: 0o700 });
    return (...args: string[]): Command => {
      const { argv, cwd, env } = command(...args);
      return { argv, cwd, env: { ...env, XDG_RUNTIME_DIR: join(home, `run-${name}`) } };
    };
  };
  return { origin: at(from, "origin"), replica: at(to, "replica") };
}

/** Makes commands of the origin of a pair. */
export function inOrigin(pair: SyncPair): (...args: string[]) => Command {
  return commandsOf(pair).origin;
}

/** The name of a workspace without a folder that begins with the files of `from`. */
export const HOSTED = "hosted";

/**
 * Records the files of `from`, unless that was done before, and serves them. `isHosted`: with the workspace `HOSTED`.
 */
export function startOrigin(pair: SyncPair, { isNew = true, isHosted = false } = {}): Background {
  const { origin } = commandsOf(pair);
  if (isNew) runCommand(origin("init", ...LIMITS_OFF));
  if (isNew && isHosted) {
    const [{ id } = { id: "" }] = JSON.parse(runCommand(origin("workspaces", "--json"))) as { id: string }[];
    runCommand(origin("workspaces", "create", HOSTED, "--from", id));
  }
  const { argv, env } = origin("serve", "--socket", originSocket(pair), "--replication");
  return new Background(argv, pair.home, { env: env ?? {}, log: "origin.log" });
}

/**
 * Has `to` follow an origin, by default the one of the pair. Its output is JSON, in `replica.log` of the pair's home.
 */
export function startReplica(pair: SyncPair, socket = originSocket(pair), workspace?: string): Background {
  const which = workspace === undefined ? [] : ["--workspace", workspace];
  const { argv, env } = commandsOf(pair).replica("replicate", pair.to, "--connect", socket, ...which, "--json");
  return new Background(argv, pair.home, { env: env ?? {}, log: "replica.log" });
}

/** Number of times that the replica of a pair reported to be in sync. */
export function timesInSync({ home }: SyncPair): number {
  return readFileSync(join(home, "replica.log"), "utf8").split(/"state": ?"in-sync"/).length - 1;
}

/** The last event of the origin that the replica of a pair has said to have in its folder. */
export function appliedBy({ home }: SyncPair): number {
  const said = readFileSync(join(home, "replica.log"), "utf8").matchAll(/"applied": ?(\d+)/g);
  return Number([...said].at(-1)?.[1] ?? 0);
}

/** Resolves when the replica has said that it has everything, once more than `before`. */
export async function inSync(pair: SyncPair, before = 0): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
    if (timesInSync(pair) > before) return;
    await pause(POLL_MS);
  }
  throw new Error("the replica did not get everything");
}

/** An origin that serves a folder, and a replica that follows it into another one: two processes, as users have them. */
export const chroniclePeer: SyncPeer = {
  name: "chronicle",
  missing: () => undefined,
  async start(pair) {
    await using starting = new AsyncDisposableStack();
    starting.use(startOrigin(pair));
    starting.use(startReplica(pair));
    return starting.move();
  },
};

/**
 * The same with an origin whose files are only in its history: the replica's folder is the only one that writes go to.
 */
export const hostedPeer: SyncPeer = {
  name: "chronicle, an origin without a folder",
  missing: () => undefined,
  async start(pair) {
    await using starting = new AsyncDisposableStack();
    starting.use(startOrigin(pair, { isHosted: true }));
    starting.use(startReplica(pair, originSocket(pair), HOSTED));
    return starting.move();
  },
};

import { mkdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { chronicleCommand, LIMITS_OFF } from "./chronicle-tool.ts";
import { runCommand, type Command } from "./command.ts";
import { Background, type SyncPair, type SyncPeer } from "./sync-peer.ts";

const PATIENCE_MS = 600_000;
const POLL_MS = 5;

/** Returns the path of the Unix socket on which the origin of a pair is served. */
export function originSocket({ home }: SyncPair): string {
  return join(home, "run-origin", "s.sock");
}

/** Makes commands of the origin and of the replica. Each of the two has its own store, as on two machines. */
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

/** The name of a hosted workspace that begins with the files of `from`. */
export const HOSTED = "hosted";

/**
 * Starts a server for the workspace of `from`. Creates this workspace first, unless `isNew` is false. With `isHosted`,
 * also creates the hosted workspace `HOSTED`.
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

/** Resolves when the origin's server accepts connections. Rejects after 10 minutes. */
export async function listening(pair: SyncPair): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
    const socket = connect(originSocket(pair));
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await pause(POLL_MS);
  }
  throw new Error("the origin did not listen in time");
}

/**
 * Starts a replica in `to`. It prints JSON to `replica.log` in the pair's home. `socket`: the origin's server, by
 * default that of the pair. `workspace`: the name of the origin, by default the workspace of the server's folder.
 */
export function startReplica(pair: SyncPair, socket = originSocket(pair), workspace?: string): Background {
  const which = workspace === undefined ? [] : ["--workspace", workspace];
  const { argv, env } = commandsOf(pair).replica("replicate", pair.to, "--connect", socket, ...which, "--json");
  return new Background(argv, pair.home, { env: env ?? {}, log: "replica.log" });
}

/** Returns how many times the replica of a pair has reported that it is in sync. */
export function timesInSync({ home }: SyncPair): number {
  return readFileSync(join(home, "replica.log"), "utf8").split(/"state": ?"in-sync"/).length - 1;
}

/**
 * Returns the seq of the origin's last event that the replica of a pair has reported as applied to its folder, or 0.
 */
export function appliedBy({ home }: SyncPair): number {
  const reports = readFileSync(join(home, "replica.log"), "utf8").matchAll(/"applied": ?(\d+)/g);
  return Number([...reports].at(-1)?.[1] ?? 0);
}

/**
 * Resolves when the replica has reported more than `before` times that it is in sync. Rejects if the replica has ended
 * with an error, and after 10 minutes.
 */
export async function inSync(pair: SyncPair, before = 0): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
    if (timesInSync(pair) > before) return;
    const error = /^ {2}"error": \{[^]*/m.exec(readFileSync(join(pair.home, "replica.log"), "utf8"));
    if (error !== null) throw new Error(`the replica has ended: ${error[0]}`);
    await pause(POLL_MS);
  }
  throw new Error("the replica was not in sync in time");
}

/** A server whose origin is the workspace of `from`, and a replica in `to`: two processes, as users have them. */
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
 * Like `chroniclePeer`, with a hosted workspace as the origin. The replica's folder is then the only folder of the
 * files.
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

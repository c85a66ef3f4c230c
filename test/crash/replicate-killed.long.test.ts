import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { VerifyShape } from "../../src/api/shapes.ts";
import type { SyncShape } from "../../src/api/sync-api.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { open } from "../../src/open.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { CutWire, freePort } from "../helpers/cut-wire.ts";
import { ReplicateProcess } from "../helpers/replicate-process.ts";
import {
  contentsIn,
  FolderWriter,
  folderOf,
  hashesOf,
  killOften,
  random,
  settleAll,
  SharedPaths,
  writtenTwice,
} from "../helpers/replica-trial.ts";
import { ServerProcess } from "../helpers/server-process.ts";
import { WriteClient } from "./write-client.ts";

/**
 * `chronicle replicate` in the foreground, over each of its two kinds of connection. One of both processes is killed at
 * any moment, and the connection is cut in the middle of a frame. Meanwhile, both sides are written to: over HTTP at
 * the origin, by another process of the replica's user, and by programs in both folders. `CRASH_RUNS`: the number of
 * kills.
 */

const RUNS = Number(process.env["CRASH_RUNS"] ?? 4);
const SEED = Number(process.env["CRASH_SEED"] ?? 4712);
/** The time after which both sides must have everything, also on a busy machine. */
const REST_MS = 300_000;
/** A client repeats a request until it has an answer. */
const retry = { tries: 10_000, firstWait: 20, longestWait: 300, longestInAll: 600_000 };

test.each(["--connect", "--ws-connect"] as const)(
  `over %s, every answered write is recorded exactly once, over ${RUNS} kills of the origin or of \`replicate\``,
  { timeout: 400_000 + RUNS * 20_000 },
  async (way) => {
    await using box = new ReplicateProcess();
    await using met = await meet(way, box);
    const { origin, wire, options } = met;
    const { folder } = box;
    await box.start(options);
    const there = createClient({ url: origin.socketUrl, retry });
    const here = createClient({ url: box.socketUrl, retry });
    const source = there.workspace(await folderOf(there));
    const { syncs } = here;
    await syncs.flush(box.id);
    const copy = await open({ folder, home: box.home, configFolder: join(box.userHome, ".config", "chronicle") });

    const ending = new AbortController();
    const own = [new WriteClient(source, "o", random(SEED + 1)), new WriteClient(copy, "r", random(SEED + 2))];
    const shared = [
      new SharedPaths(source, "origin", random(SEED + 3)),
      new SharedPaths(copy, "replica", random(SEED + 4)),
    ];
    const folders = [new FolderWriter(origin.project, "there", 80), new FolderWriter(folder, "here", 80)];
    const running = Promise.all([...own, ...shared, ...folders].map((writer) => writer.run(ending.signal)));
    running.catch(() => undefined);
    const replica = { kill: () => box.kill(), start: () => box.start(options) };
    const status = (): Promise<SyncShape> => syncs.status(box.id);
    const killed = await killOften({ origin, replica, wire, running, status, runs: RUNS, seed: SEED });
    ending.abort();
    await running;

    await syncs.flush(box.id, { timeoutMs: REST_MS });
    const settled = await settleAll(syncs, box.id);
    expect(contentsIn(folder)).toEqual(contentsIn(origin.project));
    for (const { left } of folders) {
      for (const [path, content] of left) expect(readFileSync(join(folder, path), "utf8"), path).toBe(content);
    }
    const [ours, theirs] = [await source.log(), await copy.log()];
    expect(writtenTwice(ours)).toEqual([]);
    const complaintsAt = async (where: typeof source) =>
      (await Promise.all(own.map((client) => client.complaints(where)))).flat();
    const complaints = await complaintsAt(source);
    // If there are complaints, the complaints at the replica tell more.
    const atReplica = complaints.length === 0 ? [] : await complaintsAt(copy);
    expect([complaints, atReplica]).toEqual([[], []]);
    const [kept, keptHere] = [ours, theirs].map((log) => new Set(log.flatMap(hashesOf)));
    const answered = shared.flatMap((writer) => writer.answered);
    expect(answered.filter(({ hash, path }) => kept?.has(hash) !== true && !settled.has(path))).toEqual([]);
    expect((shared[1]?.answered ?? []).filter(({ hash }) => keptHere?.has(hash) !== true)).toEqual([]);
    await copy.close();
    expect(await box.kill("SIGINT")).toBe(0);
    for (const args of [["verify"], ["--upstream", "verify"]]) expect(complaintsOf(box, args)).toEqual([]);
    expect((await source.verify()).problems).toEqual([]);
    await Promise.all([there.close(), here.close()]);
    expect(wire.cuts).toBeGreaterThan(0);
    const counted = [...own.map((client) => client.answered), ...shared.map((writer) => writer.answered.length)];
    for (const count of counted) expect(count).toBeGreaterThan(RUNS);
    process.stdout.write(
      `${way}: ${killed.join(" ")}; ${wire.cuts} cuts; ${wire.made} connections; answered ${counted.join("+")}; ` +
        `${ours.length} and ${theirs.length} events; ${settled.size} conflicts in the end\n`,
    );
  },
);

/** An origin, and a connection to it that can be cut. */
interface Meeting extends AsyncDisposable {
  readonly origin: ServerProcess;
  readonly wire: CutWire;
  /** The options of `replicate`. */
  readonly options: readonly string[];
}

async function meet(way: "--connect" | "--ws-connect", box: ReplicateProcess): Promise<Meeting> {
  await using stack = new AsyncDisposableStack();
  if (way === "--connect") {
    const origin = stack.use(new ServerProcess(["--replication"]));
    await origin.start();
    const wire = stack.use(new CutWire(join(box.base, "w.sock"), origin.socketUrl.slice("unix:".length)));
    await wire.listen();
    return { origin, wire, options: [way, wire.path], ...disposing(stack.move()) };
  }
  const port = await freePort();
  const wire = stack.use(new CutWire(0, port));
  await wire.listen();
  const name = `127.0.0.1:${wire.port}`;
  const origin = stack.use(new ServerProcess(["--replication", "--listen", `127.0.0.1:${port}`, "--allow-host", name]));
  await origin.start();
  const file = join(box.base, "box.token");
  writeFileSync(file, origin.makeToken("agent"), { mode: 0o600 });
  return { origin, wire, options: [way, `ws://${name}`, "--token-file", file], ...disposing(stack.move()) };
}

function disposing(stack: AsyncDisposableStack): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Runs a command that verifies a history, as the replica's user in the folder. Returns the problems that it finds. */
function complaintsOf({ folder, env }: ReplicateProcess, args: readonly string[]): unknown[] {
  const ran = spawnSync(process.execPath, [chronicleBin(), "--json", ...args], { cwd: folder, env, encoding: "utf8" });
  if (ran.stdout === "") throw new Error(ran.stderr);
  const { ok, problems } = JSON.parse(ran.stdout) as VerifyShape;
  return ok ? problems : [...problems, ran.stderr];
}

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-node-client.ts";
import type { SyncShape } from "../../src/api/sync-api.ts";
import type { ChronicleClient } from "../../src/client/chronicle-client.ts";
import { CutWire } from "../helpers/cut-wire.ts";
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
 * An origin and its replica, in processes with their own stores. While both sides are written to, one process is killed
 * at any moment, or the connection is cut in the middle of a frame. `CRASH_RUNS`: the number of kills.
 */

const RUNS = Number(process.env["CRASH_RUNS"] ?? 4);
const SEED = Number(process.env["CRASH_SEED"] ?? 4711);
/** A client repeats a request until it has an answer. */
const retry = { tries: 10_000, firstWait: 20, longestWait: 300, longestInAll: 600_000 };

test(
  `every answered write is recorded exactly once, over ${RUNS} kills of the origin or its replica`,
  { timeout: 100_000 + RUNS * 10_000 },
  async () => {
    await using origin = new ServerProcess(["--replication"]);
    await using replica = new ServerProcess();
    await Promise.all([origin.start(), replica.start()]);
    await using wire = new CutWire(join(replica.base, "w.sock"), origin.socketUrl.slice("unix:".length));
    await wire.listen();
    const [there, here] = [origin, replica].map(({ socketUrl: url }) => createClient({ url, retry })) as [
      ChronicleClient,
      ChronicleClient,
    ];
    const followed = await folderOf(there);
    const desk = join(replica.base, "desk");
    const { id } = await here.syncs.start({ upstream: `unix:${wire.path}`, folder: desk, workspace: followed });
    const [source, copy] = [there.workspace(followed), here.workspace(id)];
    await here.syncs.flush(id);

    const ending = new AbortController();
    const own = [new WriteClient(source, "o", random(1)), new WriteClient(copy, "r", random(2))];
    const shared = [new SharedPaths(source, "origin", random(3)), new SharedPaths(copy, "replica", random(4))];
    const folders = [new FolderWriter(origin.project, "there"), new FolderWriter(desk, "here")];
    const running = Promise.all([...own, ...shared, ...folders].map((writer) => writer.run(ending.signal)));
    running.catch(() => undefined);
    const status = (): Promise<SyncShape> => here.syncs.status(id);
    const killed = await killOften({ origin, replica, wire, running, status, runs: RUNS, seed: SEED });
    ending.abort();
    await running;

    // The connection is half open: its loss is not reported, and both sides go on.
    await here.syncs.flush(id);
    wire.swallow();
    writeFileSync(join(origin.project, "after-there"), "there\n");
    writeFileSync(join(desk, "after-here"), "here\n");
    await here.syncs.flush(id, { timeoutMs: 60_000 });

    const met = await settleAll(here.syncs, id);
    expect(contentsIn(desk)).toEqual(contentsIn(origin.project));
    for (const { left } of folders) {
      for (const [path, content] of left) expect(readFileSync(join(desk, path), "utf8"), path).toBe(content);
    }
    const [ours, theirs] = [await source.log(), await copy.log()];
    expect(writtenTwice(ours)).toEqual([]);
    expect((await Promise.all(own.map((client) => client.complaints(source)))).flat()).toEqual([]);
    const kept = new Set(ours.flatMap(hashesOf));
    const lost = shared
      .flatMap(({ answered }) => answered)
      .filter(({ hash, path }) => !kept.has(hash) && !met.has(path));
    expect(lost).toEqual([]);
    for (const workspace of [source, copy]) expect((await workspace.verify()).problems).toEqual([]);
    const counted = [...own.map(({ answered }) => answered), ...shared.map(({ answered }) => answered.length)];
    expect(wire.cuts).toBeGreaterThan(0);
    for (const count of counted) expect(count).toBeGreaterThan(RUNS / 4);
    process.stdout.write(
      `${killed.join(" ")}; ${wire.cuts} cuts; answered ${counted.join("+")}; ` +
        `${ours.length} and ${theirs.length} events; ${met.size} conflicts in the end\n`,
    );
    await Promise.all([there.close(), here.close()]);
    expect(await Promise.all([origin.kill("SIGTERM"), replica.kill("SIGTERM")])).toEqual([0, 0]);
  },
);

import { readdirSync, readFileSync, statSync, writeFileSync, mkdirSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { LogEventShape } from "../../src/api/shapes.ts";
import type { SyncApi, SyncShape } from "../../src/api/sync-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { CutWire } from "../helpers/cut-wire.ts";
import { ServerProcess } from "../helpers/server-process.ts";
import { WriteClient } from "./write-client.ts";

/**
 * An origin and a replica of it, processes with stores of their own, one of which is killed at any moment while both sides
 * are written to, or the connection is cut in the middle of a frame. `CRASH_RUNS=30` for more of it.
 */

const RUNS = Number(process.env["CRASH_RUNS"] ?? 4);
const SEED = Number(process.env["CRASH_SEED"] ?? 4711);
/** As long as it takes: a client goes on until it knows. */
const retry = { tries: 10_000, firstWait: 20, longestWait: 300, longestInAll: 600_000 };
/** So many paths are written to on both sides. */
const SHARED = 4;

test(
  `what either side has answered is there, once, over ${RUNS} kills of the origin or its replica`,
  { timeout: 100_000 + RUNS * 10_000 },
  async () => {
    await using origin = new ServerProcess(["--replication"]);
    await using replica = new ServerProcess();
    await Promise.all([origin.start(), replica.start()]);
    await using wire = new CutWire(join(replica.base, "w.sock"), origin.socketUrl.slice("unix:".length));
    await wire.listen();
    const [there, here] = [origin, replica].map(({ socketUrl: url }) => createClient({ url, retry })) as [
      Client,
      Client,
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
    const killed = await killOften({ origin, replica, wire, running, status: () => here.syncs.status(id) });
    ending.abort();
    await running;

    // Half-open: nobody says that the connection is gone, and both sides go on.
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
    for (const count of counted) expect(count).toBeGreaterThan(RUNS);
    process.stdout.write(
      `${killed.join(" ")}; ${wire.cuts} cuts; answered ${counted.join("+")}; ` +
        `${ours.length} and ${theirs.length} events; ${met.size} conflicts in the end\n`,
    );
    await Promise.all([there.close(), here.close()]);
    expect(await Promise.all([origin.kill("SIGTERM"), replica.kill("SIGTERM")])).toEqual([0, 0]);
  },
);

type Client = ReturnType<typeof createClient>;

/** What can fail, and what goes on meanwhile. */
interface Trial {
  readonly origin: ServerProcess;
  readonly replica: ServerProcess;
  readonly wire: CutWire;
  readonly running: Promise<unknown>;
  readonly status: () => Promise<SyncShape>;
}

/** Who was killed, one after the other. Before every other pair of kills the connection has been cut, too. */
async function killOften(trial: Trial): Promise<string[]> {
  const { origin, replica, wire, running } = trial;
  const chance = random(SEED);
  const killed: string[] = [];
  for (let kill = 1; kill <= RUNS; kill += 1) {
    await Promise.race([connected(trial), running]);
    await Promise.race([delay(chance() * 1_000), running]);
    if (kill % 4 < 2) {
      wire.cut();
      await Promise.race([delay(chance() * 800), running]);
    }
    const isOrigin = kill % 2 === SEED % 2;
    const one = isOrigin ? origin : replica;
    await one.kill();
    await one.start();
    killed.push(isOrigin ? "origin" : "replica");
  }
  return killed;
}

/** Until the replica has its connection again. */
async function connected({ wire, status }: Trial): Promise<void> {
  const since = performance.now();
  while (wire.open === 0) {
    await delay(20);
    if (performance.now() - since > 20_000)
      throw new Error(`no connection (${wire.made} so far): ${JSON.stringify(await status())}`);
  }
}

/** Until both sides have everything, and no conflict is left. Returns the paths of those that were met. */
async function settleAll(syncs: SyncApi, id: string): Promise<Set<string>> {
  const met = new Set<string>();
  for (let shape: SyncShape | undefined; shape === undefined || shape.conflicts > 0;) {
    for (const [n, { path }] of (await syncs.conflicts(id)).entries()) {
      met.add(path);
      await syncs.resolve(id, path, { keep: n % 2 === 0 ? "local" : "upstream" });
    }
    shape = await syncs.flush(id);
  }
  return met;
}

/** Writes to paths that the other side writes to. */
class SharedPaths {
  readonly answered: { readonly path: string; readonly hash: string }[] = [];
  readonly #workspace: WorkspaceApi;
  readonly #name: string;
  readonly #random: () => number;

  constructor(workspace: WorkspaceApi, name: string, random: () => number) {
    this.#workspace = workspace;
    this.#name = name;
    this.#random = random;
  }

  async run(ending: AbortSignal): Promise<void> {
    for (let n = 0; !ending.aborted; n += 1) {
      const path = `shared/${Math.floor(this.#random() * SHARED)}`;
      const content = `${this.#name} ${n}\n`;
      await this.#workspace.putFile(path, Buffer.from(content));
      this.answered.push({ path, hash: createHash("sha256").update(content).digest("hex") });
      await delay(20 + this.#random() * 150);
    }
  }
}

/** Writes files as programs do: nobody answers. */
class FolderWriter {
  /** What is in the files that it has written, in the end. */
  readonly left = new Map<string, string>();
  readonly #folder: string;
  readonly #name: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
  }

  async run(ending: AbortSignal): Promise<void> {
    mkdirSync(join(this.#folder, this.#name), { recursive: true });
    for (let n = 0; !ending.aborted; n += 1) {
      // Each a few times, and some of them too long for one piece.
      const path = `${this.#name}/${Math.floor(n / 3)}`;
      const content = `${n}\n`.repeat(n % 7 === 0 ? 40_000 : 10);
      writeFileSync(join(this.#folder, path), content);
      this.left.set(path, content);
      await delay(40);
    }
  }
}

/** The workspace of the folder that the server was started in. */
async function folderOf(client: Client): Promise<string> {
  await expect.poll(async () => (await client.me()).default_workspace, { timeout: 20_000 }).not.toBeNull();
  return (await client.me()).default_workspace ?? "";
}

/** Every file beneath a folder, with the hash of its content and its mode. */
function contentsIn(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()) {
    const stat = statSync(join(folder, path));
    const hash = stat.isFile()
      ? createHash("sha256")
          .update(readFileSync(join(folder, path)))
          .digest("hex")
      : "folder";
    found[path] = `${(stat.mode & 0o7777).toString(8)} ${hash}`;
  }
  return found;
}

/** The contents that an event is about: of a file, or a version that did not become one. */
function hashesOf({ op, record_id, record }: LogEventShape): string[] {
  if (op !== "upsert" || !/^(file|version):/.test(record_id)) return [];
  return [...JSON.stringify(record).matchAll(/"hash":"([0-9a-f]{64})"/g)].map(([, hash]) => hash ?? "");
}

/** Entries of the replica that are in the history more than once, and iterations whose numbers do not go up by one. */
function writtenTwice(events: readonly LogEventShape[]): string[] {
  const [seen, last] = [new Set<string>(), new Map<string, number>()];
  const found: string[] = [];
  for (const { seq, op, record_id, record } of events) {
    if (op !== "upsert" || !record_id.startsWith("file:")) continue;
    const { iteration, replica } = record as { iteration: number; replica?: { id: string; local_seq: number } };
    const before = last.get(record_id);
    if (before !== undefined && iteration !== before + 1)
      found.push(`${seq}: ${record_id} ${before} then ${iteration}`);
    last.set(record_id, iteration);
    if (replica === undefined) continue;
    // Folders that were missing on the way have the number of what lies in them.
    const key = `${replica.id} ${replica.local_seq} ${record_id}`;
    if (seen.has(key)) found.push(`${seq}: ${key} once more`);
    seen.add(key);
  }
  return found;
}

/** Mulberry32: the same each time. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

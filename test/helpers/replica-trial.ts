import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { LogEventShape } from "../../src/api/shapes.ts";
import type { SyncApi, SyncShape } from "../../src/api/sync-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { ChronicleClient } from "../../src/client/chronicle-client.ts";
import type { CutWire } from "./cut-wire.ts";

/** Number of paths that both sides write to. */
const SHARED = 4;

/** A process that can be killed at any moment and started again. */
interface Mortal {
  kill(): Promise<unknown>;
  start(): Promise<void>;
}

/**
 * The parts of a trial: the processes and the connection that fail, and the work that both sides do in the meantime.
 */
export interface Trial {
  readonly origin: Mortal;
  readonly replica: Mortal;
  readonly wire: CutWire;
  /** The work of both sides. Rejects if the work ends before the trial ends it. */
  readonly running: Promise<unknown>;
  readonly status: () => Promise<SyncShape>;
  /** Number of kills. */
  readonly runs: number;
  readonly seed: number;
}

/**
 * Kills the sides in turn, again and again. Resolves to the side of each kill. Before half of the kills, the connection
 * is also cut.
 */
export async function killOften(trial: Trial): Promise<string[]> {
  const { origin, replica, wire, running, runs, seed } = trial;
  const chance = random(seed);
  const killed: string[] = [];
  for (let kill = 1; kill <= runs; kill += 1) {
    await Promise.race([connected(trial), running]);
    await Promise.race([delay(chance() * 1_000), running]);
    if (kill % 4 < 2) {
      wire.cut(chance() < 0.5 ? "end" : "reset");
      await Promise.race([delay(chance() * 800), running]);
    }
    const isOrigin = kill % 2 === seed % 2;
    const one = isOrigin ? origin : replica;
    await one.kill();
    await one.start();
    killed.push(isOrigin ? "origin" : "replica");
  }
  return killed;
}

/** Waits until the replica is connected again. */
async function connected({ wire, status }: Pick<Trial, "wire" | "status">): Promise<void> {
  const since = performance.now();
  while (wire.open === 0) {
    await delay(20);
    if (performance.now() - since > 60_000)
      throw new Error(`no connection (${wire.made} so far): ${JSON.stringify(await status())}`);
  }
}

/** Waits until both sides have everything and no conflict is left, and resolves the conflicts. Returns their paths. */
export async function settleAll(syncs: SyncApi, id: string): Promise<Set<string>> {
  const met = new Set<string>();
  for (let shape: SyncShape | undefined; shape === undefined || shape.conflicts > 0;) {
    for (const [n, { path }] of (await syncs.conflicts(id)).entries()) {
      met.add(path);
      await syncs.resolve(id, path, { keep: n % 2 === 0 ? "local" : "upstream" });
    }
    shape = await syncs.flush(id, { timeoutMs: 300_000 });
  }
  return met;
}

/** Writes to paths to which the other side also writes. */
export class SharedPaths {
  readonly answered: { readonly path: string; readonly hash: string }[] = [];
  readonly #workspace: WorkspaceApi;
  readonly #name: string;
  readonly #random: () => number;
  readonly #paths: string;

  /** `paths`: the names of the paths. `%` stands for the number of a path. */
  constructor(workspace: WorkspaceApi, name: string, random: () => number, paths = "shared/%") {
    this.#workspace = workspace;
    this.#name = name;
    this.#random = random;
    this.#paths = paths;
  }

  async run(ending: AbortSignal): Promise<void> {
    for (let n = 0; !ending.aborted; n += 1) {
      const path = this.#paths.replace("%", String(Math.floor(this.#random() * SHARED)));
      const content = `${this.#name} ${n}\n`;
      await this.#workspace.putFile(path, Buffer.from(content));
      this.answered.push({ path, hash: createHash("sha256").update(content).digest("hex") });
      await delay(20 + this.#random() * 150);
    }
  }
}

/** Writes files into a folder as programs do, so no write is acknowledged. */
export class FolderWriter {
  /** The final content of each file that was written. */
  readonly left = new Map<string, string>();
  readonly #folder: string;
  readonly #name: string;
  readonly #everyMs: number;

  constructor(folder: string, name: string, everyMs = 40) {
    this.#folder = folder;
    this.#name = name;
    this.#everyMs = everyMs;
  }

  async run(ending: AbortSignal): Promise<void> {
    mkdirSync(join(this.#folder, this.#name), { recursive: true });
    for (let n = 0; !ending.aborted; n += 1) {
      // Each file is written a few times. Some contents are too long for one piece.
      const path = `${this.#name}/${Math.floor(n / 3)}`;
      const content = `${n}\n`.repeat(n % 7 === 0 ? 40_000 : 10);
      writeFileSync(join(this.#folder, path), content);
      this.left.set(path, content);
      await delay(this.#everyMs);
    }
  }
}

/** Waits for the workspace of the folder in which the server was started, and returns its id. */
export async function folderOf(client: ChronicleClient): Promise<string> {
  const since = performance.now();
  for (; ; await delay(20)) {
    const { default_workspace: found } = await client.me();
    if (found !== null) return found;
    if (performance.now() - since > 20_000) throw new Error("the server has no folder");
  }
}

/** Returns the hash of the content and the mode of every file below a folder. */
export function contentsIn(folder: string): Record<string, string> {
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

/** Returns the hashes of the contents in an event of a file or a version. */
export function hashesOf({ op, record_id, record }: LogEventShape): string[] {
  if (op !== "upsert" || !/^(file|version):/.test(record_id)) return [];
  return [...JSON.stringify(record).matchAll(/"hash":"([0-9a-f]{64})"/g)].map(([, hash]) => hash ?? "");
}

/**
 * Returns faults in how the origin recorded the entries of a replica: entries that were recorded more than once, or
 * after a later entry of the same file, and iterations whose numbers do not increase by one.
 */
export function writtenTwice(events: readonly LogEventShape[]): string[] {
  const [seen, last, latest] = [new Set<string>(), new Map<string, number>(), new Map<string, number>()];
  const found: string[] = [];
  for (const { seq, op, record_id, record } of events) {
    if (op !== "upsert" || !record_id.startsWith("file:")) continue;
    const { iteration, kind, replica } = record as unknown as WrittenRecord;
    const before = last.get(record_id);
    if (before !== undefined && iteration !== before + 1)
      found.push(`${seq}: ${record_id} ${before} then ${iteration}`);
    last.set(record_id, iteration);
    if (replica === undefined) continue;
    // Parent folders that were made for an entry are recorded with the number of that entry.
    const key = `${replica.id} ${replica.local_seq} ${record_id}`;
    if (seen.has(key)) found.push(`${seq}: ${key} once more`);
    seen.add(key);
    const own = `${replica.id} ${record_id}`;
    const later = latest.get(own) ?? 0;
    if (kind === "file" && later > replica.local_seq) found.push(`${seq}: ${key} behind ${later}`);
    latest.set(own, Math.max(later, replica.local_seq));
  }
  return found;
}

interface WrittenRecord {
  readonly iteration: number;
  readonly kind: string;
  readonly replica?: { readonly id: string; readonly local_seq: number };
}

/** Returns a generator of numbers (Mulberry32) that depend only on the seed. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

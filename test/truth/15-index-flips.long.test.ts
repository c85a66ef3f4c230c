import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { open } from "../../src/open.ts";
import { Project } from "../helpers/project.ts";

/**
 * `INDEX_FLIPS=2000` tries 2000 flips. Without it, the test flips bits for `SECONDS`. `INDEX_FLIPS_SEED` repeats a run.
 */
const MOST = Number(process.env["INDEX_FLIPS"] ?? 0);
const SECONDS = 30;
const SEED = Number(process.env["INDEX_FLIPS_SEED"] ?? Date.now() % 1_000_000);

/** A zero byte within this many bytes of another byte may belong to the same value. */
const NEAR = 4;

/** Returns a source of numbers from 0 to 1 that a seed repeats (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

async function opened(project: Project, create = false): Promise<WorkspaceApi & AsyncDisposable> {
  const { home, configFolder, folder } = project;
  const workspace = await open({ home, configFolder, folder, create, waitMs: 5_000 });
  return Object.assign(workspace, { [Symbol.asyncDispose]: () => workspace.close() });
}

/**
 * The part of a listing that the log proves. It has no sizes and times, because those that come from a base are not
 * proved.
 */
interface Listed {
  readonly first: readonly unknown[];
  readonly now: readonly unknown[];
  readonly root: string;
}

async function listing(workspace: WorkspaceApi, at: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const page = await workspace.files({ at, limit: 4, ...(after === undefined ? {} : { after }) });
    for (const { size: _size, mtime_ms: _time, mtime_ns: _rest, ...stated } of page.files) found.push(stated);
    after = page.next;
  }
  return found;
}

async function listedBy(workspace: WorkspaceApi): Promise<Listed> {
  const { root } = await workspace.status();
  return { first: await listing(workspace, "0"), now: await listing(workspace, "now"), root };
}

/**
 * A history with changes in several folders, an operation to undo, and snapshots. The fields hold the files of each
 * state.
 */
class Lived extends Project {
  id = "";
  readonly at0: Record<string, string> = {};
  now: Record<string, string> = {};
  before: Record<string, string> = {};
  /** The recorded files of the first state and now, and the Merkle root. */
  listed: Listed = { first: [], now: [], root: "" };

  async live(): Promise<this> {
    for (const folder of ["src", "src/deep", "docs"])
      for (const name of ["a.txt", "b.txt", "c.txt"]) this.write(`${folder}/${name}`, `${folder}/${name} one\n`);
    await using workspace = await opened(this, true);
    this.id = workspace.id;
    Object.assign(this.at0, this.tree());
    this.write("src/a.txt", "src/a.txt two\n");
    this.remove("docs/b.txt");
    await workspace.snapshot();
    this.write("src/a.txt", "src/a.txt three\n");
    this.write("src/deep/new.txt", "new\n");
    await workspace.snapshot({ name: "named" });
    this.write("docs/c.txt", "docs/c.txt two\n", 0o755);
    await workspace.snapshotAction({ type: "shell", payload: {}, summary: "an action" });
    this.before = this.tree();
    await workspace.restore("1");
    this.now = this.tree();
    this.listed = await listedBy(workspace);
    return this;
  }

  get indexFile(): string {
    return join(this.home, "workspaces", this.id, "index.db");
  }
}

interface Rows {
  /**
   * All rows except those of `tree`, without the count of how often the index was emptied and the seq up to which
   * folder hashes are stored.
   */
  readonly text: string;
  readonly tree: readonly TreeRow[];
  /** What a folder holds after an event, by its rows. */
  readonly heldAt: (folder: number, seq: number) => string;
}

/** The hash of a folder (by its number) from an event on, in hexadecimal digits. */
type TreeRow = readonly [folder: number, seq: number, hash: string];

/**
 * True if an index with a flipped bit states something else than the sound rows. A row of `tree` may have moved to an
 * event after which its folder holds the same: it is still true, and folder hashes need not be stored for every event.
 */
function differs(sound: Rows, flipped: Rows): boolean {
  if (flipped.text !== sound.text || flipped.tree.length !== sound.tree.length) return true;
  const last = Math.max(...sound.tree.map(([, seq]) => seq));
  const isTrue = ([folder, seq, hash]: TreeRow): boolean =>
    seq > 0 &&
    seq <= last &&
    sound.tree.some(
      (row) => row[0] === folder && row[2] === hash && sound.heldAt(folder, row[1]) === sound.heldAt(folder, seq),
    );
  return !flipped.tree.every(isTrue);
}

/** Returns `Rows.heldAt` of rows of `folders` (number, parent) and of `iterations` (folder, name, seq, kind, mode, hash). */
function holdings(folders: readonly unknown[][], rows: readonly unknown[][]): Rows["heldAt"] {
  const parents = new Map(folders.map(([id, parent]) => [id, parent]));
  const isBeneath = (id: unknown, folder: number): boolean =>
    id === folder || (parents.has(id) && isBeneath(parents.get(id), folder));
  return (folder, seq) => {
    const held = new Map<string, string>();
    for (const [of, name, at, ...state] of rows)
      if (isBeneath(of, folder) && Number(at) <= seq) held.set(`${String(of)}/${String(name)}`, state.join());
    return JSON.stringify([...held]);
  };
}

function rowsOf(file: string, copy: string): Rows {
  cpSync(file, copy);
  const db = new DatabaseSync(copy);
  try {
    const tables = [
      "SELECT seq, hash, offset, frontier FROM state",
      ...["commits", "folders", "remote_work"].map((name) => `SELECT * FROM ${name}`),
      // A hash is read as its bytes, whether they are a blob or a text.
      "SELECT seq, ts, op, record_id, hex(hash), offset, length, open FROM events",
      // Nothing else of a deletion is ever read.
      "SELECT folder, name, seq, iteration, kind FROM iterations",
      "SELECT mode, size, mtime, mtime_ns, hex(hash) FROM iterations WHERE kind <> 0",
    ];
    const text = (value: unknown): unknown =>
      value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
    const rowsBy = (sql: string): unknown[][] =>
      db
        .prepare(sql)
        .all()
        .map((row) => Object.values(row).map(text));
    const tree = rowsBy("SELECT folder, seq, hex(hash) FROM tree ORDER BY folder, seq") as unknown as TreeRow[];
    const states = "SELECT folder, name, seq, kind, mode, hex(hash) FROM iterations ORDER BY folder, name, seq";
    const heldAt = holdings(rowsBy("SELECT id, parent FROM folders"), rowsBy(states));
    return { text: JSON.stringify(tables.map(rowsBy)), tree, heldAt };
  } catch (error) {
    return { text: `unreadable: ${String(error)}`, tree: [], heldAt: () => "" };
  } finally {
    db.close();
    for (const end of ["", "-wal", "-shm"]) rmSync(`${copy}${end}`, { force: true });
  }
}

async function textOf(content: { pieces(): AsyncIterable<Uint8Array> }): Promise<string> {
  return Buffer.concat(await Array.fromAsync(content.pieces())).toString();
}

/** Puts the store and the folder back to what they were, and flips one bit of the index. */
class Flipping {
  readonly #project: Lived;
  readonly #kept: string;
  readonly #sound: Buffer;

  constructor(project: Lived) {
    this.#project = project;
    this.#kept = join(project.base, "kept");
    for (const [name, path] of this.#places())
      cpSync(path, join(this.#kept, name), { recursive: true, preserveTimestamps: true });
    this.#sound = readFileSync(project.indexFile);
  }

  /** The offsets of bytes that may hold data. Most of a small database is zeros, which nothing reads. */
  get places(): readonly number[] {
    return [...this.#sound.keys()].filter((at) =>
      this.#sound.subarray(Math.max(0, at - NEAR), at + NEAR).some((one) => one !== 0),
    );
  }

  flip(bit: number): void {
    for (const [name, path] of this.#places()) {
      rmSync(path, { recursive: true, force: true });
      cpSync(join(this.#kept, name), path, { recursive: true, preserveTimestamps: true });
    }
    const bytes = Buffer.from(this.#sound);
    const at = Math.floor(bit / 8);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit % 8));
    writeFileSync(this.#project.indexFile, bytes);
  }

  #places(): readonly (readonly [string, string])[] {
    const { home, configFolder, folder } = this.#project;
    return [
      ["home", home],
      ["config", configFolder],
      ["folder", folder],
    ];
  }
}

/** Returns a text if `work` fails with something else than a `ChronicleError`, such as a wrong answer. */
async function rightOrRefused(what: string, work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    return `${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  }
}

async function reading(project: Lived): Promise<string | undefined> {
  return rightOrRefused("reading", async () => {
    await using workspace = await opened(project);
    expect(await textOf(await workspace.cat("src/a.txt", 1))).toBe("src/a.txt one\n");
    expect(await textOf(await workspace.cat("src/a.txt", 3))).toBe("src/a.txt three\n");
    expect(await textOf(await workspace.file("src/a.txt"))).toBe("src/a.txt two\n");
    expect(await textOf(await workspace.file("docs/b.txt", { at: "0" }))).toBe("docs/b.txt one\n");
    expect(await textOf(await workspace.file("docs/c.txt", { at: "named" }))).toBe("docs/c.txt one\n");
    const to = join(project.base, "elsewhere");
    rmSync(to, { recursive: true, force: true });
    await workspace.restore("0", { to });
    expect(project.tree(to)).toEqual(project.at0);
  });
}

async function listings(project: Lived): Promise<string | undefined> {
  return rightOrRefused("listing", async () => {
    await using workspace = await opened(project);
    expect(await listedBy(workspace)).toEqual(project.listed);
    const { files } = await workspace.files({ path: "src", depth: 1 });
    expect(files.map(({ path }) => path)).toEqual(["src/a.txt", "src/b.txt", "src/c.txt", "src/deep"]);
  });
}

async function compacting(project: Lived): Promise<string | undefined> {
  return rightOrRefused("compact", async () => {
    await using workspace = await opened(project);
    await workspace.compact();
    expect((await workspace.verify()).problems.filter((one) => one.kind !== "index-wrong")).toEqual([]);
    await workspace.rebuild();
    expect(await listedBy(workspace)).toEqual(project.listed);
  });
}

async function writing(project: Lived): Promise<string | undefined> {
  const undone = await rightOrRefused("undo", async () => {
    await using workspace = await opened(project);
    await workspace.undo();
    expect(project.tree()).toEqual(project.before);
  });
  const restored = await rightOrRefused("restore", async () => {
    await using workspace = await opened(project);
    await workspace.restore("0");
    expect(project.tree()).toEqual(project.at0);
    expect((await workspace.verify()).problems.filter((one) => one.kind !== "index-wrong")).toEqual([]);
  });
  return undone ?? restored;
}

async function verifying(project: Lived, sound: Rows): Promise<string | undefined> {
  const copy = join(project.base, "copy.db");
  const flipped = rowsOf(project.indexFile, copy);
  if (!differs(sound, flipped)) return undefined;
  return rightOrRefused("verify", async () => {
    let ok = true;
    {
      await using workspace = await opened(project);
      ({ ok } = await workspace.verify());
    }
    // An index that is no database, or has another version, was emptied when it was opened.
    const after = rowsOf(project.indexFile, copy);
    const isMended = after.text !== flipped.text || !isDeepStrictEqual(after.tree, flipped.tree);
    if (ok && !isMended) throw new Error("a difference was not found");
  });
}

describe("Truth 15: a bit that is flipped anywhere in an index", () => {
  test("makes no operation write or serve a wrong byte, and is found by verify", { timeout: 3_600_000 }, async () => {
    await using project = await new Lived().live();
    const sound = rowsOf(project.indexFile, join(project.base, "copy.db"));
    const flipping = new Flipping(project);
    const { places } = flipping;
    const random = randomFrom(SEED);
    const faults: string[] = [];
    const until = performance.now() + SECONDS * 1_000;
    let tried = 0;
    for (; MOST > 0 ? tried < MOST : performance.now() < until; tried += 1) {
      const bit = (places[Math.floor(random() * places.length)] ?? 0) * 8 + Math.floor(random() * 8);
      for (const look of [(one: Lived) => verifying(one, sound), reading, listings, writing, compacting]) {
        flipping.flip(bit);
        const fault = await look(project);
        if (fault === undefined) continue;
        faults.push(`bit ${bit}: ${fault}`);
        console.info(`index-flips: seed ${SEED}, bit ${bit}: ${fault.slice(0, 500)}`);
      }
      if (tried % 200 === 199) console.info(`index-flips: ${tried + 1} flips`);
    }
    console.info(`index-flips: seed ${SEED}, ${tried} flips of ${places.length * 8} bits`);
    expect(faults.slice(0, 5)).toEqual([]);
  });
});

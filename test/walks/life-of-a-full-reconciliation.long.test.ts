import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { openReplica, type ReplicaHold } from "../../src/compose/file-sync-places.ts";
import { HistoryTrees } from "../../src/replication/origin/history-trees.ts";
import type { OriginOptions } from "../../src/replication/origin/origin-session.ts";
import { openContext, type StoreParts } from "../../src/compose/open-context.ts";
import { collectStore, storeTasks } from "../../src/compose/store-tasks.ts";
import { parsePath, ROOT } from "../../src/core/values/path.ts";
import type { Mirror } from "../../src/replication/replica/mirror.ts";
import type { IterationRow } from "../../src/storage/index-store.ts";
import { Project } from "../helpers/project.ts";
import { pushAll, type Ends } from "../helpers/pushed.ts";
import { storeParts } from "../helpers/store-parts.ts";

/** An origin, and a replica in another store. */
class Pair implements AsyncDisposable {
  readonly project = new Project();
  readonly other = new Project();
  origin!: WorkspaceApi;
  ends!: Ends;

  static async of(files: Readonly<Record<string, string>>): Promise<Pair> {
    const pair = new Pair();
    for (const [path, content] of Object.entries(files)) pair.project.write(path, content);
    pair.origin = await pair.project.init();
    const here = await storeParts(pair.project.home, pair.project.configFolder);
    const there = await storeParts(pair.other.home, pair.other.configFolder);
    pair.ends = { here, id: pair.origin.id, there, replica: (await pair.other.init()).id };
    return pair;
  }

  get there(): StoreParts {
    return this.ends.there;
  }

  push(ends: Partial<Ends> = {}, during?: (hold: ReplicaHold) => Promise<void>) {
    return pushAll({ ...this.ends, ...ends }, during);
  }

  get upstream(): string {
    return join(this.other.home, "workspaces", this.ends.replica, "upstream");
  }

  /** Returns the rows of the origin's own index for each path that exists. */
  async rows(): Promise<IterationRow[]> {
    const { here, id } = this.ends;
    const { context, close } = await openContext(here, id, { tasks: storeTasks(here, id), readOnly: true });
    const found: IterationRow[] = [];
    for await (const batch of context.index.entriesAt((await context.index.head()).seq)) found.push(...batch);
    await close();
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ends.here.blobs.close();
    await this.ends.there.blobs.close();
    await this.project[Symbol.asyncDispose]();
    await this.other[Symbol.asyncDispose]();
  }
}

async function entriesOf(mirror: Mirror): Promise<IterationRow[]> {
  const found: IterationRow[] = [];
  for await (const batch of mirror.entriesAt(mirror.head.seq)) found.push(...batch);
  return found;
}

const FILES = {
  "a.txt": "one\n",
  "same/b.txt": "stays\n",
  "same/deep/c.txt": "stays, too\n",
  "other/d.txt": "goes\n",
  "other/e.txt": "becomes a folder\n",
  "gone/deep/f.txt": "goes with its folder\n",
  "file/g.txt": "its folder becomes a file\n",
  "back/h.txt": "is changed and changed back\n",
};

/** Does some work at the origin once, when a replica that reconciles asks for contents. */
function withWorkMeanwhile({ contents, blocks }: OriginOptions, work: () => Promise<void>): Partial<OriginOptions> {
  let done: Promise<void> | undefined;
  const meanwhile = () => (done ??= work());
  if (blocks === undefined) throw new Error("this origin sends no blocks");
  return {
    contents: {
      openNamed: (hashes) => contents.openNamed(hashes),
      open: async (hash, isNamed) => {
        const found = await contents.open(hash, isNamed);
        await meanwhile();
        return found;
      },
    },
    blocks: {
      has: (hashes) => blocks.has(hashes),
      blocks: async function* (hashes, mostBytes) {
        for await (const block of blocks.blocks(hashes, mostBytes)) {
          await meanwhile();
          yield block;
        }
      },
    },
  };
}

/** Changes nearly all files. */
async function work(origin: WorkspaceApi): Promise<void> {
  await origin.putFile("a.txt", Buffer.from("two\n"));
  await origin.deleteFile("other/d.txt");
  await origin.deleteFile("other/e.txt");
  await origin.putFile("other/e.txt/inside.txt", Buffer.from("x".repeat(10_000)));
  await origin.deleteFile("gone");
  await origin.deleteFile("file");
  await origin.putFile("file", Buffer.from("a file\n"));
  await origin.putFile("back/h.txt", Buffer.from("otherwise\n"));
  await origin.putFile("back/h.txt", Buffer.from(FILES["back/h.txt"]));
}

describe("life of a full reconciliation", () => {
  it("brings the class of secrets along, so that they are for people only at the replica, too", async () => {
    await using pair = await Pair.of({ ".env": "KEY=1\n", "a.txt": "one\n" });
    await pair.origin.compact({ dropArchive: true });
    await pair.push({}, async ({ mirror }) => {
      expect(await entriesOf(mirror)).toEqual(await pair.rows());
      const env = await mirror.iterationAt(parsePath(".env"), mirror.head.seq);
      expect(env?.entry?.class).toBe("protected");
    });
    const copy = await (await pair.other.store()).openById(pair.ends.replica, { upstream: true });
    expect((await copy.status()).protected).toEqual({ files: 1, first: [".env"] });
    await copy.close();
  });

  it("leaves a copy whose moments can be named by time and by event, without a snapshot since then", async () => {
    await using pair = await Pair.of({ "a.txt": "one\n" });
    const { origin } = pair;
    await origin.compact({ dropArchive: true });
    await origin.putFile("a.txt", Buffer.from("two\n"));
    const times: string[] = [];
    const seqs: number[] = [];
    await pair.push({}, async ({ mirror }) => {
      for (const text of ["three\n", "four\n"]) {
        await setTimeout(20);
        times.push(new Date().toISOString());
        const { file } = await origin.putFile("a.txt", Buffer.from(text));
        seqs.push(file?.seq ?? 0);
        await expect.poll(() => mirror.head.seq).toBeGreaterThanOrEqual(file?.seq ?? 0);
      }
    });
    const copy = await (await pair.other.store()).openById(pair.ends.replica, { upstream: true });
    const from = Number(/from-(\d+)/.exec(readdirSync(pair.upstream).join())?.[1]);
    const sizes = (at: string) => copy.files({ at }).then(({ files }) => files.map(({ size }) => size));
    expect([await sizes(times[0] ?? ""), await sizes(times[1] ?? "")]).toEqual([[4], [6]]);
    expect([await sizes(`seq:${from}`), await sizes(`seq:${seqs[0]}`)]).toEqual([[4], [6]]);
    for (const at of [`seq:${from - 1}`, "2020-01-01"])
      await expect(sizes(at)).rejects.toMatchObject({ code: "PRUNED" });
    await copy.close();
  });

  it("brings the same state after missing events were dropped, and the replica continues from there", async () => {
    await using pair = await Pair.of(FILES);
    const { origin } = pair;
    await pair.push();
    const before = readFileSync(join(pair.upstream, "events.wal"), "utf8");
    await work(origin);
    await origin.compact({ dropArchive: true });
    const last = await origin.putFile("a.txt", Buffer.from("three\n"));
    await pair.push({}, async ({ mirror }) => {
      expect(mirror.head.seq).toBeGreaterThanOrEqual(last.file?.seq ?? 0);
      expect(mirror.start).toBeGreaterThan(3);
      expect(await entriesOf(mirror)).toEqual(await pair.rows());
      expect(await mirror.treeHash(ROOT)).toBe((await origin.status()).root);
      // Deleted paths are known as deleted, with their iterations. The former mirror answers about earlier events.
      expect(await mirror.iterationAt(parsePath("gone/deep/f.txt"), mirror.head.seq)).toMatchObject({ iteration: 2 });
      expect(await mirror.iterationAt(parsePath("gone/deep/f.txt"), 3)).toMatchObject({ iteration: 1 });
      expect(await mirror.touched(3, mirror.head.seq)).toEqual(
        expect.arrayContaining(["a.txt", "gone", "gone/deep/f.txt", "other/d.txt", "file/g.txt", "back/h.txt"]),
      );
      expect(await mirror.touched(3, mirror.head.seq)).not.toContain("same/b.txt");
      // The replica continues line by line.
      const next = await origin.putFile("gone/again.txt", Buffer.from("again\n"));
      await expect.poll(() => mirror.head.seq).toBeGreaterThanOrEqual(next.file?.seq ?? 0);
      expect(await entriesOf(mirror)).toEqual(await pair.rows());
    });
    const replica = await pair.other.open();
    const verified = await replica.verify();
    expect(verified.problems).toEqual([]);
    expect(verified.notes.join("\n")).toContain("this copy has the history from event");
    const copy = await (await pair.other.store()).openById(pair.ends.replica, { upstream: true });
    expect((await copy.verify()).problems).toEqual([]);
    expect((await copy.files()).files.map(({ path }) => path)).toContain("gone/again.txt");
    await copy.close();

    // The former mirror is kept until the folder is past it. Then only its lines are kept.
    await collectStore(pair.there);
    const hold = await openReplica(pair.there, pair.ends.replica);
    expect(await hold.mirror.iterationAt(parsePath("a.txt"), 3)).toMatchObject({ iteration: 1 });
    await hold.mirror.applied(hold.mirror.head.seq);
    expect(await entriesOf(hold.mirror)).toEqual(await pair.rows());
    await hold[Symbol.asyncDispose]();
    expect(existsSync(join(pair.upstream, "events.wal"))).toBe(false);
    const [former = ""] = readdirSync(join(pair.upstream, "former"));
    expect(readFileSync(join(pair.upstream, "former", former), "utf8")).toBe(before);
    await pair.push();
    expect((await replica.verify()).problems).toEqual([]);
    await collectStore(pair.there);
    expect((await replica.verify()).problems).toEqual([]);
  });

  it("serves a new replica of a history that begins on a base", async () => {
    await using pair = await Pair.of(FILES);
    await work(pair.origin);
    await pair.origin.compact({ dropArchive: true });
    await pair.push({}, async ({ mirror }) => {
      expect(await entriesOf(mirror)).toEqual(await pair.rows());
      expect(mirror.workspace).toBe(pair.origin.id);
      // Deleted paths are known, too, so that a file that is made again continues their iterations.
      for (const path of ["gone", "gone/deep", "gone/deep/f.txt", "other/d.txt", "file/g.txt"]) {
        expect(await mirror.iterationAt(parsePath(path), mirror.head.seq), path).toMatchObject({
          entry: undefined,
          iteration: 2,
        });
      }
    });
    const copy = await (await pair.other.store()).openById(pair.ends.replica, { upstream: true });
    expect((await copy.verify()).problems).toEqual([]);
    await copy.close();
  });

  it("serves a replica that is too far behind, and the same replica again", async () => {
    await using pair = await Pair.of(FILES);
    await pair.push();
    for (const round of [1, 2]) {
      await work(pair.origin);
      await pair.origin.deleteFile("file");
      await pair.origin.putFile("file/g.txt", Buffer.from(`back ${round}\n`));
      await pair.origin.putFile("gone/deep/f.txt", Buffer.from(`back ${round}\n`));
      await pair.origin.putFile("other/d.txt", Buffer.from("back\n"));
      await pair.origin.deleteFile("other/e.txt");
      await pair.origin.putFile("other/e.txt", Buffer.from("a file again\n"));
      await pair.push({ origin: { maxBehind: 3 } }, async ({ mirror }) => {
        expect(await entriesOf(mirror)).toEqual(await pair.rows());
        expect(mirror.start).toBeGreaterThan(10 * round);
      });
    }
    const hold = await openReplica(pair.there, pair.ends.replica);
    await hold.mirror.applied(hold.mirror.head.seq);
    await hold[Symbol.asyncDispose]();
    expect(readdirSync(pair.upstream).filter((name) => name.startsWith("from-"))).toHaveLength(1);
  });

  it.each([
    ["gets too far behind again", { maxBehind: 3 }, (origin: WorkspaceApi) => work(origin)],
    [
      "lacks events that were dropped, again",
      {},
      async (origin: WorkspaceApi) => {
        await work(origin);
        await origin.compact({ dropArchive: true });
      },
    ],
  ])("of a replica that %s meanwhile is done once more, in the same session", async (_, more, meanwhile) => {
    await using pair = await Pair.of(FILES);
    const { origin } = pair;
    await pair.push();
    for (let i = 0; i < 5; i += 1) await origin.putFile("a.txt", Buffer.from(`${i}\n`));
    await origin.compact({ dropArchive: true });
    const withWork = (own: OriginOptions) => ({ ...more, ...withWorkMeanwhile(own, () => meanwhile(origin)) });
    const { ends } = await pair.push({ origin: withWork }, async ({ mirror }) => {
      await expect.poll(() => entriesOf(mirror), { timeout: 10_000 }).toEqual(await pair.rows());
    });
    expect(ends.map(({ error }) => error)).toEqual([undefined, undefined]);
  });

  it("of a state that the origin drops meanwhile is refused, and the next connection offers a later state", async () => {
    await using pair = await Pair.of(FILES);
    const { here, id } = pair.ends;
    const { context, close } = await openContext(here, id, { tasks: storeTasks(here, id) });
    const trees = new HistoryTrees(context);
    const root = { path: ROOT, after: undefined, hash: undefined };
    const { seq } = await trees.anchor();
    const view = await trees.view(seq, 0);
    await work(pair.origin);
    expect((await view.list(root)).children.map(({ name }) => name)).toContain("gone");
    await pair.origin.compact({ dropArchive: true });
    await pair.origin.putFile("a.txt", Buffer.from("three\n"));
    const refused = { code: "UNAVAILABLE", data: { seq } };
    await expect(view.list(root)).rejects.toMatchObject(refused);
    await expect(trees.view(seq, 0)).rejects.toMatchObject(refused);
    const later = await trees.anchor();
    const { children } = await (await trees.view(later.seq, 0)).list(root);
    expect(children.map(({ name, row }) => [name, row.entry !== undefined])).toContainEqual(["gone", false]);
    await close();
    await pair.push({}, async ({ mirror }) => {
      expect(await entriesOf(mirror)).toEqual(await pair.rows());
    });
  });

  it("of equal trees transfers next to nothing", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 400 }, (_, i) => [`d${i % 60}/e${i % 7}/file-${i}.txt`, `content ${i}\n`]),
    );
    await using pair = await Pair.of(files);
    await pair.push();
    for (let i = 0; i < 5; i += 1) await pair.origin.snapshot({ message: `nothing ${i}` });
    const { bytes } = await pair.push({ origin: { maxBehind: 3 } }, async ({ mirror }) => {
      expect(mirror.start).toBeGreaterThan(0);
      expect(await entriesOf(mirror)).toEqual(await pair.rows());
    });
    expect(bytes).toBeLessThan(5_000);
    // After a change of one file, only its folders are sent, with the hashes of what is beside them.
    await pair.origin.putFile("d1/e1/file-1.txt", Buffer.from("other\n"));
    for (let i = 0; i < 5; i += 1) await pair.origin.snapshot({ message: `nothing ${i}` });
    const one = await pair.push({ origin: { maxBehind: 3 } }, async ({ mirror }) => {
      expect(await entriesOf(mirror)).toEqual(await pair.rows());
    });
    expect(one.bytes).toBeLessThan(30_000);
  });
});

import { describe, expect, it } from "vitest";
import { sealCommit } from "../testing/seal-commit.ts";
import { EMPTY_HEAD, type Head, type SealedEvent } from "../core/values/event.ts";
import { DEFAULT_LIMITS, EVERYTHING } from "../core/filter/filter.ts";
import type { HistoryAnchor } from "../core/log/history-anchor.ts";
import { LogTree } from "../core/log/log-tree.ts";
import { parsePath } from "../core/values/path.ts";
import { encodeWorkspace } from "../core/records/workspace-record.ts";
import type { CrashFate } from "../testing/sim-disk/sim-crash.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import { LogMirror } from "../replication/replica/log-mirror.ts";
import { storeLayout } from "../storage/layout.ts";
import { MemoryIndexStore } from "../storage/memory/memory-index-store.ts";
import { sweepCrashes } from "../testing/crash-sweep.ts";
import { fileEvent } from "../testing/protocol-samples.ts";
import { simBackends } from "../testing/sim-store.ts";
import { storeBase } from "../engine/upkeep/write-base.ts";
import { readText } from "../store/file-head-keeper.ts";
import { FileMirrorPlaces } from "./mirror-places.ts";
import type { StoreParts } from "./open-context.ts";
import { openParts } from "./open-parts.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const UPSTREAM = storeLayout("/store").workspace("w1").upstream;
const RECORD = encodeWorkspace({
  format: 2,
  created: "2026-01-31T09:30:00.000Z",
  roots: [{ id: null, folder: "", filter: EVERYTHING, limits: DEFAULT_LIMITS }],
  device: "0",
  inode: "0",
});

/**
 * Returns an origin's history. Its first event has the workspace's own record. Each later event changes one of three
 * files, in turn.
 */
function history(length: number): SealedEvent[] {
  const begin = { op: "upsert" as const, recordId: `workspace:${ID}`, record: RECORD };
  const events = [...sealCommit(EMPTY_HEAD, [begin], "2026-01-31T09:30:00.000Z")];
  for (let seq = 2; seq <= length; seq += 1) {
    events.push(fileEvent(events.at(-1) as Head, `file-${seq % 3}.txt`, `content ${seq}`));
  }
  return events;
}

const EVENTS = history(12);
const at = (seq: number): SealedEvent => EVENTS[seq - 1] as SealedEvent;

/** Indexes that survive a crash, like those in a database, as long as their file exists. */
class LastingIndexes {
  readonly #stores = new Map<string, MemoryIndexStore>();

  open(disk: SimDisk, path: string): MemoryIndexStore {
    const known = disk.lstat(path) === undefined ? undefined : this.#stores.get(path);
    if (known !== undefined) return known;
    const store = new MemoryIndexStore();
    this.#stores.set(path, store);
    writeFileDurably(disk, path, new Uint8Array());
    return store;
  }
}

async function opened(
  disk: SimDisk,
  indexes?: LastingIndexes,
): Promise<{ readonly parts: StoreParts; readonly mirror: LogMirror }> {
  const lasting = indexes === undefined ? {} : { index: (path: string) => indexes.open(disk, path) };
  const backends = simBackends(disk, { firstId: 1, ...lasting });
  const parts = await openParts({ home: "/store", configFolder: "/config", waitMs: 50 }, backends);
  return { parts, mirror: await LogMirror.open(new FileMirrorPlaces(parts, UPSTREAM)) };
}

/** Returns the anchor at an event, with its base in the store. */
async function anchorAt(parts: StoreParts, seq: number): Promise<HistoryAnchor> {
  const rows = [0, 1, 2].flatMap((n) => {
    const last = EVENTS.slice(0, seq).findLast(({ recordId }) => recordId === `file:file-${n}.txt`);
    if (last === undefined) return [];
    const { record } = last;
    const path = parsePath(`file-${n}.txt`);
    const entry = { path, kind: "file" as const, mode: 0o644, size: record["size"] as number, mtimeMs: 1 };
    const hash = record["hash"] as HistoryAnchor["hash"];
    return [{ path, seq: last.seq, iteration: record["iteration"] as number, entry: { ...entry, hash } }];
  });
  const own = { recordId: `workspace:${ID}`, seq: 1, ts: at(1).ts, op: "upsert" as const, record: RECORD };
  const { base, root } = await storeBase(parts.blobs, { rows, records: [own], roots: [undefined] }, () => undefined);
  const tree = new LogTree();
  for (const { hash } of EVENTS.slice(0, seq)) tree.append(hash);
  return { workspace: ID, seq, hash: at(seq).hash, ts: at(seq).ts, root, base, frontier: tree.frontier() };
}

/** Checks the answers of a mirror that has reached an event. */
async function check(mirror: LogMirror, seq: number): Promise<void> {
  for (const n of [0, 1, 2]) {
    const last = EVENTS.slice(0, seq).findLast(({ recordId }) => recordId === `file:file-${n}.txt`);
    const row = await mirror.iterationAt(parsePath(`file-${n}.txt`), seq);
    expect(row?.entry?.hash).toBe(last?.record["hash"]);
    expect(row?.seq).toBe(last?.seq);
  }
}

function newDisk(): SimDisk {
  return SimDisk.fromTree({ "/store": { folder: 0o700 }, "/config": { folder: 0o700 } });
}

describe("a mirror on a disk", () => {
  it("gives the same records for many events at once as for each event alone, whatever their parts and distances", async () => {
    const disk = newDisk();
    const { parts, mirror } = await opened(disk);
    await mirror.append(EVENTS.slice(0, 5));
    await mirror.startAt(await anchorAt(parts, 7));
    await mirror.append(EVENTS.slice(7));
    const seqs = Array.from({ length: 14 }, (_, i) => i);
    const check = async (held: LogMirror, asked: readonly number[]): Promise<void> => {
      const found = await held.records(asked);
      for (const seq of asked) expect(found.get(seq), `event ${seq}`).toEqual(await held.record(seq));
    };
    await check(mirror, seqs);
    expect((await mirror.records(seqs)).size).toBe(9);
    await mirror.close();
    const again = await LogMirror.open(new FileMirrorPlaces(parts, UPSTREAM));
    await check(again, seqs);
    await check(again, [2, 12]);
    await check(again, []);
    await again.close();
  });

  it("knows the state at each event that it holds, before and after a new start", async () => {
    const { parts, mirror } = await opened(newDisk());
    expect(mirror.head).toEqual(EMPTY_HEAD);
    expect(mirror.workspace).toBe("");
    expect(await mirror.touched(0, 0)).toEqual([]);
    await mirror.append(EVENTS.slice(0, 5));
    await mirror.startAt(await anchorAt(parts, 8));
    await mirror.append(EVENTS.slice(8));
    expect(mirror.workspace).toBe(ID);
    expect(mirror.start).toBe(8);
    for (const seq of [1, 2, 3, 4, 5, 8, 9, 10, 11, 12]) await check(mirror, seq);
    // For an event between 5 and 8, the mirror gives the state as of event 5.
    await check(mirror, 5);
    expect((await mirror.iterationAt(parsePath("file-0.txt"), 7))?.seq).toBe(3);
    expect(await mirror.touched(4, 12)).toEqual(["file-0.txt", "file-1.txt", "file-2.txt"]);
    expect(await mirror.touched(5, 8)).toEqual(["file-0.txt", "file-1.txt", "file-2.txt"]);
    expect(await mirror.touched(11, 12)).toEqual(["file-0.txt"]);
    expect(await mirror.touched(3, 4)).toEqual(["file-1.txt"]);
    for (const seq of [3, 5, 8, 9, 12]) expect(await mirror.hashAt(seq)).toBe(at(seq).hash);
    for (const seq of [0, 6, 7, 13]) expect(await mirror.hashAt(seq)).toBeUndefined();
    expect(await mirror.record(9)).toMatchObject({ cause: "write", actor: "test", iteration: 9 });
    expect(await mirror.record(1)).toBeUndefined();
    await mirror.applied(7);
    await check(mirror, 3);
    await mirror.applied(8);
    expect((await mirror.iterationAt(parsePath("file-0.txt"), 3))?.seq).toBeUndefined();
    await check(mirror, 12);
    await mirror.close();
  });

  it("keeps the lines of each copy that is given up, even if two copies begin and end with the same events", async () => {
    const disk = newDisk();
    const { parts, mirror } = await opened(disk);
    await mirror.close();
    const places = new FileMirrorPlaces(parts, UPSTREAM);
    for (const text of ["of one\n", "of another\n"]) {
      writeFileDurably(disk, UPSTREAM.mirror(0).log, Buffer.from(text));
      places.giveUp(undefined, 5);
    }
    const kept = disk.list(UPSTREAM.former).map(({ name }) => `${UPSTREAM.former}/${name.toString()}`);
    expect(new Set(kept.map((path) => readText(disk, path)))).toEqual(new Set(["of another\n", "of one\n"]));
  });

  it("refuses lines that do not begin with a workspace's record, and a start at an event that it has already reached", async () => {
    const { parts, mirror } = await opened(newDisk());
    await expect(mirror.append([fileEvent(EMPTY_HEAD, "a", "b")])).rejects.toMatchObject({
      code: "INTEGRITY_VIOLATION",
    });
    await mirror.append(EVENTS.slice(0, 5));
    await expect(mirror.startAt(await anchorAt(parts, 5))).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
    await mirror.close();
  });

  it("after a crash at any point, has every event that it acknowledged, and knows the right states", async () => {
    const result = await sweepCrashes<number>({
      prepare: newDisk,
      run: async (disk, acknowledge) => {
        const { parts, mirror } = await opened(disk);
        const append = async (from: number, to: number): Promise<void> => {
          await mirror.append(EVENTS.slice(from, to));
          acknowledge(to);
        };
        await append(0, 2);
        await append(2, 5);
        await mirror.startAt(await anchorAt(parts, 8));
        acknowledge(8);
        await append(8, 10);
        await mirror.applied(10);
        await append(10, 12);
        await mirror.close();
      },
      check: async (disk, { acknowledged }) => {
        const { parts, mirror } = await opened(disk);
        const { seq } = mirror.head;
        expect(seq).toBeGreaterThanOrEqual(acknowledged.at(-1) ?? 0);
        expect(mirror.head).toEqual(seq === 0 ? EMPTY_HEAD : { seq, hash: at(seq).hash });
        await check(mirror, seq);
        // The mirror continues from its head.
        if (seq > 0 && seq < 8) await mirror.startAt(await anchorAt(parts, 8));
        await mirror.append(EVENTS.slice(mirror.head.seq));
        await check(mirror, 12);
        await mirror.applied(12);
        await mirror.close();
      },
      every: 3,
    });
    expect(result.points).toBeGreaterThan(30);
  });

  it("rewinds to an event in any of its parts, keeps the lines after the event aside, and continues from there", async () => {
    const disk = newDisk();
    const { parts, mirror } = await opened(disk);
    await mirror.append(EVENTS.slice(0, 9));
    await mirror.rewind(9);
    await mirror.rewind(6);
    expect(mirror.head).toEqual({ seq: 6, hash: at(6).hash });
    await check(mirror, 6);
    expect(await mirror.hashAt(7)).toBeUndefined();
    expect(await mirror.record(8)).toBeUndefined();
    const { quarantine } = UPSTREAM.mirror(0);
    const kept = disk.list(quarantine).map(({ name }) => disk.content(`${quarantine}/${name.toString()}`)?.toString());
    expect(kept).toEqual([
      EVENTS.slice(6, 9)
        .map(({ line }) => `${line}\n`)
        .join(""),
    ]);
    await mirror.startAt(await anchorAt(parts, 8));
    await mirror.append(EVENTS.slice(8, 11));
    await mirror.rewind(9);
    expect([mirror.start, mirror.head.seq]).toEqual([8, 9]);
    await check(mirror, 9);
    await mirror.rewind(8);
    expect([mirror.start, mirror.head.seq]).toEqual([8, 8]);
    await mirror.append(EVENTS.slice(8, 10));
    // For an event before this part, the mirror continues from the last event that it holds of the part before.
    await mirror.rewind(7);
    expect([mirror.start, mirror.head.seq]).toEqual([0, 6]);
    await mirror.append(EVENTS.slice(6));
    await mirror.rewind(0);
    expect([mirror.head, mirror.workspace]).toEqual([EMPTY_HEAD, ""]);
    await mirror.append(EVENTS.slice(0, 5));
    await check(mirror, 5);
    // This part has no part before it, because `applied` removes the earlier one.
    await mirror.startAt(await anchorAt(parts, 8));
    await mirror.applied(8);
    await mirror.rewind(7);
    expect([mirror.head, mirror.workspace]).toEqual([EMPTY_HEAD, ""]);
    await mirror.append(EVENTS);
    await check(mirror, 12);
    await mirror.close();
    const again = await LogMirror.open(new FileMirrorPlaces(parts, UPSTREAM));
    await check(again, 12);
    await again.close();
  });

  it("after a crash at any point of a rewind, is at the event before, at the target, or at an event between them", async () => {
    const result = await sweepCrashes<string>({
      prepare: newDisk,
      run: async (disk, acknowledge) => {
        const { parts, mirror } = await opened(disk);
        await mirror.append(EVENTS.slice(0, 6));
        await mirror.startAt(await anchorAt(parts, 8));
        await mirror.append(EVENTS.slice(8, 12));
        acknowledge("12");
        await mirror.rewind(10);
        acknowledge("10");
        await mirror.rewind(4);
        acknowledge("4");
        await mirror.close();
      },
      check: async (disk, { acknowledged }) => {
        const { mirror } = await opened(disk);
        const { seq } = mirror.head;
        const possible = { "12": [12, 10], "10": [10, 8, 6, 4], "4": [4] }[acknowledged.at(-1) ?? ""];
        if (possible !== undefined) expect(possible).toContain(seq);
        expect(mirror.head).toEqual(seq === 0 ? EMPTY_HEAD : { seq, hash: at(seq).hash });
        await check(mirror, seq);
        if (mirror.start === 0) await mirror.append(EVENTS.slice(seq));
        await check(mirror, mirror.head.seq);
        await mirror.close();
      },
      every: 3,
    });
    expect(result.points).toBeGreaterThan(20);
  });

  it.each<[string, CrashFate, (mirror: LogMirror) => Promise<void>, number]>([
    ["are given up", "keep", (mirror) => mirror.applied(12), 12],
    ["are given up", "forget", (mirror) => mirror.applied(12), 12],
    ["are rewound", "keep", (mirror) => mirror.rewind(4), 4],
    ["are rewound", "forget", (mirror) => mirror.rewind(4), 4],
  ])(
    "opens and continues after a crash while parts %s, with indexes that survive the crash (%s)",
    async (_, fate, work, last) => {
      let isThrough = false;
      for (let cut = 0; !isThrough; cut += 1) {
        const indexes = new LastingIndexes();
        const disk = newDisk();
        const { parts, mirror } = await opened(disk, indexes);
        await mirror.append(EVENTS.slice(0, 5));
        await mirror.startAt(await anchorAt(parts, 6));
        await mirror.append(EVENTS.slice(6, 8));
        await mirror.startAt(await anchorAt(parts, 9));
        await mirror.append(EVENTS.slice(9));
        let writes = 0;
        disk.plan = ({ reads }) => (!reads && (writes += 1) > cut ? "stop-after" : "go");
        await work(mirror).catch(() => undefined);
        isThrough = !disk.stopped;
        const then = disk.crash(fate);
        const again = (await opened(then, indexes)).mirror;
        expect([4, 5, 6, 8, 9, 12], `cut after write ${cut}`).toContain(again.head.seq);
        // After the crash, the work can be done again, and the mirror continues.
        await work(again);
        expect(again.head.seq).toBe(last);
        if (again.start === 0) await again.append(EVENTS.slice(again.head.seq));
        await check(again, again.head.seq);
        await again.close();
        await (await opened(then, indexes)).mirror.close();
      }
    },
  );

  it("does not know lines that it could not write to a full disk, and takes them later", async () => {
    const disk = SimDisk.fromTree({ "/store": { folder: 0o700 }, "/config": { folder: 0o700 } });
    const { parts, mirror } = await opened(disk);
    disk.plan = ({ name, path }) => (name === "write" && path.endsWith("events.wal") ? { errno: "ENOSPC" } : "go");
    await expect(mirror.append(EVENTS.slice(0, 3))).rejects.toMatchObject({ code: "IO" });
    disk.plan = undefined;
    expect(mirror.workspace).toBe("");
    expect(await mirror.treeHash(parsePath(""))).toBeUndefined();
    await mirror.append(EVENTS.slice(0, 3));
    expect([mirror.workspace, mirror.head.seq]).toEqual([ID, 3]);
    await check(mirror, 3);
    await mirror.close();
    await parts.blobs.close();
  });
});

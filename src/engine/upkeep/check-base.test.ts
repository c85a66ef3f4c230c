import { describe, expect, it } from "vitest";
import { encodeBase, type BaseEntry, type BaseRecord } from "../../core/log/base.ts";
import type { Entry } from "../../core/values/entry.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { manifestRoot } from "../../core/tree/merkle.ts";
import { parsePath } from "../../core/values/path.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { MemoryBlobStore } from "../../storage/memory/memory-blob-store.ts";
import { MemoryIndexStore } from "../../storage/memory/memory-index-store.ts";
import { checkBase } from "./check-base.ts";

const TS = "2026-01-31T09:30:00.000Z";

function entry(path: string, text?: string): Entry {
  const at = parsePath(path);
  if (text === undefined) return { path: at, kind: "dir", mode: 0o755, size: 0, mtimeMs: 0, hash: undefined };
  return { path: at, kind: "file", mode: 0o644, size: text.length, mtimeMs: 5, hash: sha256(text) };
}

const ENTRIES: readonly BaseEntry[] = [
  { path: parsePath("a"), iteration: 1, seq: 2, entry: entry("a") },
  { path: parsePath("a/b"), iteration: 3, seq: 5, entry: entry("a/b", "beta") },
  { path: parsePath("gone"), iteration: 2, seq: 4, entry: undefined },
];
const RECORDS: readonly BaseRecord[] = [
  { recordId: "workspace:w", seq: 1, ts: TS, op: "upsert", record: {} },
  { recordId: "session:s", seq: 3, ts: TS, op: "upsert", record: {} },
];

async function written(
  entries: readonly BaseEntry[],
  records: readonly BaseRecord[],
): Promise<{ readonly blobs: MemoryBlobStore; readonly base: Hash; readonly root: Hash }> {
  const blobs = new MemoryBlobStore();
  const { root, folders } = manifestRoot(entries.flatMap((one) => one.entry ?? []));
  const rows = entries.map((one) => {
    const folderHash = folders.get(one.path);
    return folderHash === undefined ? one : { ...one, folderHash };
  });
  const batch = await blobs.batch();
  const counts = { entries: rows.length, records: records.length };
  const { hash } = await batch.putStream(encodeBase({ root, entries: rows, records, counts }));
  await batch.commit();
  return { blobs, base: hash, root };
}

async function filled(): Promise<MemoryIndexStore> {
  const index = new MemoryIndexStore();
  const row = (seq: number, recordId: string): EventRow => ({
    ...{ seq, ts: TS, op: "upsert", recordId, hash: sha256(recordId) },
    ...{ offset: seq * 100, length: 99, open: false },
  });
  await index.apply({
    head: { seq: 5, hash: sha256("head"), offset: 600, frontier: [] },
    events: [row(1, "workspace:w"), row(2, "file:a"), row(3, "session:s"), row(4, "file:gone"), row(5, "file:a/b")],
    iterations: ENTRIES,
  });
  return index;
}

async function faultsOf(entries: readonly BaseEntry[], records: readonly BaseRecord[]): Promise<readonly string[]> {
  const { blobs, base } = await written(entries, records);
  const faults = await checkBase(blobs, base, { against: await filled() });
  return (faults ?? []).map((fault) => fault.where);
}

const [FOLDER, FILE, GONE] = ENTRIES as [BaseEntry, BaseEntry, BaseEntry];
const [OWN, SESSION] = RECORDS as [BaseRecord, BaseRecord];

describe("checkBase", () => {
  it("finds no fault in a base that equals the index", async () => {
    expect(await faultsOf(ENTRIES, RECORDS)).toEqual([]);
  });

  const wrong: readonly (readonly [string, readonly BaseEntry[], readonly BaseRecord[], readonly string[]])[] = [
    ["another iteration", [FOLDER, { ...FILE, iteration: 4 }, GONE], RECORDS, ["a/b"]],
    ["another seq", [FOLDER, { ...FILE, seq: 4 }, GONE], RECORDS, ["a/b"]],
    ["another content", [FOLDER, { ...FILE, entry: entry("a/b", "BETA") }, GONE], RECORDS, ["a/b"]],
    ["a file that is deleted", [FOLDER, FILE, { ...GONE, entry: entry("gone", "x") }], RECORDS, ["gone"]],
    ["a deleted path left out", [FOLDER, FILE], RECORDS, ["entries"]],
    ["a path too many", [...ENTRIES, { ...GONE, path: parsePath("hm") }], RECORDS, ["hm"]],
    ["a record left out", ENTRIES, [OWN], ["session:s"]],
    ["a record too many", ENTRIES, [...RECORDS, { ...SESSION, recordId: "session:t", seq: 4 }], ["session:t"]],
    ["an older record", ENTRIES, [OWN, { ...SESSION, seq: 2 }], ["session:s"]],
  ];
  it.each(wrong)("reports %s", async (_, entries, records, where) => {
    expect(await faultsOf(entries, records)).toEqual(where);
  });

  it("compares the base with a given root, and returns undefined if the base is missing", async () => {
    const { blobs, base, root } = await written(ENTRIES, RECORDS);
    expect(await checkBase(blobs, base, { root })).toEqual([]);
    expect(await checkBase(blobs, base, { root: sha256("other") })).toMatchObject([{ where: "root" }]);
    expect(await checkBase(blobs, sha256("missing"))).toBeUndefined();
  });
});

import fs from "node:fs";
import { describe, expect, it } from "vitest";
import { type Hash, sha256 } from "../../src/core/values/hash.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { FileEventLog } from "../../src/storage/files/file-event-log.ts";
import { MemoryBlobStore } from "../../src/storage/memory/memory-blob-store.ts";
import { MemoryIndexStore } from "../../src/storage/memory/memory-index-store.ts";
import type { Context } from "../../src/engine/log/context.ts";
import { verifyLog } from "../../src/engine/upkeep/verify-log.ts";
import { verifyPlans } from "../../src/engine/upkeep/verify-plans.ts";
import { historyVectors, type HistoryVectors } from "./history-vectors.ts";

/**
 * Each rule of `docs/format.md` about a whole history. `verify` finds no problem in the history that follows the rule,
 * and reports the right problem in the history that breaks only this rule.
 */

const FILE = new URL("vectors/history.json", import.meta.url);
const vectors = JSON.parse(fs.readFileSync(FILE, "utf8")) as HistoryVectors;
const contents = new Map(
  Object.entries(vectors.contents).map(([hash, bytes]) => [hash as Hash, Buffer.from(bytes, "base64")]),
);

/** Returns the problems that `verify` finds in these lines, with the contents of the vectors. */
async function problemsOf(lines: readonly string[]): Promise<{ kind: string; where: string; detail: string }[]> {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  const places = { log: "/w/events.wal", archive: "/w/archive", quarantine: "/w/quarantine" };
  const disk = SimDisk.fromTree({ "/w": { folder: 0o700 }, [places.log]: { content: bytes, mode: 0o600 } });
  const blobs = new MemoryBlobStore({ contents: new Map() });
  const batch = await blobs.batch();
  for (const one of contents.values()) await batch.put(one);
  await batch.commit();
  const roots = [{ id: undefined }, ...vectors.roots.map((id) => ({ id }))];
  const context = {
    workspaceId: vectors.workspace,
    log: new FileEventLog(disk, places),
    ...{ blobs, worktree: { roots }, store: { scratchIndex: () => new MemoryIndexStore() } },
    now: () => Date.parse("2026-01-31T09:30:00.000Z"),
  } as unknown as Context;
  const problems: { kind: string; where: string; detail: string }[] = [];
  const found = await verifyLog(context, { problems, notes: [], bound: lines.length, seqsOfInterest: new Set() });
  problems.push(...(await verifyPlans(context, found.own)));
  for (const [hash, { where }] of found.needed)
    if (!contents.has(hash)) problems.push({ kind: "blob-missing", where, detail: hash });
  return problems;
}

describe("rules of a whole history", () => {
  it("the vectors are those that the recipes make, and each content has the hash that names it", () => {
    expect(vectors, "`node test/format/make-history.ts` writes them anew").toEqual(historyVectors());
    for (const [hash, bytes] of contents) expect(sha256(bytes)).toBe(hash);
  });

  it("the history with which the vectors begin is sound", async () => {
    expect(await problemsOf(vectors.lines)).toEqual([]);
  });

  it("a history without a signer, as the first versions began one, is sound", async () => {
    expect(await problemsOf(vectors.earlier)).toEqual([]);
  });

  it.each(vectors.cases)("$rule", async ({ kind, after, good, bad }) => {
    const before = vectors.lines.slice(0, after);
    expect(await problemsOf([...before, ...good]), "the one that keeps it").toEqual([]);
    expect(await problemsOf([...before, ...bad])).toEqual([expect.objectContaining({ kind })]);
  });
});

import { expect, it } from "vitest";
import type { BaseEntry } from "../../core/log/base.ts";
import { sealEvents } from "../../core/log/chain.ts";
import type { Entry } from "../../core/values/entry.ts";
import { EMPTY_HEAD } from "../../core/values/event.ts";
import { sha256 } from "../../core/values/hash.ts";
import { LogTree } from "../../core/log/log-tree.ts";
import { parsePath, ROOT } from "../../core/values/path.ts";
import { MemoryIndexStore } from "../../storage/memory/memory-index-store.ts";
import { IndexAudit } from "./index-audit.ts";
import { eventRow } from "../log/project.ts";

/** Half of the paths that a workspace may hold by default, and more than a function call takes as arguments. */
const PATHS = 150_000;

function bigBase(): BaseEntry[] {
  const hash = sha256("one");
  return Array.from({ length: PATHS }, (_, i) => {
    const path = parsePath(`d${i % 500}/${i}`);
    const entry: Entry = { path, kind: "file", mode: 0o644, size: 3, mtimeMs: 5, hash };
    return { path, iteration: 1, seq: 1, entry };
  });
}

it("compares a base of 150,000 paths with the index, and names the path that the index lacks", async () => {
  const base = bigBase();
  const events = sealEvents(
    EMPTY_HEAD,
    [{ op: "upsert", recordId: "snapshot:s", record: { commit: { first: 1 } } }],
    "2026-01-31T09:30:00.000Z",
  );
  const placed = events.map((event) => ({ event, offset: 0, length: event.line.length }));
  const tree = new LogTree();
  for (const event of events) tree.append(event.hash);
  const end = { seq: 1, offset: (placed[0]?.length ?? 0) + 1, frontier: tree.frontier() };
  const index = new MemoryIndexStore();
  await index.apply({
    head: { ...end, hash: events[0]?.hash ?? "" },
    events: placed.map(eventRow),
    iterations: base.slice(1),
    commits: [{ first: 1, last: 1, isRooted: false }],
  });
  const audit = await IndexAudit.begin(index);
  await audit.events(placed, new Map([[1, base]]));
  await audit.milestone(end, () => undefined);
  expect((await audit.finish()).map(({ detail }) => detail)).toEqual([
    expect.stringContaining(`iteration 1 of d0/0 (event 1)`),
  ]);
});

it("reports folder hashes that the index holds for a negative event number", async () => {
  const index = new MemoryIndexStore();
  await index.putTreeHashes(-123, { hashes: [[ROOT, sha256("one")]], after: 0 });
  const audit = await IndexAudit.begin(index);
  expect((await audit.finish()).map(({ detail }) => detail)).toEqual([
    expect.stringContaining("folder hashes of event -123"),
  ]);
});

import { describe, expect, it } from "vitest";
import type { Entry } from "../../../core/values/entry.ts";
import { sha256 } from "../../../core/values/hash.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { JournalEntry } from "../../../engine/replica/journal.ts";
import { FolderJournal } from "./folder-journal.ts";
import { ReplicatedPaths, type ReplicationRules } from "../ground/replicated-paths.ts";

const NOTHING = { accepted: [], rejected: [] };

function file(path: string, size = 1): Entry {
  return { path: path as WorkspacePath, kind: "file", mode: 0o644, size, mtimeMs: 1, hash: sha256(path) };
}

/**
 * Returns a journal over a log. The n-th element of `log` stands for event n. A path means that the event is an entry
 * for this path. `undefined` means that the event does not concern the origin.
 */
function journalOf(
  log: readonly (string | undefined)[],
  more: {
    rules?: Partial<ReplicationRules>;
    there?: Entry;
    deleted?: readonly string[];
    settled?: number;
    keepsHere?: (path: WorkspacePath) => Promise<boolean>;
  } = {},
) {
  const at = { head: 0 };
  const entries = log.flatMap((path, i): JournalEntry[] => {
    if (path === undefined) return [];
    const entry = more.deleted?.includes(path) === true ? undefined : file(path);
    return [{ localSeq: i + 1, path: path as WorkspacePath, entry, seen: 0, actor: "human" }];
  });
  const journal = new FolderJournal({
    read: async (after, limit) => {
      const page = entries.filter(({ localSeq }) => localSeq > after).slice(0, limit);
      return { entries: page, upTo: page.length === limit ? (page.at(-1)?.localSeq ?? after) : log.length };
    },
    there: async () => more.there,
    open: async () => undefined,
    isStillHeld: async () => true,
    hasWritten: async () => true,
    rules: new ReplicatedPaths({ mode: "two-way-safe", filterTo: [], filterFrom: [], ...more.rules }),
    keepsHere: more.keepsHere,
    settled: more.settled ?? 0,
    head: () => at.head,
  });
  return { journal, at };
}

const seqs = (page: { readonly entries: readonly JournalEntry[] }) => page.entries.map(({ localSeq }) => localSeq);
const a = "a" as WorkspacePath;

describe("FolderJournal", () => {
  it("gives no entry before it is released, and signals when there are entries", async () => {
    const { journal } = journalOf(["a", undefined, "b", "c"]);
    let told = 0;
    journal.changed.listen(() => (told += 1));
    await journal.scan();
    expect([journal.pending, await journal.next(0, 10)]).toEqual([3, { entries: [], upTo: 0 }]);
    journal.release(3);
    expect([told, seqs(await journal.next(0, 10)), (await journal.next(0, 10)).upTo]).toEqual([1, [1, 3], 3]);
    expect(seqs(await journal.next(0, 1))).toEqual([1]);
    journal.release(4);
    expect(seqs(await journal.next(3, 10))).toEqual([4]);
  });

  it("a path is on its way from its entry on, until the origin's event for it has come", async () => {
    const { journal, at } = journalOf(["a", "b"]);
    await journal.scan();
    journal.release(2);
    expect([journal.isOnItsWay(a, file("a")), journal.isSent(a)]).toEqual([true, true]);
    await journal.settled(2, {
      accepted: [
        { localSeq: 1, iteration: 1, sequence: 7 },
        { localSeq: 2, iteration: 1, sequence: 8 },
      ],
      rejected: [],
    });
    expect([journal.pending, journal.settledTo, journal.awaited, journal.isOnItsWay(a, file("a"))]).toEqual([
      0,
      2,
      8,
      true,
    ]);
    at.head = 7;
    expect([journal.isOnItsWay(a, file("a")), journal.isOnItsWay("b" as WorkspacePath, file("b"))]).toEqual([
      false,
      true,
    ]);
  });

  it("an unanswered deletion is on its way, but a file that came back from the origin since is not", async () => {
    const { journal } = journalOf(["a"], { there: file("a"), deleted: ["a"] });
    await journal.scan();
    journal.release(1);
    expect([journal.isOnItsWay(a, undefined), journal.isOnItsWay(a, file("a"))]).toEqual([true, false]);
  });

  it("rejected paths are compared again; one that is refused for its state stays refused until both sides agree", async () => {
    const { journal, at } = journalOf(["a", "b"]);
    await journal.scan();
    journal.release(2);
    await journal.settled(2, {
      accepted: [],
      rejected: [
        { localSeq: 1, reason: "stale", currentSequence: 5 },
        { localSeq: 2, reason: "too-large" },
      ],
    });
    at.head = 5;
    expect([...journal.again]).toEqual(["a", "b"]);
    expect([journal.isOnItsWay(a, file("a")), journal.isOnItsWay("b" as WorkspacePath, file("b"))]).toEqual([
      false,
      true,
    ]);
    expect(journal.refused.size).toBe(1);
    journal.decided([a, "b" as WorkspacePath]);
    expect([journal.again.size, journal.refused.size]).toEqual([0, 1]);
    journal.decided([], ["b" as WorkspacePath]);
    expect(journal.refused.size).toBe(0);
  });

  it("a settled entry whose answer is unknown is compared again", async () => {
    const { journal } = journalOf(["a", "b", "c"]);
    await journal.scan();
    journal.release(3);
    await journal.settled(2, { accepted: [{ localSeq: 2, iteration: 1, sequence: 5 }], rejected: [] });
    expect([[...journal.again], journal.pending, journal.settledTo]).toEqual([["a"], 1, 2]);
  });

  it("a settled entry whose answer is unknown is on its way until the origin's events of that time have come", async () => {
    const { journal, at } = journalOf(["a", "b"]);
    await journal.scan();
    journal.release(2);
    at.head = 5;
    await journal.settled(1, NOTHING, 9);
    expect([journal.isSent(a), journal.isOnItsWay(a, undefined), [...journal.again]]).toEqual([true, true, ["a"]]);
    journal.decided([a]);
    expect([...journal.again]).toEqual(["a"]);
    at.head = 9;
    expect([journal.isSent(a), journal.isOnItsWay(a, undefined), [...journal.again]]).toEqual([false, false, ["a"]]);
    journal.decided([a]);
    expect([...journal.again]).toEqual([]);
  });

  it("an origin whose head is before an event that it decided was reset: the settled paths are compared again", async () => {
    const { journal, at } = journalOf(["a"]);
    let forgotten = 0;
    journal.forgotten.listen(() => (forgotten += 1));
    await journal.scan();
    journal.release(1);
    // The answer was lost. The origin had decided the entry by event 50.
    await journal.settled(1, NOTHING, 50);
    at.head = 30;
    journal.remembered(1, 50);
    expect([journal.awaited, forgotten]).toEqual([50, 0]);
    journal.remembered(1, 42);
    expect([journal.awaited, forgotten]).toEqual([0, 1]);
    expect([...journal.again]).toEqual([a]);
  });

  it("leaves out paths that are not written back, also if they are deleted", async () => {
    const rules = { filterFrom: ["build/"], filterTo: ["secret"] };
    const keepsHere = (path: WorkspacePath) => Promise.resolve(path === ".x.swp");
    const { journal } = journalOf(["build/x", "secret", ".x.swp", "a", "@further"], { rules, keepsHere });
    await journal.scan();
    journal.release(5);
    expect((await journal.next(0, 10)).entries.map(({ path }) => path)).toEqual(["a", "@further"]);
    const there = { ...file("build"), kind: "dir" } as const;
    const gone = journalOf(["build"], { rules, there, deleted: ["build"] });
    await gone.journal.scan();
    expect(gone.journal.pending).toBe(0);
  });

  it("in a one-way mode, nothing is sent, and everything is settled", async () => {
    const { journal } = journalOf(["a", "b"], { rules: { mode: "one-way-safe" } });
    await journal.scan();
    journal.release(2);
    expect([await journal.next(0, 10), journal.settledTo]).toEqual([{ entries: [], upTo: 2 }, 2]);
  });

  it("skipped entries are never sent", async () => {
    const { journal } = journalOf(["a", "b"]);
    await journal.scan();
    journal.skipTo(2);
    journal.release(2);
    expect([seqs(await journal.next(0, 10)), journal.pending, journal.isOnItsWay(a, file("a"))]).toEqual([
      [],
      0,
      false,
    ]);
  });

  it("a log that is shorter than what the origin had of it gives an `upTo` before the event asked for", async () => {
    const { journal } = journalOf(["a"]);
    await journal.settled(5, NOTHING);
    await journal.scan();
    expect((await journal.next(9, 10)).upTo).toBeLessThan(9);
  });
});

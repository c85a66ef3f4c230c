import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import { sha256 } from "../../../core/values/hash.ts";
import { parentOf, type WorkspacePath } from "../../../core/values/path.ts";
import { both, mergeContents, settle, type ReconcileMode } from "../../../core/tree/reconcile.ts";
import type { IterationRow } from "../../../storage/index-store.ts";
import { decideCycle, holdCollisions, type SettledDecision } from "../ground/decide-cycle.ts";
import { planCycle, type CyclePlan } from "./plan-cycle.ts";
import { readCycle, type FileHistory } from "./read-cycle.ts";
import { ReplicatedPaths, type ReplicationRules } from "../ground/replicated-paths.ts";

/** Tests whole syncs without disks and networks. The folder and its origin are two histories of files in memory. */

/**
 * A tree, such as `{"a": {"f": "text"}}`. An object is a folder, and a text is a file. A text that begins with `>` is a
 * link.
 */
interface Shape {
  readonly [name: string]: string | Shape;
}

const contents = new Map<string, Buffer>();

function entriesOf(shape: Shape, folder = ""): Entry[] {
  return Object.entries(shape).flatMap(([name, value]) => {
    const path = (folder === "" ? name : `${folder}/${name}`) as WorkspacePath;
    if (typeof value !== "string")
      return [
        { path, kind: "dir", mode: 0o755, size: 0, mtimeMs: 0, hash: undefined } as const,
        ...entriesOf(value, path),
      ];
    const hash = sha256(value);
    contents.set(hash, Buffer.from(value));
    const kind = value.startsWith(">") ? ("symlink" as const) : ("file" as const);
    return [{ path, kind, mode: kind === "file" ? 0o644 : 0o777, size: value.length, mtimeMs: 1, hash }];
  });
}

function contentOf(entry: Entry): Buffer {
  const content = contents.get(entry.hash ?? "");
  if (content === undefined) throw new Error(`no content for ${entry.path}`);
  return content;
}

/** A history of files in memory. */
class Files implements FileHistory {
  readonly #rows: IterationRow[] = [];
  seq = 0;

  async iterations(path: WorkspacePath): Promise<IterationRow[]> {
    return this.#rows.filter((row) => row.path === path);
  }

  async protectedPaths(): Promise<WorkspacePath[]> {
    return this.#rows.filter(({ entry }) => entry?.class === "protected").map(({ path }) => path);
  }

  at(path: WorkspacePath, seq = this.seq): IterationRow | undefined {
    return this.#rows.findLast((row) => row.path === path && row.seq <= seq);
  }

  tree(seq = this.seq): Map<WorkspacePath, Entry> {
    const found = new Map<WorkspacePath, Entry>();
    for (const { path, entry, seq: at } of this.#rows) {
      if (at > seq) continue;
      if (entry === undefined) found.delete(path);
      else found.set(path, entry);
    }
    return found;
  }

  set(path: WorkspacePath, entry: Entry | undefined): void {
    const last = this.at(path);
    if (sameEntry(last?.entry, entry)) return;
    this.#rows.push({ path, seq: (this.seq += 1), iteration: (last?.iteration ?? 0) + 1, entry });
  }

  /** Changes the history to this tree. */
  become(shape: Shape): void {
    const wanted = new Map(entriesOf(shape).map((entry) => [entry.path, entry]));
    const now = this.tree();
    for (const path of [...now.keys()].reverse()) if (!wanted.has(path)) this.set(path, undefined);
    for (const [path, entry] of wanted) this.set(path, entry);
  }

  touched(after: number): WorkspacePath[] {
    return [...new Set(this.#rows.filter(({ seq }) => seq > after).map(({ path }) => path))];
  }

  async iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<(IterationRow | undefined)[]> {
    return paths.map((path) => this.at(path, seq));
  }

  async *entriesAt(seq: number, beneath: WorkspacePath = "" as WorkspacePath): AsyncGenerator<IterationRow[]> {
    const within = [...this.tree(seq).keys()].filter((path) => `${path}/`.startsWith(`${beneath}/`) || beneath === "");
    yield within.flatMap((path) => this.at(path, seq) ?? []);
  }
}

/** Both sides, and the state of the sync. */
class Pair {
  readonly origin = new Files();
  readonly folder = new Files();
  readonly rules: ReplicatedPaths;
  conflicts: IdentifiedConflict[] = [];
  /** Events of the origin that this folder has written. */
  readonly own = new Set<number>();
  applied = 0;
  plan: CyclePlan = { changes: [], proposals: [], conflicts: [] };
  #ids = 0;
  #known = 0;

  constructor(rules: Partial<ReplicationRules> = {}) {
    this.rules = new ReplicatedPaths({ mode: "two-way-safe", filterTo: [], filterFrom: [], ...rules });
  }

  /** Returns a pair whose sides both have this tree, and have agreed on it. */
  static async of(shape: Shape, rules: Partial<ReplicationRules> = {}): Promise<Pair> {
    const pair = new Pair(rules);
    pair.origin.become(shape);
    await pair.cycle();
    pair.#push(pair.plan);
    return pair;
  }

  async cycle(given: { everything?: boolean; collisions?: readonly WorkspacePath[] } = {}): Promise<CyclePlan> {
    const { origin, folder, rules, conflicts, applied } = this;
    const [before, known] = given.everything === true ? [0, 0] : [applied, this.#known];
    const touched = [...origin.touched(before), ...folder.touched(known), ...conflicts.map((one) => one.record.path)];
    const isOwn = (seq: number): Promise<boolean> => Promise.resolve(this.own.has(seq));
    const reached = { applied, head: origin.seq, local: folder.seq };
    const sides = { mirror: origin, own: folder, ...reached, conflicts, rules, isOwn };
    const paths = await readCycle(sides, touched);
    const collisions = given.collisions ?? [];
    const decisions = holdCollisions(decideCycle(paths, rules.mode).map(settled), collisions);
    this.plan = planCycle(decisions, {
      origin: "w",
      applied,
      rules,
      paths,
      conflicts,
      collisions,
      waiting: new Set(),
      isOnItsWay: () => false,
      newId: () => String((this.#ids += 1)),
      now: "2026-01-01T00:00:00.000Z",
    });
    this.#carryOut();
    return this.plan;
  }

  #carryOut(): void {
    const { changes, conflicts } = this.plan;
    for (const { path, after, before } of changes) {
      assert(sameEntry(this.folder.at(path)?.entry, before), `before of ${path}`);
      this.folder.set(path, after);
    }
    const ids = new Set(conflicts.map(({ id }) => id));
    this.conflicts = [
      ...this.conflicts.filter(({ id }) => !ids.has(id)),
      ...conflicts.filter(({ record }) => record.state === "open"),
    ];
    this.applied = this.origin.seq;
    this.#known = this.folder.seq;
    checkWhole(this.folder.tree());
  }

  /** Brings proposals and merges to the origin. */
  #push({ proposals, changes }: CyclePlan): void {
    for (const path of proposals) this.origin.set(path, this.folder.at(path)?.entry);
    for (const { path, cause } of changes) if (cause === "merge") this.origin.set(path, this.folder.at(path)?.entry);
    checkWhole(this.origin.tree());
  }

  /** Runs cycles until nothing is left to do. */
  async settle(): Promise<void> {
    for (let i = 0; i < 10; i += 1) {
      const plan = await this.cycle();
      this.#push(plan);
      if (plan.changes.length + plan.proposals.length + plan.conflicts.length === 0 && this.applied === this.origin.seq)
        return;
    }
    throw new Error("it does not come to rest");
  }

  /** True if the path is, or lies beneath, an open conflict. */
  isOpen(path: WorkspacePath): boolean {
    return this.conflicts.some(({ record }) => `${path}/`.startsWith(`${record.path}/`));
  }
}

function settled(one: ReturnType<typeof decideCycle>[number]): SettledDecision {
  const { decision } = one;
  if (decision.action !== "merge") return { ...one, decision };
  const { base, local, remote } = decision.contents;
  const merged = mergeContents(decision, { base: contentOf(base), local: contentOf(local), remote: contentOf(remote) });
  if (merged.content !== undefined) contents.set(sha256(merged.content), merged.content);
  return { ...one, decision: merged.decision };
}

function checkWhole(tree: ReadonlyMap<WorkspacePath, Entry>): void {
  for (const path of tree.keys()) {
    const parent = parentOf(path);
    assert(parent === "" || tree.get(parent)?.kind === "dir", `above ${path}`);
  }
}

function shown(files: Files): string[] {
  return [...files.tree()]
    .map(([path, { kind, hash }]) => (kind === "dir" ? `${path}/` : `${path}: ${String(contents.get(hash ?? ""))}`))
    .sort();
}

describe("a cycle", () => {
  it("takes the origin's files into an empty folder, with the origin's event and iteration of each", async () => {
    const pair = new Pair();
    pair.origin.become({ d: { f: "1" } });
    const { changes, proposals } = await pair.cycle();
    expect(changes).toMatchObject([
      { path: "d", before: undefined, cause: "replica", upstream: { seq: 1, iteration: 1 }, base: { seq: 0 } },
      { path: "d/f", cause: "replica", upstream: { seq: 2, iteration: 1 } },
    ]);
    expect(proposals).toEqual([]);
    expect(shown(pair.folder)).toEqual(shown(pair.origin));
  });

  it("joins a folder that has files: differing files are conflicts, and the folder's own files are proposed", async () => {
    const pair = new Pair();
    pair.origin.become({ both: "1", differ: "origin", theirs: "t" });
    pair.folder.become({ both: "1", differ: "folder", mine: { f: "m" } });
    const { changes, proposals, conflicts } = await pair.cycle();
    expect(changes.map(({ path }) => path)).toEqual(["theirs"]);
    expect(proposals).toEqual(["mine", "mine/f"]);
    expect(conflicts.map(({ record }) => [record.path, record.reason, record.sync?.baseSeq])).toEqual([
      ["differ", "created", 0],
    ]);
  });

  it("merges texts, and the folder gets the merged one as a change of its own", async () => {
    const pair = await Pair.of({ f: "1\n2\n3\n" });
    pair.origin.become({ f: "one\n2\n3\n" });
    pair.folder.become({ f: "1\n2\nthree\n" });
    const { changes, proposals } = await pair.cycle();
    expect(changes).toMatchObject([{ path: "f", cause: "merge", base: { seq: 1 } }]);
    expect(proposals).toEqual([]);
    expect(shown(pair.folder)).toEqual(["f: one\n2\nthree\n"]);
  });

  it("an echo of the folder's own edits does not undo later edits of the folder", async () => {
    const pair = await Pair.of({ gone: "1", edited: "1", foreign: "1" });
    pair.folder.become({ gone: "2", edited: "2", foreign: "2" });
    await pair.cycle();
    const before = pair.origin.seq;
    pair.origin.become({ gone: "2", edited: "2", foreign: "1" });
    for (let seq = before + 1; seq <= pair.origin.seq; seq += 1) pair.own.add(seq);
    pair.origin.become({ gone: "2", edited: "2", foreign: "origin" });
    pair.folder.become({ edited: "3", foreign: "3" });
    const plan = await pair.cycle();
    expect(plan.changes).toEqual([]);
    expect(plan.conflicts.map(({ record }) => record.path)).toEqual(["foreign"]);
  });

  it("an origin's edit of the folder's own edit has that edit as its base, even if its acceptance is not known yet", async () => {
    const pair = await Pair.of({ same: "1", more: "1", "text.md": "1\n2\n3\n" });
    const edited = { same: "2", more: "2", "text.md": "one\n2\n3\n" };
    pair.folder.become(edited);
    await pair.cycle();
    const before = pair.origin.seq;
    pair.origin.become(edited);
    for (let seq = before + 1; seq <= pair.origin.seq; seq += 1) pair.own.add(seq);
    pair.origin.become({ same: "origin", more: "origin", "text.md": "one, two\n2\n3\n" });
    pair.folder.become({ ...edited, more: "3", "text.md": "one\n2\nthree\n" });
    const { changes, conflicts } = await pair.cycle();
    expect(changes.map(({ path, cause, base }) => [path, cause, base?.seq])).toEqual([
      ["same", "replica", before + 1],
      ["text.md", "merge", before + 3],
    ]);
    expect(conflicts).toMatchObject([{ record: { path: "more", base: { size: 1 }, sync: { baseSeq: before + 2 } } }]);
    expect(shown(pair.folder)).toEqual(["more: 3", "same: origin", "text.md: one, two\n2\nthree\n"]);
  });

  it("an edit that the folder undid does not come back with its own echo", async () => {
    const pair = await Pair.of({ back: "1", both: "1" });
    pair.folder.become({ back: "2", both: "2" });
    await pair.cycle();
    const before = pair.origin.seq;
    pair.origin.become({ back: "2", both: "2" });
    for (let seq = before + 1; seq <= pair.origin.seq; seq += 1) pair.own.add(seq);
    pair.origin.become({ back: "2", both: "origin" });
    pair.folder.become({ back: "1", both: "1" });
    const { changes, proposals, conflicts } = await pair.cycle();
    expect([changes, proposals]).toEqual([[], ["back"]]);
    expect(conflicts.map(({ record }) => record.path)).toEqual(["both"]);
  });

  it("a conflict stays open, with the same base, until both sides agree", async () => {
    const pair = await Pair.of({ f: "1" });
    pair.origin.become({ f: "2" });
    pair.folder.become({ f: "3" });
    await pair.cycle();
    expect(pair.conflicts).toMatchObject([{ record: { path: "f", sync: { baseSeq: 1, upstreamSeq: 2, since: 1 } } }]);
    expect((await pair.cycle()).conflicts).toEqual([]);
    pair.origin.become({ f: "4" });
    await pair.cycle();
    expect(pair.conflicts).toMatchObject([
      { id: "1", record: { sync: { baseSeq: 1, upstreamSeq: 3 }, base: { size: 1 } } },
    ]);
    pair.folder.become({ f: "4" });
    const { conflicts, proposals } = await pair.cycle();
    expect(conflicts).toMatchObject([{ id: "1", record: { state: "settled", settled: "withdrawn" } }]);
    expect([pair.conflicts, proposals]).toEqual([[], []]);
  });

  it("paths beneath a conflict keep their old base, too, so that nothing is lost when other paths move on", async () => {
    const pair = await Pair.of({ d: { f: "1", g: "2" } });
    pair.origin.become({ d: { f: "changed", g: "2" } });
    pair.folder.become({ d: "a file now" });
    await pair.cycle();
    pair.origin.become({ d: { f: "changed", g: "2" }, other: "x" });
    await pair.settle();
    expect(pair.conflicts.map(({ record }) => [record.path, record.reason])).toEqual([["d", "folder"]]);
    expect(shown(pair.origin)).toEqual(["d/", "d/f: changed", "d/g: 2", "other: x"]);
    expect(shown(pair.folder)).toEqual(["d: a file now", "other: x"]);
    pair.folder.become({ d: { f: "1", g: "2", own: "3" }, other: "x" });
    await pair.settle();
    expect(pair.conflicts).toEqual([]);
    expect(shown(pair.folder)).toEqual(["d/", "d/f: changed", "d/g: 2", "d/own: 3", "other: x"]);
    expect(shown(pair.origin)).toEqual(shown(pair.folder));
  });

  it.each(["folder", "origin"] as const)(
    "a disputed file whose folder becomes a file (of the %s): both paths are disputed, and both sides keep theirs",
    async (side) => {
      const pair = await Pair.of({ d: { f: "1", g: "2" } });
      pair.folder.become({ d: { f: "mine", g: "2" } });
      pair.origin.become({ d: { f: "theirs", g: "2" } });
      await pair.settle();
      expect(pair.conflicts.map(({ record }) => record.path)).toEqual(["d/f"]);
      pair[side].become({ d: "a file now" });
      await pair.settle();
      const other = side === "folder" ? "origin" : "folder";
      const kept = other === "origin" ? "d/f: theirs" : "d/f: mine";
      expect(shown(pair[side])).toEqual(["d: a file now"]);
      expect(shown(pair[other])).toContain(kept);
      expect(new Set(pair.conflicts.map(({ record }) => [record.path, record.reason].join(" ")))).toEqual(
        new Set(["d folder", "d/f content"]),
      );
      const disputed = pair.conflicts.find(({ record }) => record.path === "d/f")?.record;
      expect([disputed?.current === undefined, disputed?.wanted === undefined]).toEqual([
        side === "folder",
        side === "origin",
      ]);
      // Once the path is a folder again, only the file is disputed, as before.
      pair[side].become({ d: { f: "again", g: "2" } });
      await pair.settle();
      expect(pair.conflicts.map(({ record }) => [record.path, record.reason])).toEqual([["d/f", "content"]]);
      expect(shown(pair[other])).toContain(kept);
    },
  );

  it("proposes the folder's edits and new files, and takes the origin's deletion", async () => {
    const pair = await Pair.of({ f: "1", g: "1" });
    pair.folder.become({ f: "2", g: "1", n: "new" });
    pair.origin.become({ f: "1" });
    const { proposals, changes } = await pair.cycle();
    expect([proposals, changes.map(({ path }) => path)]).toEqual([["f", "n"], ["g"]]);
  });

  it("deletions are proposed before what takes their place", async () => {
    const pair = await Pair.of({ d: { e: { f: "1" } }, x: "1" });
    pair.folder.become({ d: "file", x: { y: "2" } });
    expect((await pair.cycle()).proposals).toEqual(["d/e/f", "d/e", "d", "x", "x/y"]);
  });

  it("filtered paths are not changed, not proposed and not in conflict", async () => {
    const pair = new Pair({ filterTo: ["secret/"], filterFrom: ["build/", "*.log"] });
    pair.origin.become({ secret: { key: "1" }, ".git": { hooks: { "pre-commit": "evil" } }, a: { ".GIT": "x" } });
    pair.folder.become({ secret: { mine: "2" }, build: { o: "3" }, "a.log": "4", "x.swp": "5", src: "6" });
    const { changes, proposals, conflicts } = await pair.cycle();
    expect(changes.map(({ path }) => path)).toEqual(["a"]);
    expect(proposals).toEqual(["src", "x.swp"]);
    expect(conflicts).toEqual([]);
  });

  it("a path that is not written back still follows the origin", async () => {
    const pair = await Pair.of({ build: { o: "1" } }, { filterFrom: ["build/"] });
    pair.folder.become({ build: {} });
    expect((await pair.cycle()).proposals).toEqual([]);
    pair.origin.become({ build: { o: "2" } });
    await pair.settle();
    expect(shown(pair.folder)).toEqual(["build/", "build/o: 2"]);
  });

  it("setuid bits that were set in the folder are no difference, and stay until the origin changes the file", async () => {
    const pair = await Pair.of({ f: "1" });
    const path = "f" as WorkspacePath;
    pair.folder.set(path, { ...(pair.folder.at(path)?.entry as Entry), mode: 0o4644 });
    const { changes, proposals, conflicts } = await pair.cycle({ everything: true });
    expect([changes, proposals, conflicts]).toEqual([[], [], []]);
    expect(pair.folder.at(path)?.entry?.mode).toBe(0o4644);
    pair.origin.become({ f: "2" });
    await pair.settle();
    expect(pair.folder.at(path)?.entry).toMatchObject({ mode: 0o644, hash: sha256("2") });
  });

  it("setuid bits of the origin do not come into the folder, and their absence is not proposed to the origin", async () => {
    const pair = new Pair();
    pair.origin.become({ f: "1" });
    const path = "f" as WorkspacePath;
    pair.origin.set(path, { ...(pair.origin.at(path)?.entry as Entry), mode: 0o4755 });
    await pair.cycle();
    expect(pair.folder.at(path)?.entry?.mode).toBe(0o755);
    expect((await pair.cycle({ everything: true })).proposals).toEqual([]);
  });

  it("a name that the folder cannot hold beside another one is a conflict, and comes once the other is gone", async () => {
    const pair = await Pair.of({ a: "1" });
    pair.origin.become({ a: "1", A: { f: "2" } });
    const collisions = ["A" as WorkspacePath];
    await pair.cycle({ collisions });
    await pair.cycle({ collisions, everything: true });
    expect(pair.conflicts.map(({ record }) => [record.path, record.reason])).toEqual([["A", "collision"]]);
    expect([shown(pair.folder), shown(pair.origin)]).toEqual([["a: 1"], ["A/", "A/f: 2", "a: 1"]]);
    pair.origin.become({ A: { f: "2" } });
    await pair.cycle();
    expect([shown(pair.folder), pair.conflicts]).toEqual([["A/", "A/f: 2"], []]);
  });
});

const text = fc.constantFrom("1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n", "x\0", ">target");
const { shape } = fc.letrec<{ shape: Shape; value: string | Shape }>((tie) => ({
  shape: fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3, noNullPrototype: true }),
  value: fc.oneof({ maxDepth: 3, withCrossShrink: true }, text, tie("shape")) as fc.Arbitrary<string | Shape>,
}));
const rounds = fc.array(fc.record({ folder: fc.option(shape), origin: fc.option(shape) }), {
  minLength: 1,
  maxLength: 4,
});
const mode = fc.constantFrom<ReconcileMode>("two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica");

async function play(
  rounds_: readonly { folder: Shape | null; origin: Shape | null }[],
  how: ReconcileMode,
): Promise<Pair> {
  const pair = new Pair({ mode: how });
  for (const { folder, origin } of rounds_) {
    if (folder !== null) pair.folder.become(folder);
    if (origin !== null) pair.origin.become(origin);
    await pair.settle();
  }
  return pair;
}

it("the conflict of a path that waits to be written, and is no longer disputed, loses its `since`", () => {
  const path = "d" as WorkspacePath;
  const [folder] = entriesOf({ d: {} });
  const sync = { origin: "w", baseSeq: 2, upstreamSeq: 4, since: 3, detail: "not-empty" };
  const states = { base: folder, current: folder, wanted: undefined };
  const record = { path, state: "open", reason: "blocked", undo: "", sync, met: "", ...states } as const;
  const sides = { base: folder, local: folder, remote: undefined };
  const { since: _, ...kept } = sync;
  const plan = planCycle([{ path, sides, decision: settle(sides, both(undefined)) }], {
    origin: "w",
    applied: 5,
    rules: new ReplicatedPaths({ mode: "two-way-safe", filterTo: [], filterFrom: [] }),
    paths: [{ path, base: { entry: folder, seq: 2 }, local: folder, remote: undefined, upstream: undefined }],
    conflicts: [{ id: "1", record }],
    collisions: [],
    waiting: new Set([path]),
    isOnItsWay: () => false,
    newId: () => "2",
    now: "",
  });
  expect(plan).toEqual({ changes: [], proposals: [], conflicts: [{ id: "1", record: { ...record, sync: kept } }] });
});

describe("cycles, whatever happens on both sides", () => {
  it("come to rest with trees that are equal except for the open conflicts", async () => {
    await fc.assert(
      fc.asyncProperty(
        rounds,
        fc.constantFrom<ReconcileMode>("two-way-safe", "two-way-resolved"),
        async (given, how) => {
          const pair = await play(given, how);
          const [origin, folder] = [pair.origin.tree(), pair.folder.tree()];
          for (const path of new Set([...origin.keys(), ...folder.keys()])) {
            if (pair.isOpen(path)) continue;
            expect(sameEntry(origin.get(path), folder.get(path)), path).toBe(true);
          }
          if (how === "two-way-resolved") expect(pair.conflicts).toEqual([]);
        },
      ),
      { numRuns: 600 },
    );
  });

  it("never write to the origin in one-way modes, and make the folder equal to it in one-way-replica", async () => {
    await fc.assert(
      fc.asyncProperty(
        rounds,
        fc.constantFrom<ReconcileMode>("one-way-safe", "one-way-replica"),
        async (given, how) => {
          const pair = await play(given, how);
          expect(shown(pair.origin)).toEqual(shown(await lastOf(given)));
          if (how === "one-way-replica") expect(shown(pair.folder)).toEqual(shown(pair.origin));
        },
      ),
      { numRuns: 600 },
    );
  });

  it("of the touched paths leave nothing to do for a cycle over all paths", async () => {
    await fc.assert(
      fc.asyncProperty(rounds, mode, async (given, how) => {
        const pair = await play(given, how);
        const { changes, proposals, conflicts } = await pair.cycle({ everything: true });
        expect([changes, proposals, conflicts]).toEqual([[], [], []]);
      }),
      { numRuns: 600 },
    );
  });
});

async function lastOf(given: readonly { origin: Shape | null }[]): Promise<Files> {
  const files = new Files();
  for (const { origin } of given) if (origin !== null) files.become(origin);
  return files;
}

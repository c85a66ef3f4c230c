import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sameEntry, type Entry } from "../values/entry.ts";
import { sha256 } from "../values/hash.ts";
import { isWithin, parentOf, type WorkspacePath } from "../values/path.ts";
import {
  mergeContents,
  type ReconcileMode,
  type Settled,
  type Side,
  reconcileTrees,
  type PathDecision,
  type Trees,
} from "./reconcile.ts";

const MODES: readonly ReconcileMode[] = ["two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"];

/** `{"a": {"f": "text"}}`: folders are objects; a text that begins with `>` is a link. */
interface Shape {
  readonly [name: string]: string | Shape;
}

/** Contents by their hashes, so that the tests can merge. */
const contents = new Map<string, Buffer>();

function tree(shape: Shape, folder = ""): Entry[] {
  return Object.entries(shape).flatMap(([name, value]) => {
    const path = (folder === "" ? name : `${folder}/${name}`) as WorkspacePath;
    if (typeof value !== "string") {
      return [{ path, kind: "dir", mode: 0o755, size: 0, mtimeMs: 0, hash: undefined } as const, ...tree(value, path)];
    }
    const hash = sha256(value);
    contents.set(hash, Buffer.from(value));
    const kind = value.startsWith(">") ? ("symlink" as const) : ("file" as const);
    return [{ path, kind, mode: kind === "file" ? 0o644 : 0o777, size: value.length, mtimeMs: 1, hash }];
  });
}

function contentOf(entry: Entry): Buffer {
  const content = entry.hash === undefined ? undefined : contents.get(entry.hash);
  if (content === undefined) throw new Error(`no content for ${entry.path}`);
  return content;
}

function settled({ decision }: PathDecision): Settled {
  if (decision.action !== "merge") return decision;
  const { base, local, remote } = decision.contents;
  const bytes = { base: contentOf(base), local: contentOf(local), remote: contentOf(remote) };
  const merged = mergeContents(decision, bytes);
  if (merged.content !== undefined) contents.set(sha256(merged.content), merged.content);
  return merged.decision;
}

type Flat = Readonly<Record<keyof Trees, ReadonlyMap<string, Entry>>>;

function flat(trees: Trees): Flat {
  const of = (entries: Iterable<Entry>) => new Map([...entries].map((entry) => [entry.path as string, entry]));
  return { base: of(trees.base), local: of(trees.local), remote: of(trees.remote) };
}

/** Returns all three trees after every decision was carried out. */
function applied(trees: Trees, decisions: readonly PathDecision[]): Flat {
  const { base, local, remote } = flat(trees);
  const after = { base: new Map(base), local: new Map(local), remote: new Map(remote) };
  for (const one of decisions) {
    const decision = settled(one);
    for (const of of ["base", "local", "remote"] as const) {
      const entry = decision[of];
      if (entry === undefined) after[of].delete(one.path);
      else after[of].set(one.path, entry);
    }
  }
  return after;
}

function treesOf({ base, local, remote }: Flat): Trees {
  return { base: base.values(), local: local.values(), remote: remote.values() };
}

function run(
  [base, local, remote]: readonly [Shape, Shape, Shape],
  mode: ReconcileMode = "two-way-safe",
  alpha: Side = "local",
) {
  const trees = { base: tree(base), local: tree(local), remote: tree(remote) };
  const decisions = reconcileTrees(trees, { mode, alpha });
  const after = applied(trees, decisions);
  const paths = (side: Side) => [...after[side].values()].map(({ path, kind }) => (kind === "dir" ? `${path}/` : path));
  const said = decisions.map(({ path, decision }) => {
    const reason = decision.action !== "merge" && decision.reason !== undefined ? ` ${decision.reason}` : "";
    return `${path}: ${decision.action}${reason}`;
  });
  return { said, local: paths("local").sort(), remote: paths("remote").sort(), decisions };
}

describe("reconcileTrees", () => {
  it("gives no decision for equal trees, and `none` for changes that both sides made alike", () => {
    expect(run([{ d: { f: "1" } }, { d: { f: "1" } }, { d: { f: "1" } }]).said).toEqual([]);
    expect(run([{}, { d: { f: "1" } }, { d: { f: "1" } }]).said).toEqual(["d: none", "d/f: none"]);
  });

  it("a folder that one side removed is removed, except for the files that the other side changed in it", () => {
    const base = { d: { f: "1", g: "2", e: { h: "3" } } };
    const { said, local, remote } = run([base, {}, { d: { f: "changed", g: "2", e: { h: "3" } } }]);
    expect(said).toEqual(["d: take", "d/e: propose", "d/e/h: propose", "d/f: take", "d/g: propose"]);
    expect(local).toEqual(["d/", "d/f"]);
    expect(remote).toEqual(local);
  });

  it("a new file in a folder that the other side removed brings the folders above it back", () => {
    const { local, remote } = run([{ d: { e: { f: "1" } } }, { d: { e: { f: "1", new: "2" } } }, {}]);
    expect(local).toEqual(["d/", "d/e/", "d/e/new"]);
    expect(remote).toEqual(local);
  });

  it("a folder that became a file on one side and was edited on the other is one conflict, and both sides stay", () => {
    const base = { d: { f: "1", g: "2" } };
    const { said, local, remote } = run([base, { d: "a file now" }, { d: { f: "changed", g: "2" } }]);
    expect(said).toEqual(["d: conflict folder", "d/f: held", "d/g: held"]);
    expect(local).toEqual(["d"]);
    expect(remote).toEqual(["d/", "d/f", "d/g"]);
  });

  it("two-way-resolved: alpha's state replaces the whole folder, and the replaced files are kept aside", () => {
    const base = { d: { f: "1" } };
    const remote = { d: { f: "changed", new: "3" } };
    const mine = run([base, { d: "a file now" }, remote], "two-way-resolved");
    expect(mine.said).toEqual(["d: propose folder", "d/f: propose", "d/new: propose"]);
    expect(mine.remote).toEqual(["d"]);
    expect(mine.decisions.flatMap((one) => settled(one).kept.map(({ path }) => path))).toEqual(["d/f", "d/new"]);
    const theirs = run([base, { d: "a file now" }, remote], "two-way-resolved", "remote");
    expect(theirs.local).toEqual(["d/", "d/f", "d/new"]);
    expect(theirs.decisions.flatMap((one) => settled(one).kept.map(({ path }) => path))).toEqual(["d"]);
  });

  it("a file that one side renamed and the other edited keeps the edit under the old name", () => {
    const { said } = run([{ old: "1\n" }, { new: "1\n" }, { old: "2\n" }]);
    expect(said).toEqual(["new: propose", "old: take"]);
  });

  it("one-way-safe: beta's own files stay, with the folders above them", () => {
    const { local, remote } = run([{ d: { f: "1" } }, {}, { d: { f: "1", own: "2" } }], "one-way-safe");
    expect(local).toEqual([]);
    expect(remote).toEqual(["d/", "d/own"]);
  });
});

const text = fc.constantFrom("1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n", "x\0", ">target");
const { shape } = fc.letrec<{ shape: Shape; value: string | Shape }>((tie) => ({
  shape: fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3, noNullPrototype: true }),
  value: fc.oneof({ maxDepth: 3, withCrossShrink: true }, text, tie("shape")) as fc.Arbitrary<string | Shape>,
}));
const trees = fc
  .record({ base: shape, local: shape, remote: shape })
  .map(({ base, local, remote }) => ({ base: tree(base), local: tree(local), remote: tree(remote) }));
const options = fc.record({
  mode: fc.constantFrom(...MODES),
  alpha: fc.constantFrom<Side>("local", "remote"),
  mergeContents: fc.boolean(),
});

describe("reconcileTrees, for any trees", () => {
  it("leaves valid trees that are equal, except at conflicts and at paths that only beta has", () => {
    fc.assert(
      fc.property(trees, options, (given, how) => {
        const decisions = reconcileTrees(given, how);
        const after = applied(given, decisions);
        for (const side of ["local", "remote"] as const) {
          for (const { path } of after[side].values()) {
            const parent = parentOf(path);
            expect(parent === "" ? "dir" : after[side].get(parent)?.kind, `${side} ${path}`).toBe("dir");
          }
        }
        const open = decisions.filter((one) => ["conflict", "held"].includes(settled(one).action));
        const isOpen = (path: string) => open.some((one) => isWithin(path as WorkspacePath, one.path));
        for (const path of new Set([...after.local.keys(), ...after.remote.keys()])) {
          const [local, remote] = [after.local.get(path), after.remote.get(path)];
          if (sameEntry(local, remote) || isOpen(path)) continue;
          const alpha = how.alpha === "local" ? local : remote;
          // In one-way mode, paths that only beta has are left alone.
          expect([how.mode, path, alpha]).toEqual(["one-way-safe", path, undefined]);
        }
        if (how.mode === "two-way-resolved" || how.mode === "one-way-replica") expect(open).toEqual([]);
      }),
      { numRuns: 1500 },
    );
  });

  it("never loses a content: each one is in a tree, is in the base, or is kept aside", () => {
    fc.assert(
      fc.property(trees, options, (given, how) => {
        const before = flat(given);
        const decisions = reconcileTrees(given, how);
        const after = applied(given, decisions);
        const kept = new Map(decisions.map((one) => [one.path as string, settled(one).kept]));
        for (const side of ["local", "remote"] as const) {
          for (const [path, entry] of before[side]) {
            const held = [before.base, after.local, after.remote].map((entries) => entries.get(path)?.hash);
            const places = new Set([undefined, ...held, ...(kept.get(path) ?? []).map(({ hash }) => hash)]);
            expect(places, `${side} ${path}`).toContain(entry.hash);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("changes nothing when it is done a second time, and reports the same conflicts", () => {
    fc.assert(
      fc.property(trees, options, (given, how) => {
        const first = reconcileTrees(given, how);
        const after = applied(given, first);
        const again = reconcileTrees(treesOf(after), how);
        const rerun = applied(treesOf(after), again);
        expect(rerun.local).toEqual(after.local);
        expect(rerun.remote).toEqual(after.remote);
        const conflicts = (decisions: readonly PathDecision[]) =>
          decisions.filter((one) => settled(one).action === "conflict").map(({ path }) => path);
        expect(conflicts(again)).toEqual(conflicts(first));
      }),
      { numRuns: 1000 },
    );
  });

  it("gives the mirrored result if the sides are swapped, whatever the order of the entries", () => {
    fc.assert(
      fc.property(trees, options, ({ base, local, remote }, how) => {
        const here = applied({ base, local, remote }, reconcileTrees({ base, local, remote }, how));
        const swapped = { base: [...base].reverse(), local: [...remote].reverse(), remote: [...local].reverse() };
        const alpha = how.alpha === "local" ? "remote" : "local";
        const there = applied(swapped, reconcileTrees(swapped, { ...how, alpha }));
        expect(Object.fromEntries(there.local)).toEqual(Object.fromEntries(here.remote));
        expect(Object.fromEntries(there.remote)).toEqual(Object.fromEntries(here.local));
      }),
      { numRuns: 1000 },
    );
  });
});

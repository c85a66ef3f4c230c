import fc from "fast-check";
import { expect, it } from "vitest";
import type { Entry } from "../values/entry.ts";
import { sha256 } from "../values/hash.ts";
import { LiveTree } from "./live-tree.ts";
import { manifestRoot } from "./merkle.ts";
import { comparePaths, parentOf, pathInRoot, type WorkspacePath } from "../values/path.ts";

const name = fc.constantFrom("a", "b", "é", "\u{1F600}", "c.txt");
const path = fc
  .tuple(fc.constantFrom(undefined, "lib"), fc.array(name, { minLength: 1, maxLength: 3 }))
  .map(([root, parts]) => pathInRoot(root, parts.join("/") as WorkspacePath));
const change = fc.record({
  path,
  kind: fc.constantFrom("file", "dir", "gone"),
  mode: fc.constantFrom(0o644, 0o755),
  text: fc.string({ maxLength: 2 }),
});

function isRoot(at: WorkspacePath): boolean {
  return at === "" || at === pathInRoot("lib", "" as WorkspacePath);
}

/** Returns the reachable entries: those whose folders all have an entry. */
function reachable(states: ReadonlyMap<WorkspacePath, Entry>): Entry[] {
  const holds = (at: WorkspacePath): boolean => isRoot(at) || (states.get(at)?.kind === "dir" && holds(parentOf(at)));
  return [...states.values()]
    .filter((entry) => holds(parentOf(entry.path)))
    .sort((a, b) => comparePaths(a.path, b.path));
}

it("the root of a live tree equals the root of the manifest, after any changes in any order", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const tree = new LiveTree();
      const states = new Map<WorkspacePath, Entry>();
      for (const { path: at, kind, mode, text } of changes) {
        const common = { path: at, mode, size: text.length, mtimeMs: 0 };
        const entry: Entry | undefined =
          kind === "gone"
            ? undefined
            : kind === "dir"
              ? { ...common, kind: "dir", hash: undefined }
              : { ...common, kind: "file", hash: sha256(text) };
        tree.set(at, entry);
        if (entry === undefined) states.delete(at);
        else states.set(at, entry);
        // The hashes are the same whether they are computed in pieces or at once.
        if (text === "") for (const _ of tree.computing(1)) expect(tree.root(["lib"])).toHaveLength(64);
        if (mode === 0o644) expect(tree.root(["lib"])).toBe(manifestRoot(reachable(states), ["lib"]).root);
      }
      expect(tree.root(["lib"])).toBe(manifestRoot(reachable(states), ["lib"]).root);
    }),
    { numRuns: 500 },
  );
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { FolderLeaves } from "./folder-leaves.ts";
import { sha256 } from "../values/hash.ts";
import { folderHash, type TreeChild } from "./merkle.ts";
import { compareNames } from "../values/path.ts";

const child = (name: string, text: string): TreeChild => ({ name, kind: "file", mode: 0o644, hash: sha256(text) });
const sorted = (children: ReadonlyMap<string, TreeChild>): TreeChild[] =>
  [...children.values()].sort((a, b) => compareNames(a.name, b.name));

it("the hash of the leaves equals the hash of the folder after any changes", () => {
  const name = fc.integer({ min: 0, max: 30 }).map((n) => `f${n}`);
  const change = fc.tuple(name, fc.option(fc.string({ maxLength: 2 }), { nil: undefined }));
  fc.assert(
    fc.property(fc.array(name, { maxLength: 25 }), fc.array(fc.array(change, { maxLength: 6 })), (names, rounds) => {
      const children = new Map(names.map((one) => [one, child(one, "")]));
      let leaves = FolderLeaves.of(sorted(children));
      for (const round of rounds) {
        const changes = new Map(round.map(([one, text]) => [one, text === undefined ? undefined : child(one, text)]));
        leaves = leaves.with(changes);
        for (const [one, now] of changes) {
          if (now === undefined) children.delete(one);
          else children.set(one, now);
        }
        expect(leaves.size).toBe(children.size);
        expect(leaves.hash).toBe(folderHash(sorted(children)));
      }
    }),
    { numRuns: 300 },
  );
});

import { expect, it } from "vitest";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import type { Hash } from "../../src/core/values/hash.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { flipStored } from "../../src/testing/blob-store-rig.ts";
import { ReplicaRig } from "../../src/testing/replica-rig.ts";
import { compact } from "../../src/engine/upkeep/compact.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";
import type { BlobStore } from "../../src/storage/blob-store.ts";
import { Project } from "../helpers/project.ts";

/** A history that was compacted in the middle, with several files. */
async function compacted(project: Project): Promise<Hash> {
  project.write("a", "1");
  project.write("b/c", "1");
  const workspace = await project.init();
  project.write("a", "2");
  await workspace.snapshot();
  const { base } = await workspace.compact();
  for (const text of ["3", "4"]) {
    project.write("a", text);
    await workspace.snapshot();
  }
  await workspace.close();
  return base as Hash;
}

it("verify reports only the damaged base of a compaction, if the events before it are in the archive", async () => {
  await using project = new Project();
  const base = await compacted(project);
  flipStored(new NodeDisk(), storeLayout(project.home).blobs, base);
  const { problems } = await (await project.open()).verify();
  expect(problems.map(({ kind }) => kind)).toEqual(["blob-corrupt", "blob-missing"]);
});

it("verify reports no root as wrong if roots cannot be computed, because the history's first base is gone", async () => {
  await using rig = await ReplicaRig.open({ a: "1", "b/c": "1" });
  const { base } = await compact(rig.context, { dropArchive: true });
  await rig.context.index.head();
  for (const a of ["2", "3"]) await rig.edit("a", a);
  const problems = (await verify({ ...rig.context, blobs: without(rig.context.blobs, base as Hash) })).problems;
  expect(problems.map(({ kind }) => kind)).toEqual(["head-unknown"]);
});

/** The same blob store, without the content of this hash. */
function without(blobs: BlobStore, hash: Hash): BlobStore {
  return new Proxy(blobs, {
    get: (target, key) => {
      if (key === "open") return async (one: Hash) => (one === hash ? undefined : target.open(one));
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

import { describe, expect, it } from "vitest";
import { sha256 } from "../../core/values/hash.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";
import { prune } from "../upkeep/prune.ts";
import { openBlob } from "../read/read-file.ts";
import { takeSnapshot } from "../read/snapshot.ts";
import { undo } from "./undo.ts";
import { listVersions, restoreVersion } from "./versions.ts";

const R1 = "11111111-aaaa";
const R2 = "11111111-bbbb";

/** Makes an origin that has kept a version of each of two replicas: an edit of `a` and a deletion of `d/b`. */
async function rig(files: Record<string, string> | undefined): Promise<WriteBackRig> {
  const origin = await WriteBackRig.create(files);
  const a = await origin.write("a", "one");
  const b = await origin.write("d/b", "kept");
  await origin.write("a", "the host's");
  await origin.write("d/b", "edited");
  const whose = { actor: "mina", session: "s1" };
  await origin.accept([await origin.entry(4, "a", "the replica's", { seen: a, ...whose })], { replica: R1 });
  await origin.accept([await origin.entry(4, "d/b", undefined, { seen: b })], { replica: R2 });
  return origin;
}

describe.each([
  ["without a folder", undefined],
  ["with a folder", {}],
])("versions of an origin %s", (_, files) => {
  it("are listed with their replica, actor and the iteration that they lost to, for all paths or one path", async () => {
    await using origin = await rig(files);
    const [first, second, ...more] = await listVersions(origin.context);
    expect(more).toEqual([]);
    expect(first).toMatchObject({
      id: `${R1}:4`,
      path: "a",
      replica: { id: R1, local_seq: 4 },
      kind: "file",
      size: 13,
      hash: sha256("the replica's"),
      actor: "mina",
      session: "s1",
      lost_to: { seq: await origin.seqOf("a"), iteration: 2 },
    });
    expect(second).toMatchObject({ id: `${R2}:4`, path: "d/b", kind: null, size: 0, hash: "" });
    expect(await listVersions(origin.context, { path: "d/b" })).toEqual([second]);
    expect(await listVersions(origin.context, { path: "d" })).toEqual([]);
  });

  it("have contents that can be read, though no path ever had them", async () => {
    await using origin = await rig(files);
    const blob = await openBlob(origin.context, sha256("the replica's"));
    expect(Buffer.concat(await Array.fromAsync(blob.pieces())).toString()).toBe("the replica's");
    await origin.keep(Buffer.from("somebody else's"));
    await expect(openBlob(origin.context, sha256("somebody else's"))).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("are marked as present only if the path has their permissions as well as their content", async () => {
    await using origin = await WriteBackRig.create(files);
    const a = await origin.write("a", "text");
    await origin.write("a", "else");
    await origin.accept([await origin.entry(4, "a", "text", { seen: a, mode: 0o600 })], { replica: R1 });
    await origin.write("a", "text");
    const [version] = await listVersions(origin.context);
    expect([version?.permissions, version?.is_present]).toEqual([0o600, undefined]);
    await restoreVersion(origin.context, `${R1}:4`);
    expect((await listVersions(origin.context))[0]?.is_present).toBe(true);
  });

  it("can be restored to their paths, and undo inverts that", async () => {
    await using origin = await rig(files);
    const done = await restoreVersion(origin.context, "11111111-a:4");
    expect(done).toMatchObject({ version: { path: "a" }, changes: [{ path: "a", change_type: "modified" }] });
    expect(await origin.files()).toMatchObject({ a: "the replica's" });
    // A second restore changes nothing, because the path has the state of the version already.
    expect(await restoreVersion(origin.context, `${R1}:4`)).toMatchObject({ changes: [], undo_id: null });
    await restoreVersion(origin.context, `${R2}:4`);
    expect(Object.keys(await origin.files())).toEqual(expect.not.arrayContaining(["d/b"]));
    await undo(origin.context);
    await undo(origin.context);
    expect(await origin.files()).toMatchObject({ a: "the host's", "d/b": "edited" });
  });

  it("are not restored if the id is unknown or ambiguous, or if a folder is in the way", async () => {
    await using origin = await rig(files);
    const asked = (id: string) => restoreVersion(origin.context, id);
    for (const id of ["", "4", ":4", `${R1}:5`, `${R1}`])
      await expect(asked(id)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(asked("11111111:4")).rejects.toMatchObject({ code: "AMBIGUOUS" });
    await origin.write("a", undefined);
    await origin.write("a/inside", "a folder now");
    await expect(asked(`${R1}:4`)).rejects.toMatchObject({ code: "REFUSED" });
    expect(await origin.files()).toMatchObject({ "a/inside": "a folder now" });
  });

  it("name the iteration into which their replica merged all of their changes", async () => {
    await using origin = await WriteBackRig.create(files);
    const seen = await origin.write("a", "1\n2\n3\n4\n5\n");
    await origin.write("a", "one\n2\n3\n4\n5\n");
    const lost = await origin.entry(1, "a", "1\n2\n3\n4\nfive\n", { seen });
    await origin.accept([lost], { replica: R1 });
    const listed = async () => (await listVersions(origin.context))[0];
    expect(await listed()).not.toHaveProperty("merged_in");
    // This state is no merge of the version: the replica did not make it, and it lacks the version's line "five".
    await origin.write("a", "one\n2\n3\n4\nfive!\n");
    expect(await listed()).not.toHaveProperty("merged_in");
    const merged = await origin.entry(2, "a", "one\n2\n3\n4\nfive\n", { seen: await origin.seqOf("a") });
    await origin.accept([merged], { replica: R1 });
    expect(await listed()).toMatchObject({ lost_to: { iteration: 2 }, merged_in: { iteration: 4 } });
    await origin.write("a", "all anew\n");
    expect(await listed()).toMatchObject({ merged_in: { iteration: 4 } });
  });

  it("that a replica gave up are never listed as merged, whatever the replica writes next", async () => {
    await using origin = await rig(files);
    const seen = await origin.seqOf("a");
    await origin.accept([await origin.entry(5, "a", "the host's, and more", { seen })], { replica: R1 });
    const [first, second] = await listVersions(origin.context);
    expect([first, second].map((one) => one?.merged_in)).toEqual([undefined, undefined]);
  });

  it("are kept by the collector until they are pruned, and are refused with PRUNED after that", async () => {
    await using origin = await rig(files);
    const { context } = origin;
    await context.store.collect();
    await restoreVersion(context, `${R1}:4`);
    await undo(context);
    for (const message of ["once", "twice"]) await takeSnapshot(context, { message });
    await prune(context, { keepLast: 1, now: true });
    await context.store.collect();
    const gone = expect.objectContaining({
      code: "PRUNED",
      message: expect.stringContaining("the version of a from replica 11111111"),
    });
    await expect(openBlob(context, sha256("the replica's"))).rejects.toMatchObject({ code: "PRUNED" });
    await expect(restoreVersion(context, `${R1}:4`)).rejects.toEqual(gone);
    // A version without content, such as this deletion, can always be restored.
    expect(await listVersions(context)).toHaveLength(2);
    expect(await restoreVersion(context, `${R2}:4`)).toMatchObject({ changes: [{ change_type: "deleted" }] });
  });
});

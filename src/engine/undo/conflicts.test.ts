import { describe, expect, it } from "vitest";
import type { IdentifiedConflict } from "../../core/records/conflict-record.ts";
import { ORIGIN, ReplicaRig } from "../../testing/replica-rig.ts";
import type { ApplyRequest } from "../../worktree/worktree.ts";
import { endBefore } from "./before-change.ts";
import { listConflicts, resolveConflict } from "./conflicts.ts";
import { listOperations } from "./operations.ts";
import { redo, undo } from "./undo.ts";
import { verify } from "../upkeep/verify.ts";

const ID = "22222222-2222-4222-8222-222222222222";

/** Makes a replica, reconciled up to the origin's event 6, whose file `a` both have changed since event 2. */
async function disputed(files: Readonly<Record<string, string>> = { a: "mine" }): Promise<ReplicaRig> {
  const replica = await ReplicaRig.open(files);
  const [base, wanted] = [await replica.file("a", "base"), await replica.file("a", "theirs")];
  replica.upstream("a", base, 2);
  replica.upstream("a", wanted, 6);
  const sync = { origin: ORIGIN, baseSeq: 2, upstreamSeq: 6 };
  const states = { path: "a" as never, base, current: await replica.recorded("a"), wanted };
  const met = "2030-01-01T00:00:00.000Z";
  const record: IdentifiedConflict["record"] = { ...states, state: "open", reason: "content", undo: "", met, sync };
  await replica.apply({ applied: 6, conflicts: [{ id: ID, record }] });
  return replica;
}

describe("a conflict of a sync, settled outside of the sync", () => {
  it("the folder's side is proposed as a change of the origin's state", async () => {
    await using replica = await disputed();
    const at = await replica.head();
    const done = await resolveConflict(replica.context, "a", { keep: "current" });
    expect(done).toMatchObject({ conflict: { cause: "sync", settled: "current" }, changes: [] });
    expect(replica.files()).toEqual({ a: "mine" });
    const { entries } = await replica.journal(at);
    expect(entries).toMatchObject([{ path: "a", seen: 6, entry: { hash: await replica.keep("mine") } }]);
    expect(await listConflicts(replica.context)).toEqual([]);
  });

  it("the origin's side replaces the folder's, whatever was edited since, and an undo opens the conflict again", async () => {
    await using replica = await disputed();
    replica.write("a", "mine, and more");
    await resolveConflict(replica.context, ID, { keep: "undo" });
    expect(replica.files()).toEqual({ a: "theirs" });
    expect((await listOperations(replica.context)).map(({ kind, summary }) => [kind, summary])).toEqual([
      ["resolve", "resolve of a: the upstream's side was taken"],
    ]);
    await undo(replica.context);
    expect(replica.files()).toEqual({ a: "mine, and more" });
    expect(await listConflicts(replica.context)).toMatchObject([{ id: ID, state: "open" }]);
    await redo(replica.context);
    expect(replica.files()).toEqual({ a: "theirs" });
    expect(await listConflicts(replica.context)).toEqual([]);
    expect((await verify(replica.context)).problems).toEqual([]);
  });

  it("a given content is a change of the origin's state, even if the folder has it already", async () => {
    await using replica = await disputed();
    const at = await replica.head();
    await resolveConflict(replica.context, "a", { keep: "merged", content: Buffer.from("both") });
    expect(replica.files()).toEqual({ a: "both" });
    expect((await replica.journal(at)).entries).toMatchObject([
      { seen: 6, entry: { hash: await replica.keep("both") } },
    ]);
    await using same = await disputed();
    const before = await same.head();
    await resolveConflict(same.context, "a", { keep: "merged", content: Buffer.from("mine") });
    expect((await same.journal(before)).entries).toMatchObject([{ seen: 6, entry: { hash: await same.keep("mine") } }]);
  });

  it("what was edited after it was seen is not overwritten", async () => {
    await using replica = await disputed();
    const { context } = replica;
    const merged = { keep: "merged", content: Buffer.from("both") } as const;
    const [seen, hash] = [await replica.keep("mine"), await replica.keep("mine, and more")];
    replica.write("a", "mine, and more");
    for (const old of [seen, null]) {
      for (const options of [{ ...merged, seen: old }, { keep: "undo", seen: old } as const]) {
        await expect(resolveConflict(context, "a", options)).rejects.toMatchObject({
          code: "REFUSED",
          message: "a was edited since you have seen it",
          data: { hash },
        });
      }
    }
    expect(replica.files()).toEqual({ a: "mine, and more" });
    expect(await listConflicts(context)).toMatchObject([{ id: ID, state: "open" }]);
    await resolveConflict(context, "a", { ...merged, seen: hash });
    expect(replica.files()).toEqual({ a: "both" });
  });

  it("that nothing is there can be seen, too", async () => {
    await using replica = await disputed();
    replica.disk.unlink("/proj/a");
    await resolveConflict(replica.context, "a", { keep: "merged", content: Buffer.from("both"), seen: null });
    expect(replica.files()).toEqual({ a: "both" });
  });

  it("the id of a settled conflict never means another one, whatever a file is named", async () => {
    await using replica = await disputed({ a: "mine", [ID]: "mine" });
    await resolveConflict(replica.context, ID, { keep: "current" });
    const [settled] = await listConflicts(replica.context, { all: true });
    expect(settled).toMatchObject({ id: ID, path: "a", state: "settled" });
    const wanted = await replica.file(ID, "theirs");
    const record: IdentifiedConflict["record"] = {
      ...{ path: ID as never, base: undefined, current: await replica.recorded(ID), wanted },
      ...{ state: "open", reason: "content", undo: "", met: "2030-01-01T00:00:00.000Z" },
      sync: { origin: ORIGIN, baseSeq: 0, upstreamSeq: 7 },
    };
    await replica.apply({ applied: 7, conflicts: [{ id: ID.replaceAll("2", "3"), record }] });
    await expect(resolveConflict(replica.context, ID, { keep: "undo" })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("settled"),
    });
    expect(replica.files()).toEqual({ a: "mine", [ID]: "mine" });
  });

  it("a conflict about a folder is refused, because only the sync settles it", async () => {
    await using replica = await disputed();
    const sync = { origin: ORIGIN, baseSeq: 0, upstreamSeq: 3, since: 2 };
    const states = { path: "d" as never, base: undefined, current: replica.folder("d"), wanted: undefined };
    const record = {
      ...states,
      state: "open",
      reason: "folder",
      undo: "",
      met: "2030-01-01T00:00:00.000Z",
      sync,
    } as const;
    await replica.apply({ applied: 6, conflicts: [{ id: "33333333-3333-4333-8333-333333333333", record }] });
    await expect(resolveConflict(replica.context, "d", { keep: "current" })).rejects.toMatchObject({
      code: "REFUSED",
      hint: "`chronicle sync resolve :/d --keep-local`, or --accept-upstream",
    });
  });
});

describe("changes that a sync brings are no steps of undo", () => {
  it("an undo undoes the last work here before them, and leaves them alone", async () => {
    await using replica = await disputed({ a: "mine", b: "1" });
    await resolveConflict(replica.context, "a", { keep: "merged", content: Buffer.from("both") });
    await replica.apply({ applied: 9, changes: [await replica.change("b", await replica.file("b", "2"))] });
    await undo(replica.context);
    expect(replica.files()).toEqual({ a: "mine", b: "2" });
  });

  it("an interrupted step is finished by an undo, which then continues", async () => {
    await using replica = await disputed();
    await resolveConflict(replica.context, "a", { keep: "merged", content: Buffer.from("both") });
    const change = await replica.change("b", await replica.file("b", "new"));
    const { context } = replica;
    const apply = async ({ begin }: ApplyRequest) => {
      await begin?.();
      throw new Error("cut off");
    };
    Object.assign(context.worktree, { apply });
    await expect(replica.apply({ applied: 9, changes: [change] })).rejects.toThrow("cut off");
    Reflect.deleteProperty(context.worktree, "apply");
    const done = await undo(context, {}, await endBefore(context));
    expect(done.notes).toEqual([`finished the interrupted sync with unix:/origin.sock (1 path)`]);
    expect(replica.files()).toEqual({ a: "mine", b: "new" });
  });
});

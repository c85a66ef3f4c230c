import { expect, it } from "vitest";
import { conflictDraft } from "../../../core/records/conflict-record.ts";
import type { EventDraft } from "../../../core/values/event.ts";
import { encodeFile, fileRecordId } from "../../../core/values/file-record.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import { withCommit } from "../../../engine/commit/commit.ts";
import { ORIGIN, ReplicaRig } from "../../../testing/replica-rig.ts";
import { StoodOn } from "./stood-on.ts";

const PATH = "a" as WorkspacePath;

it.each([0, 1, 30, 31])(
  "a file that settled a conflict stands on the origin's state, with %i other files in between",
  async (others) => {
    await using replica = await ReplicaRig.open({ a: "mine" });
    const entry = await replica.file("a", "merged");
    await replica.apply({ applied: 5, changes: [] });
    // Many events of another file come before the end of the conflict, so that no other relevant event is near.
    for (let i = 0; i < 40; i += 1) await replica.edit("before", String(i));
    const file = (path: string, iteration: number): EventDraft => ({
      op: "upsert",
      recordId: fileRecordId(path as WorkspacePath),
      record: encodeFile({
        entry: { ...entry, path: path as WorkspacePath },
        iteration,
        cause: "resolve",
        actor: "human",
      }),
    });
    const sync = { origin: ORIGIN, baseSeq: 2, upstreamSeq: 5 };
    const states = { path: PATH, base: undefined, current: undefined, wanted: undefined };
    const met = "2030-01-01T00:00:00.000Z";
    const record = { ...states, state: "settled", settled: "merged", reason: "content", undo: "", met, sync } as const;
    const id = "22222222-2222-4222-8222-222222222222";
    const more = Array.from({ length: others }, (_, i) => file(`f${String(i).padStart(2, "0")}`, 1));
    await withCommit(replica.context, (commit) =>
      commit.append([conflictDraft({ id, record }), ...more, file("a", 2)]),
    );
    const { context } = replica;
    const { seq } = await context.index.head();
    const row = await context.index.iterationAt(PATH, seq);
    const upstream = replica.upstream("a", entry, 5);
    const stood = new StoodOn({ context, mirror: { iterationAt: async () => upstream }, origin: () => ORIGIN });
    expect(await stood.at(PATH, row === undefined ? [] : [row], seq)).toEqual({ ownSeq: row?.seq, seq: 5 });
  },
);

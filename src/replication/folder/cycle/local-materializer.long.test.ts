import { describe, expect, it } from "vitest";
import { decodeFile, type FileRecord } from "../../../core/values/file-record.ts";
import { ReplicaRig, replicaRecord } from "../../../testing/replica-rig.ts";
import { LocalMaterializer } from "./local-materializer.ts";

/** More changes than a first sync attributes. */
const MANY = 4_100;

/** The work of two agents at the origin, each folder by an event of its own. */
const RECORDS = new Map(
  Array.from({ length: MANY }, (_, i): [number, FileRecord] => [
    i + 2,
    { entry: undefined, iteration: 1, cause: "write", actor: `agent-${i % 2}`, session: "s", turn: `t${i % 2}` },
  ]),
);
const mirror = {
  records: async (seqs: Iterable<number>) => new Map([...RECORDS].filter(([seq]) => new Set(seqs).has(seq))),
};

/** Brings all records into a folder. Returns the number of changes by actor, session and turn in its own history. */
async function authors(isFirst: boolean): Promise<Map<string, number>> {
  await using replica = await ReplicaRig.open();
  const changes = Array.from({ length: MANY }, (_, i) => {
    const after = replica.folder(`d${i}`);
    return { path: after.path, before: undefined, after, upstream: { seq: i + 2, iteration: 1 } };
  });
  const from = (await replica.head()) + 1;
  await new LocalMaterializer(replica.context, mirror, { isFirst: () => isFirst }).materialise({
    ...{ record: replicaRecord({ applied: MANY + 1 }), changes, proposals: [], conflicts: [], contents: [] },
    planned: { seq: from - 1, looked: new Set() },
  });
  const found = new Map<string, number>();
  for (const { recordId, record } of await replica.events(from)) {
    if (!recordId.startsWith("file:d")) continue;
    const { actor, session, turn } = decodeFile(changes[0]?.path ?? replica.folder("d").path, record);
    const key = [actor, session, turn].join(" ");
    found.set(key, (found.get(key) ?? 0) + 1);
  }
  return found;
}

describe("a large step", () => {
  it("records the actor, session and turn of each change", async () => {
    expect(await authors(false)).toEqual(
      new Map([
        ["agent-0 s t0", MANY / 2],
        ["agent-1 s t1", MANY / 2],
      ]),
    );
  });

  it("of a first sync records all changes alike, because the origin's history has their actors", async () => {
    expect([...(await authors(true)).values()]).toEqual([MANY]);
  });
});

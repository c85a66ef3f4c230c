import { expect, it } from "vitest";
import type { LogEventShape } from "../../api/shapes.ts";
import { replicaSessions } from "./replica-sessions.ts";

const event = (seq: number, record_id: string, record: unknown): LogEventShape => ({
  ...{ seq, ts: `2026-01-01T00:00:0${seq}Z`, record_id, record },
  ...{ op: "upsert", hash: "", prev_hash: "", recursion_depth: 0 },
});

const by = (id: string, session?: string) => ({ actor: "claude", replica: { id, local_seq: 1 }, session });

it("finds the sessions of replicas, newest first, with how many paths each changed", () => {
  const found = replicaSessions([
    event(6, "file:a", by("r1", "s1")),
    event(5, "file:b", by("r2", "s2")),
    event(4, "file:b", by("r1", "s1")),
    event(3, "file:a", by("r1", "s1")),
    event(2, "file:c", by("r1")),
    event(1, "file:c", { actor: "human", session: "here" }),
  ]);
  expect(found).toEqual([
    { id: "s1", replica: "r1", actor: "claude", last: "2026-01-01T00:00:06Z", seq: 6, changed: 2 },
    { id: "s2", replica: "r2", actor: "claude", last: "2026-01-01T00:00:05Z", seq: 5, changed: 1 },
  ]);
});

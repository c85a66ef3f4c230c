import { expect, it } from "vitest";
import { sealEvents } from "../log/chain.ts";
import { EMPTY_HEAD, type RecordBody } from "../values/event.ts";
import { remoteWorkIn } from "./remote-work.ts";

const TS = "2026-01-31T09:30:00.000Z";

function body(more: RecordBody): RecordBody {
  return { actor: "claude", cause: "replica", iteration: 1, kind: "absent", ...more };
}

it("remoteWorkIn groups file events from elsewhere by replica, session and turn, and skips those without a session", () => {
  const from = (id: string) => ({ replica: { id, local_seq: 1 } });
  const drafts = [
    ["file:a", body({ session: "s", turn: "t", ...from("r1") })],
    ["file:b", body({ session: "s", turn: "t", actor: "mina", ...from("r1") })],
    ["file:a", body({ session: "s", turn: "t2", ...from("r1") })],
    ["file:a", body({ session: "s", turn: "t", upstream: { seq: 3, iteration: 1 } })],
    ["file:c", body({ ...from("r1") })],
    ["file:c", { ...body({ session: "s" }), cause: "write" }],
    ["user:x", { cause: "replica", session: "s" }],
  ] as const;
  const events = sealEvents(
    EMPTY_HEAD,
    drafts.map(([recordId, record]) => ({ op: "upsert", recordId, record })),
    TS,
  );
  const times = { firstTs: TS, lastTs: TS };
  expect(remoteWorkIn(events)).toEqual([
    { replica: "r1", session: "s", turn: "t", action: "", actor: "mina", firstSeq: 1, lastSeq: 2, ...times, events: 2 },
    {
      replica: "r1",
      session: "s",
      turn: "t2",
      action: "",
      actor: "claude",
      firstSeq: 3,
      lastSeq: 3,
      ...times,
      events: 1,
    },
    { replica: "", session: "s", turn: "t", action: "", actor: "claude", firstSeq: 4, lastSeq: 4, ...times, events: 1 },
  ]);
});

import { expect, it } from "vitest";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { lastBefore } from "./use-playhead.ts";

const item = (id: string, timestamp: string): RecentItem => ({
  ...{ kind: "edit", id, short_id: id, timestamp, from_seq: 4, to_seq: 9 },
  ...{ summary: "", actor: "human", who: "person", changed: 1, paths: [], back: "" },
});

// The newest first. The clock of the second one was a day ahead.
const ITEMS = [
  item("c", "2026-01-05T12:00:00Z"),
  item("b", "2026-01-06T10:00:00Z"),
  item("a2", "2026-01-05T10:00:00Z"),
  item("a1", "2026-01-05T10:00:00Z"),
];

it.each([
  ["2026-01-07T00:00:00Z", "b"],
  ["2026-01-06T09:59:59Z", "c"],
  ["2026-01-05T11:00:00Z", "a2"],
  ["2026-01-05T09:00:00Z", undefined],
])("the work that a playhead at %s comes after is %s", (time, id) => {
  expect(lastBefore(ITEMS, Date.parse(time))?.id).toBe(id);
});

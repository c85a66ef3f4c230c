import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { eventsOf, parseWork, rangeOf, undoOf, workOf, workText } from "./work-ref.ts";

const item = (more: Partial<RecentItem>): RecentItem => ({
  ...{ kind: "edit", id: "seq:4", short_id: "seq:4", timestamp: "2026-01-05T10:00:00Z", from_seq: 4, to_seq: 9 },
  ...{ summary: "", actor: "human", who: "person", changed: 1, paths: [], back: "" },
  ...more,
});

describe("the text of a piece of work", () => {
  it.each([
    ["a turn", item({ kind: "turn", id: "p:1", session: "s=1" }), "turn=s%3D1:p%3A1"],
    ["a turn without a session", item({ kind: "turn", id: "p1" }), "turn=:p1"],
    ["a run", item({ kind: "run", id: "r1" }), "session=r1"],
    ["an action", item({ kind: "action", id: "a1" }), "action=a1"],
    ["a person's edits", item({}), "seq:4..seq:9"],
    ["an operation", item({ kind: "undo", id: "u1" }), "seq:4..seq:9=u1"],
  ])("names %s, and is read back", (_name, one, text) => {
    expect(workText(workOf(one))).toBe(text);
    expect(parseWork(text)).toEqual(workOf(one));
  });

  it("names the range from one line to another, and is read back", () => {
    const work = rangeOf(item({ from_seq: 12, to_seq: 20 }), item({}));
    expect(workText(work)).toBe("range=seq:4..seq:20");
    expect(parseWork("range=seq:4..seq:20")).toEqual(work);
    expect(eventsOf(work)).toEqual({ from: 4, to: 20 });
    expect(undoOf(work)).toEqual({ since: "seq:4", until: "seq:20" });
    expect(eventsOf(workOf(item({})))).toBeUndefined();
    const oldest = item({ kind: "baseline", from_seq: 2, to_seq: 3 });
    expect(undoOf(rangeOf(item({}), oldest))).toEqual({ since: "seq:3", until: "seq:9" });
  });

  it("is read back for every session, turn and value", () => {
    const part = fc.string({ unit: "grapheme", minLength: 1 });
    fc.assert(
      fc.property(part, part, (session, turn) => {
        for (const select of [{ turn, session }, { turn }, { session }, { file: turn }, { actor: turn }]) {
          expect(parseWork(workText({ select }))).toEqual({ select });
        }
      }),
    );
  });

  it.each(["", "turn", "turn=", "turn=%", "constructor=1", "nothing=1", "a..", "..b", "=x", "range=", "range=1..2"])(
    "is not %j",
    (text) => {
      expect(parseWork(text)).toBeUndefined();
    },
  );
});

describe("the undo of a piece of work", () => {
  it("is that of its selection, or of its operation; people's own edits have none", () => {
    expect(undoOf(workOf(item({ kind: "turn", id: "p1", session: "s1" })))).toEqual({ turn: "p1", session: "s1" });
    expect(undoOf(workOf(item({ kind: "restore", id: "o1" })))).toEqual({ operation: "o1" });
    expect(undoOf(workOf(item({})))).toBeUndefined();
  });
});

import { describe, expect, it } from "vitest";
import { encodeErase, type EraseRecord } from "./erase-record.ts";
import { erasureIn } from "./erasures.ts";
import type { RecordBody } from "../values/event.ts";
import { sha256 } from "../values/hash.ts";

const TS = "2026-01-31T09:30:00.000Z";
const RECORD: EraseRecord = {
  ...{ state: "erased", contents: [sha256("a secret")], asked: { path: "keys.txt" }, reason: undefined },
  ...{ actor: "human", at: TS, until: TS },
};

/** Returns the erasure of an event 9 with this record. */
const at9 = (record: RecordBody) => erasureIn({ recordId: "erase:e1", seq: 9, record });

describe("the events by which an erasure leaves paths untracked", () => {
  it.each([
    ["those of its commit before it", 6, [[6, 8]]],
    ["none if it is alone in its commit", 9, []],
    ["none if it ends no commit", undefined, []],
  ] as const)("are %s", (_, first, expected) => {
    const mark = first === undefined ? {} : { commit: { first } };
    expect(at9({ ...encodeErase(RECORD), ...mark }).untracked).toEqual(expected);
  });

  it("are kept in later events of the record, which add their own", () => {
    const erased = at9({ ...encodeErase(RECORD), commit: { first: 6 } });
    const withdrawn = encodeErase({ ...erased, state: "withdrawn" });
    const later = erasureIn({ recordId: "erase:e1", seq: 20, record: { ...withdrawn, commit: { first: 20 } } });
    expect(later).toMatchObject({ state: "withdrawn", seq: 20, untracked: [[6, 8]] });
    const again = erasureIn({
      recordId: "erase:e1",
      seq: 30,
      record: { ...encodeErase(later), commit: { first: 28 } },
    });
    expect(again.untracked).toEqual([
      [6, 8],
      [28, 29],
    ]);
  });

  it("are not written to the record if there are none", () => {
    expect(Object.keys(encodeErase(RECORD))).not.toContain("untracked");
    expect(Object.keys(encodeErase({ ...RECORD, untracked: [] }))).not.toContain("untracked");
  });

  it("are reported as damage if they are not valid ranges", () => {
    const wrong = { ...encodeErase(RECORD), untracked: [[3, 2]] };
    expect(() => at9(wrong)).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
  });
});

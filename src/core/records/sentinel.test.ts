import { describe, expect, it } from "vitest";
import { sealEvents } from "../log/chain.ts";
import { EMPTY_HEAD, type LogEvent, type RecordBody } from "../values/event.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../filter/filter.ts";
import { sha256, type Hash } from "../values/hash.ts";
import { LogTree } from "../log/log-tree.ts";
import { decodeSentinel, encodeSentinel, headBefore, sentinelId, type Sentinel } from "./sentinel.ts";

const TIME = "2026-01-31T09:30:00.000Z";
const before = sealEvents(
  EMPTY_HEAD,
  Array.from({ length: 6 }, (_, i) => ({ op: "upsert" as const, recordId: `user:${i}`, record: {} })),
  TIME,
);
const head = before.at(-1)?.hash as Hash;
const tree = new LogTree();
for (const event of before) tree.append(event.hash);

const sentinel: Sentinel = {
  base: sha256("base"),
  root: sha256("root"),
  range: [1, 6],
  head,
  size: 6,
  frontier: tree.frontier(),
  workspace: {
    format: 2,
    created: TIME,
    roots: [{ id: null, folder: "/proj", filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }],
    device: "1",
    inode: "2",
  },
  dropsArchive: true,
};

function eventWith(record: RecordBody): LogEvent {
  const [event] = sealEvents({ seq: 6, hash: head }, [{ op: "compact", recordId: sentinelId("w"), record }], TIME);
  if (event === undefined) throw new Error("nothing was sealed");
  return event;
}

describe("the sentinel", () => {
  it("is decoded as it was encoded, and gives the head before it", () => {
    const event = eventWith(encodeSentinel(sentinel));
    expect(decodeSentinel(event)).toEqual(sentinel);
    expect(headBefore(event)).toEqual({ seq: 6, hash: head });
    expect(headBefore(before[0] as LogEvent)).toEqual({ seq: 0, hash: "" });
  });

  const whole = encodeSentinel(sentinel);
  const unfit: readonly (readonly [string, RecordBody])[] = [
    ["another head", { ...whole, head: sha256("other") }],
    ["another size", { ...whole, size: 5 }],
    ["a range that ends elsewhere", { ...whole, range: [1, 5] }],
    ["a range that begins behind its end", { ...whole, range: [7, 6] }],
    ["a frontier for another size", { ...whole, frontier: [sha256("x")] }],
  ];
  it.each(unfit)("is refused with %s", (_, record) => {
    expect(() => decodeSentinel(eventWith(record))).toThrow(expect.objectContaining({ code: "INTEGRITY_VIOLATION" }));
  });

  it.each(Object.keys(whole))("is damage without %s", (key) => {
    const { [key]: _left, ...rest } = whole;
    expect(() => decodeSentinel(eventWith(rest))).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
    expect(() => decodeSentinel(eventWith({ ...whole, [key]: null }))).toThrow(
      expect.objectContaining({ code: "LOG_DAMAGED" }),
    );
  });
});

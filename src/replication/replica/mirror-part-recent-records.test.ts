import { expect, it } from "vitest";
import { EMPTY_HEAD } from "../../core/values/event.ts";
import { fileEvent, userEvent } from "../../testing/protocol-samples.ts";
import { RecentRecords } from "./mirror-part.ts";

it("remembers the file records of the last events, and forgets those of earlier events", () => {
  const recent = new RecentRecords();
  const file = { ...fileEvent(EMPTY_HEAD, "a/b.txt", "content"), seq: 7 };
  recent.add([file, { ...userEvent(EMPTY_HEAD, 10), seq: 8 }]);
  expect(recent.get(7)).toMatchObject({ entry: { path: "a/b.txt", size: 7 } });
  expect(recent.get(8)).toBeNull();
  expect(recent.get(6)).toBeUndefined();
  for (let seq = 9; seq < 8_200; seq += 1) recent.add([{ ...file, seq }]);
  expect(recent.get(9)).toMatchObject({ entry: { path: "a/b.txt" } });
  for (let seq = 8_200; seq < 17_000; seq += 1) recent.add([{ ...file, seq }]);
  expect([recent.get(7), recent.get(8)]).toEqual([undefined, undefined]);
  recent.add(Array.from({ length: 20_000 }, (_, i) => ({ ...file, seq: 20_000 + i })));
  expect(recent.get(20_000 + 11_807)).toBeUndefined();
  expect(recent.get(20_000 + 11_808)).toMatchObject({ entry: { path: "a/b.txt" } });
});

import { expect, it } from "vitest";
import { EMPTY_HEAD } from "../../core/values/event.ts";
import { fileEvent, userEvent } from "../../testing/protocol-samples.ts";
import { eventsOf, openEvents } from "../protocol/event-messages.ts";
import { LineParts } from "./incoming-events.ts";

const long = userEvent(EMPTY_HEAD, 5_000_000);
const next = fileEvent(long, "a", "b");
const messages = [...eventsOf([long, next])];
const [first, second, third, last] = messages as [never, never, never, never];
const violation = expect.objectContaining({ code: "INTEGRITY_VIOLATION" });

it("a line is put together from its parts, and a whole line is passed on unchanged", () => {
  const parts = new LineParts();
  const whole = messages.map((message) => parts.add(message));
  expect(whole.slice(0, 2)).toEqual([undefined, undefined]);
  expect(whole[3]).toBe(messages[3]);
  if (whole[2] === undefined) throw new Error("no line");
  expect(openEvents(whole[2], EMPTY_HEAD)).toMatchObject([{ seq: 1, hash: long.hash }]);
});

it.each([
  ["a line with a missing part", [first, third]],
  ["a part that comes twice", [first, first]],
  ["a line without its first part", [second]],
  ["another message in between", [first, last]],
  [
    "a part of another line in between",
    [first, { ...(second as object), first_sequence: 2, last_sequence: 2 } as never],
  ],
  [
    "a part with another total",
    [first, { ...(second as object), part: { offset: 2 * 1024 ** 2, total: 4_500_000 } } as never],
  ],
])("refuses %s", (_, given) => {
  const parts = new LineParts();
  expect(() => given.map((message) => parts.add(message))).toThrow(violation);
});

it("accepts another line after it was cleared", () => {
  const parts = new LineParts();
  parts.add(first);
  parts.clear();
  expect(parts.add(last)).toBe(last);
});

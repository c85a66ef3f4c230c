import { expect, it } from "vitest";
import { MemoryIdempotencyStore } from "./memory-idempotency-store.ts";

const DAY_MS = 86_400_000;

it("a change that is being made is remembered, however many others come and however long it takes", () => {
  const book = new MemoryIdempotencyStore();
  book.begin("slow", "print", 0);
  for (let i = 0; i < 10_100; i += 1) {
    book.begin(`quick-${i}`, "print", 1);
    book.end(`quick-${i}`, { status: 200, value: i });
  }
  expect(book.begin("slow", "print", 2 * DAY_MS)).toEqual({ kind: "begun", since: 0, going: true });
  book.end("slow", { status: 200, value: "done" });
  expect(book.standing("slow", "print", 3)).toMatchObject({ kind: "done", reply: { value: "done" } });
  expect(book.standing("slow", "print", 2 * DAY_MS)).toEqual({ kind: "new" });
  expect(book.standing("quick-1", "print", 2)).toEqual({ kind: "new" });
});

import { describe, expect, it } from "vitest";
import { numberOf, pageOf, pageWithMore } from "./pages.ts";

const all = Array.from({ length: 250 }, (_, i) => `k${i}`);
const key = (item: string): string => item;

describe("pageOf", () => {
  it("gives everything once, whatever the limit", () => {
    for (const limit of [1, 7, 100, 249, 250, 251]) {
      const seen: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = pageOf(all, { limit, cursor }, key);
        expect(page.items.length).toBeLessThanOrEqual(limit);
        seen.push(...page.items);
        cursor = page.next;
      }
      expect(seen).toEqual(all);
    }
  });

  it("has 100 where nobody says, and no next behind the last", () => {
    expect(pageOf(all, {}, key)).toMatchObject({ items: { length: 100 }, next: "k99" });
    expect(pageOf([], {}, key)).toEqual({ items: [], next: null });
    expect(pageOf(all, { limit: 250 }, key).next).toBeNull();
  });

  it("refuses a cursor that leads nowhere", () => {
    expect(() => pageOf(all, { cursor: "gone" }, key)).toThrow(expect.objectContaining({ code: "USAGE" }));
    expect(() => numberOf("1.5")).toThrow(expect.objectContaining({ code: "USAGE" }));
  });
});

it("pageWithMore drops the one too many, and tells of it", () => {
  expect(pageWithMore(["a", "b", "c"], 2, key)).toEqual({ items: ["a", "b"], next: "b" });
  expect(pageWithMore(["a", "b"], 2, key)).toEqual({ items: ["a", "b"], next: null });
});

import { describe, expect, it } from "vitest";
import { numberOf, pageOf, pageWithMore } from "./pages.ts";

const all = Array.from({ length: 250 }, (_, i) => `k${i}`);
const key = (item: string): string => item;

describe("pageOf", () => {
  it("gives each item once, whatever the limit", () => {
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

  it("has 100 items if no limit is given, and no next cursor after the last item", () => {
    expect(pageOf(all, {}, key)).toMatchObject({ items: { length: 100 }, next: "k99" });
    expect(pageOf([], {}, key)).toEqual({ items: [], next: null });
    expect(pageOf(all, { limit: 250 }, key).next).toBeNull();
  });

  it("refuses a cursor that names no item or is not a whole number", () => {
    expect(() => pageOf(all, { cursor: "gone" }, key)).toThrow(expect.objectContaining({ code: "USAGE" }));
    expect(() => numberOf("1.5")).toThrow(expect.objectContaining({ code: "USAGE" }));
  });
});

it("pageWithMore drops the item beyond the limit, and gives a next cursor for it", () => {
  expect(pageWithMore(["a", "b", "c"], 2, key)).toEqual({ items: ["a", "b"], next: "b" });
  expect(pageWithMore(["a", "b"], 2, key)).toEqual({ items: ["a", "b"], next: null });
});

import { expect, it } from "vitest";
import { graphLanes, type Spanned } from "./graph-lanes.ts";

const row = (key: string, fromSeq: number, seq: number): Spanned => ({ key, fromSeq, seq });

function drawn(rows: readonly Spanned[]): string[] {
  return graphLanes(rows).map(({ lane, beside }) =>
    Array.from({ length: Math.max(lane, ...beside) + 1 }, (_, at) => {
      if (at === lane) return "*";
      return beside.includes(at) ? "|" : " ";
    }).join(""),
  );
}

it("work that ran one after another is in one lane", () => {
  expect(drawn([row("a", 20, 30), row("b", 10, 20), row("a", 0, 10)])).toEqual(["*", "*", "*"]);
});

it("work that ran at the same time is in lanes beside one another", () => {
  expect(drawn([row("a", 0, 40), row("b", 20, 30), row("b", 10, 15), row("c", 0, 0)])).toEqual(["*", "|*", "|*", "*"]);
  expect(drawn([row("a", 10, 40), row("b", 0, 30), row("c", 5, 20), row("a", 1, 4)])).toEqual(["*", "|*", "||*", "*|"]);
});

it("the work of a session stays in its lane if the lane is free", () => {
  expect(drawn([row("a", 30, 50), row("b", 20, 40), row("b", 10, 20), row("a", 0, 5)])).toEqual(["*", "|*", " *", "*"]);
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keepsAllOf, keepsSpan, keepsState, NeededContents, type KeptStates } from "./kept-states.ts";

describe("what a pruning keeps", () => {
  const pruning: KeptStates = { floorSeq: 20, kept: [5, 11] };

  it("keeps every state from the floor on, and those that it names", () => {
    expect([5, 6, 11, 19, 20, 21].filter((state) => keepsState(pruning, state))).toEqual([5, 11, 20, 21]);
    expect(keepsState(undefined, 1)).toBe(true);
  });

  it("keeps a content that was in force in a kept state", () => {
    expect(keepsSpan(pruning, 3, 6)).toBe(true);
    expect(keepsSpan(pruning, 6, 11)).toBe(false);
    expect(keepsSpan(pruning, 6, 12)).toBe(true);
    expect(keepsSpan(pruning, 12, 20)).toBe(false);
    expect(keepsSpan(pruning, 12, 21)).toBe(true);
    expect(keepsSpan(pruning, 12, undefined)).toBe(true);
  });
});

interface Write {
  readonly file: string;
  readonly content: number | undefined;
}

const writes = fc.array(
  fc.record<Write>({
    file: fc.constantFrom("a", "b", "c"),
    content: fc.option(fc.nat(9), { nil: undefined }),
  }),
  { maxLength: 30 },
);

/** Computes the needed contents naively, by writing out what each state holds. */
function plainly(all: readonly Write[], pruning: KeptStates): Set<number> {
  const needed = new Set<number>();
  const state = new Map<string, number>();
  for (let seq = 0; seq <= all.length; seq += 1) {
    const write = all[seq - 1];
    if (write?.content === undefined) state.delete(write?.file ?? "");
    else state.set(write.file, write.content);
    if (keepsState(pruning, seq)) for (const content of state.values()) needed.add(content);
  }
  return needed;
}

describe("the contents that a pruned history needs", () => {
  it("are those of its kept states", () => {
    fc.assert(
      fc.property(writes, fc.nat(35), fc.array(fc.nat(35), { maxLength: 4 }), (all, floor, named) => {
        // A floor is within the history, so there is always a present state.
        const floorSeq = Math.min(floor, all.length);
        const kept = [...new Set(named)].filter((seq) => seq < floorSeq).sort((a, b) => a - b);
        const found = new Set<number>();
        const needs = new NeededContents<number>({ floorSeq, kept }, (content) => found.add(content));
        all.forEach(({ file, content }, i) => needs.set(file, i + 1, content));
        needs.finish();
        expect(found).toEqual(plainly(all, { floorSeq, kept }));
      }),
    );
  });

  it("are all contents that there ever were if nothing was pruned", () => {
    const found: number[] = [];
    const needs = new NeededContents<number>(undefined, (content) => found.push(content));
    needs.set("a", 1, 1);
    needs.set("a", 2, 2);
    needs.set("a", 3, undefined);
    needs.finish();
    expect(found).toEqual([1, 2]);
  });
});

it("keepsAllOf tells whether one pruning keeps all states of another", () => {
  const five = { floorSeq: 5, kept: [2] };
  expect(keepsAllOf({ floorSeq: 3, kept: [2] }, five)).toBe(true);
  expect(keepsAllOf({ floorSeq: 3, kept: [] }, five)).toBe(false);
  expect(keepsAllOf(five, { floorSeq: 4, kept: [] })).toBe(false);
  expect(keepsAllOf({ floorSeq: 5, kept: [4] }, { floorSeq: 4, kept: [] })).toBe(true);
  expect(keepsAllOf(five, five)).toBe(true);
});

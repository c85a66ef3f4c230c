import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { undoStack } from "./undo-stack.ts";
import type { OperationStep } from "./undo-stack.ts";

/** `a` an operation, `-a` its undo, `+a` its redo. */
function steps(text: string): OperationStep[] {
  const words = text.split(" ").filter((word) => word !== "");
  return words.map((word, i) => {
    const seq = i + 1;
    if (/^\w/.test(word)) return { id: word, seq, kind: "operation" };
    return { id: `s${seq}`, seq, kind: word.startsWith("-") ? "undo" : "redo", target: word.slice(1) };
  });
}

describe("undoStack", () => {
  it.each([
    ["nothing", "", "", ""],
    ["operations", "a b c", "abc", ""],
    ["an undo", "a b -b", "a", "b"],
    ["consecutive undos go further back", "a b c -c -b", "a", "cb"],
    ["redo goes forward", "a b c -c -b +b", "ab", "c"],
    ["redo to the end", "a b -b -a +a +b", "ab", ""],
    ["a new operation ends redo", "a b -b c", "ac", ""],
    ["undo after redo", "a -a +a -a", "", "a"],
    ["an undo from the middle", "a b c -b", "ac", "b"],
    ["its redo puts it on top", "a b c -b +b", "acb", ""],
    ["what is not there changes nothing", "a -x +y -a -a +a +a", "a", ""],
    ["what a new operation put out of reach is not redone", "a -a b +a", "b", ""],
  ])("%s", (_name, text, undoable, redoable) => {
    expect(undoStack(steps(text))).toMatchObject({ undoable: [...undoable], redoable: [...redoable] });
  });

  it("an undo without a target changes nothing", () => {
    const undo: OperationStep = { id: "u", seq: 2, kind: "undo" };
    expect(undoStack([...steps("a"), undo])).toEqual({ undoable: ["a"], redoable: [], undone: new Set() });
  });

  it("undoing all and redoing all comes back to the same stack", () => {
    const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 20 });
    fc.assert(
      fc.property(ids, (all) => {
        const made = all.map((id, i): OperationStep => ({ id, seq: i + 1, kind: "operation" }));
        const undos = all
          .toReversed()
          .map((target, i): OperationStep => ({ id: `u${i}`, seq: 100 + i, kind: "undo", target }));
        const redos = all.map((target, i): OperationStep => ({ id: `r${i}`, seq: 200 + i, kind: "redo", target }));
        expect(undoStack([...made, ...undos])).toEqual({
          undoable: [],
          redoable: all.toReversed(),
          undone: new Set(all),
        });
        expect(undoStack([...made, ...undos, ...redos])).toEqual({ undoable: all, redoable: [], undone: new Set() });
      }),
    );
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { undoStack } from "./undo-stack.ts";
import type { OperationStep } from "./undo-stack.ts";

/** Returns the steps of a text, in which `a` is an operation, `-a` its undo and `+a` its redo. */
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
    ["an undo or redo of an unknown operation changes nothing", "a -x +y -a -a +a +a", "a", ""],
    ["a named redo of an operation that `redo` no longer reaches puts it on top", "a -a b +a", "ba", ""],
    ["a redo of an operation that is not undone changes nothing", "a b +a", "ab", ""],
    ["an operation that is undone a second time is redone next", "a b -a -b -a", "", "ba"],
  ])("%s", (_name, text, undoable, redoable) => {
    expect(undoStack(steps(text))).toMatchObject({ undoable: [...undoable], redoable: [...redoable] });
  });

  it("a part of a larger operation is undone and redone by its id, and is never next to be undone", () => {
    const part: OperationStep = { id: "p", seq: 1, kind: "operation", isPart: true };
    expect(undoStack([part, ...steps("a")])).toMatchObject({ undoable: ["a"], redoable: [] });
    expect(undoStack([part, ...steps("a -p")])).toEqual({
      undoable: ["a"],
      redoable: ["p"],
      undone: new Set(["p"]),
    });
    expect(undoStack([part, ...steps("a -p +p")])).toEqual({ undoable: ["a"], redoable: [], undone: new Set() });
  });

  it("an undo of selected work that changed nothing is not redone next, and what it passes is not undone next", () => {
    const taken: OperationStep = { id: "u", seq: 3, kind: "undo", takes: ["b"] };
    const nothing: OperationStep = { id: "v", seq: 4, kind: "undo", takes: [], passes: ["a"], isNothing: true };
    expect(undoStack([...steps("a b"), taken, nothing])).toMatchObject({ undoable: [], redoable: ["u"] });
    expect(undoStack([...steps("a"), nothing])).toMatchObject({ undoable: [], redoable: [] });
    // A redo that names the undo `v` is still possible. Such a redo withdraws the conflicts.
    const named: OperationStep = { id: "w", seq: 5, kind: "redo", target: "v" };
    expect(undoStack([...steps("a"), nothing, named])).toMatchObject({ undoable: ["v"], redoable: [] });
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

describe("undos of selected work", () => {
  const op = (id: string, seq: number): OperationStep => ({ id, seq, kind: "operation" });
  const take = (id: string, seq: number, ...takes: string[]): OperationStep => ({ id, seq, kind: "undo", takes });
  const redo = (target: string, seq: number): OperationStep => ({ id: `r${seq}`, seq, kind: "redo", target });

  it("operations that they undo completely are not undone next, and are redone and undone again as one", () => {
    const first = [op("a", 1), op("b", 2), op("c", 3), take("u", 4, "a", "c")];
    expect(undoStack(first)).toEqual({ undoable: ["b"], redoable: ["u"], undone: new Set(["a", "c"]) });
    const redone = [...first, redo("u", 5)];
    expect(undoStack(redone)).toEqual({ undoable: ["b", "u"], redoable: [], undone: new Set() });
    const again = [...redone, take("v", 6, "u")];
    expect(undoStack(again)).toEqual({ undoable: ["b"], redoable: ["v"], undone: new Set(["a", "c", "u"]) });
    expect(undoStack([...again, redo("v", 7)])).toEqual({ undoable: ["b", "v"], redoable: [], undone: new Set() });
  });

  it("can be redone even if they undo no operation completely", () => {
    expect(undoStack([op("a", 1), take("u", 2)])).toMatchObject({ undoable: ["a"], redoable: ["u"] });
    expect(undoStack([op("a", 1), take("u", 2), op("b", 3)])).toMatchObject({ undoable: ["a", "b"], redoable: [] });
  });

  it("agree with plain lists of the operations in force, after any commands", () => {
    const commands = fc.array(fc.tuple(fc.constantFrom("do", "undo", "redo", "take"), fc.nat({ max: 7 })), {
      maxLength: 25,
    });
    fc.assert(
      fc.property(commands, (all) => {
        const steps: OperationStep[] = [];
        let back: string[] = [];
        let forward: string[] = [];
        const members = new Map<string, readonly string[]>();
        const within = (id: string): string[] => [id, ...(members.get(id) ?? []).flatMap(within)];
        all.forEach(([command, which], seq) => {
          const id = `${command}${seq}`;
          const [last, next] = [back.at(-1), forward.at(-1)];
          if (command === "do") {
            steps.push(op(id, seq));
            [back, forward] = [[...back, id], []];
          } else if (command === "redo" && next !== undefined) {
            steps.push(redo(next, seq));
            [back, forward] = [[...back, next], forward.slice(0, -1)];
          } else if (command === "undo" && last !== undefined && !members.has(last)) {
            steps.push({ id, seq, kind: "undo", target: last });
            [back, forward] = [back.slice(0, -1), [...forward, last]];
          } else if (command === "take" || (command === "undo" && last !== undefined)) {
            const taken = command === "undo" ? [last ?? ""] : back.filter((_, i) => (which >> i) % 2 === 1);
            steps.push(take(id, seq, ...taken));
            members.set(id, taken);
            [back, forward] = [back.filter((one) => !taken.includes(one)), [...forward, id]];
          }
        });
        const stack = undoStack(steps);
        expect([stack.undoable, stack.redoable]).toEqual([back, forward]);
        const inForce = new Set(back.flatMap(within));
        for (const { id, kind } of steps) if (kind === "operation") expect(stack.undone.has(id)).toBe(!inForce.has(id));
      }),
    );
  });
});

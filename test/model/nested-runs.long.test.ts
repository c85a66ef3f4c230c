import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { type Deed, expectedOf, Machine, modelRun, type ModelRun } from "./model-nested.ts";
import { modelRuns } from "./model-runs.ts";

/**
 * Random runs within runs, some of which are rolled back. Each run owns what it did. An undo of a run also undoes the
 * runs within it.
 */

it(
  "runs within runs leave the expected files, and the undo of the outermost run undoes all of them",
  { timeout: 3_100_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(modelRun, fc.nat(), async (run, chosen) => {
        const machine = new Machine();
        await machine.process(1, () => Promise.resolve());
        const before = machine.files;
        const outer = await machine.run(run, 1);
        checkTold(machine);
        const { after } = expectedOf(run, before);
        expect(machine.files).toEqual(after);
        if (outer.undo_id === null) return;
        await machine.process(1, async (workspace) => {
          // In half of the cases, one of the runs within the outer one is undone first. The undo of the outer run then
          // undoes the rest.
          const inner = machine.told.filter(({ shape }) => shape.undo_id !== null && shape !== outer)[chosen % 4];
          if (inner !== undefined && chosen % 2 === 0) {
            await workspace.undo({ operation: inner.shape.session.session_id });
          }
          // If the outer run did nothing else than that inner run, nothing is left to undo.
          const isBack = isDeepStrictEqual(machine.files, before);
          await workspace.undo(run.inAction ? {} : { operation: outer.session.session_id }).catch((error: unknown) => {
            if (!isBack || !(error instanceof ChronicleError) || error.code !== "NOT_FOUND") throw error;
          });
          expect(machine.files).toEqual(before);
          if (inner === undefined || chosen % 2 !== 0) {
            await workspace.redo();
            expect(machine.files).toEqual(after);
          }
          expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
        });
      }),
      {
        ...modelRuns<[ModelRun, number]>(60, "1"),
        examples: [
          [removesWhatInnerMade, 0],
          [writesWhatUndoneWrote, 0],
          [undoesWhatIsReversed, 0],
          [rollsBackTwice, 0],
        ],
      },
    );
  },
);

/** The undo of the inner run alone finds nothing to do, because the outer run has removed the file. */
const removesWhatInnerMade: ModelRun = {
  deeds: [
    {
      kind: "run",
      run: { deeds: [{ kind: "write", path: "c", text: "x" }], code: 0, rollback: false, inAction: false },
    },
    { kind: "write", path: "a", text: "z" },
    { kind: "remove", path: "c" },
  ],
  code: 0,
  rollback: false,
  inAction: false,
};

const writes = (path: string, text: string): Deed => ({ kind: "write", path, text });

const runs = (deeds: readonly Deed[], code = 0): Deed => ({
  kind: "run",
  run: { deeds, code, rollback: code !== 0, inAction: false },
});

/** The innermost run is undone alone, after another run wrote the same content as that run. */
const writesWhatUndoneWrote: ModelRun = {
  deeds: [
    runs([writes("b", "xz"), runs([runs([writes("b", "zx")]), writes("b", "xz")])]),
    runs([runs([writes("b", "z")])], 3),
    runs([writes("b", "zx")]),
  ],
  code: 0,
  rollback: false,
  inAction: false,
};

/**
 * The undo of an inner run writes nothing, because a later run has reversed the inner run. A run that was rolled back
 * is between the two.
 */
const undoesWhatIsReversed: ModelRun = {
  deeds: [
    runs([runs([writes("a", "y"), runs([writes("a", "x")])]), runs([writes("a", "z")], 3)]),
    runs([writes("a", "y")]),
  ],
  code: 0,
  rollback: false,
  inAction: false,
};

/**
 * The outer rollback also undoes the events that the inner rollback has written, together with the events that it had
 * undone.
 */
const rollsBackTwice: ModelRun = {
  deeds: [runs([runs([writes("a", "y")], 3), writes("c", "y")], 3), writes("a", "z")],
  code: 0,
  rollback: false,
  inAction: false,
};

/** Checks the answer of every run that has ended. */
function checkTold({ told }: Machine): void {
  for (const { run, before, shape } of told) {
    const { changed, isTaken } = expectedOf(run, before);
    expect(shape.changes.map(({ path }) => path)).toEqual(changed);
    expect(shape).toMatchObject({ ambiguous: [], not_rolled_back: null, not_recorded: null, exit_code: run.code });
    expect(shape.rolled_back).toBe(isTaken && changed.length > 0);
  }
}

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { type Deed, expectedOf, Machine, modelRun, type ModelRun } from "./model-nested.ts";
import { modelRuns } from "./model-runs.ts";

/** Any runs within any others, some rolled back: each owns what it did, and what is around it takes that along. */

it(
  "runs within runs leave what they promise, and an undo of the outermost leaves nothing of them",
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
          // One of the runs within it first, by itself: what is around it takes back what is left.
          const inner = machine.told.filter(({ shape }) => shape.undo_id !== null && shape !== outer)[chosen % 4];
          if (inner !== undefined && chosen % 2 === 0) {
            await workspace.undo({ operation: inner.shape.session.session_id });
          }
          // Where the run within was all that it did, nothing is left to be undone.
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

/** An undo of the inner run alone finds nothing to do: the outer run removed the file. */
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

/** The innermost run is undone by itself, after another one wrote the same as it had. */
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

/** The undo of a run within it writes nothing, as a later run reversed it; a run that was rolled back is in between. */
const undoesWhatIsReversed: ModelRun = {
  deeds: [
    runs([runs([writes("a", "y"), runs([writes("a", "x")])]), runs([writes("a", "z")], 3)]),
    runs([writes("a", "y")]),
  ],
  code: 0,
  rollback: false,
  inAction: false,
};

/** The outer rollback undoes what the inner one has written, together with what that had undone. */
const rollsBackTwice: ModelRun = {
  deeds: [runs([runs([writes("a", "y")], 3), writes("c", "y")], 3), writes("a", "z")],
  code: 0,
  rollback: false,
  inAction: false,
};

function checkTold({ told }: Machine): void {
  for (const { run, before, shape } of told) {
    const { changed, isTaken } = expectedOf(run, before);
    expect(shape.changes.map(({ path }) => path)).toEqual(changed);
    expect(shape).toMatchObject({ ambiguous: [], not_rolled_back: null, not_recorded: null, exit_code: run.code });
    expect(shape.rolled_back).toBe(isTaken && changed.length > 0);
  }
}

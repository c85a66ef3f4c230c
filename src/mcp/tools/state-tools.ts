import * as z from "zod";
import type { Answer } from "../tool-answer.ts";
import { counted, oneLine } from "../one-line.ts";
import { listed } from "../fit.ts";
import {
  capped,
  cappedChanges,
  cappedCoverage,
  changeLines,
  countsOf,
  coverageLines,
  noteLines,
  said,
} from "../show.ts";
import * as output from "../outputs.ts";
import { defineTool, type Tool } from "../tool.ts";

const MAX_PROBLEMS = 50;

const status = defineTool({
  name: "status",
  title: "State of the workspace",
  description:
    "Shows which folder is recorded, how far the history reaches, which changes on disk are not recorded yet, and what is " +
    "left out.",
  input: z.strictObject({}),
  output: output.status,
  effect: "reads",
  run: async (workspace): Promise<Answer> => {
    const result = await workspace.status();
    return {
      summary: `${oneLine(result.path)}: ${counted(result.entries, "path")} recorded, ${counted(result.snapshots, "snapshot")}, head ${result.seq}.`,
      lines: [
        `not recorded yet: ${countsOf(result.changes)}`,
        changeLines(result.changes),
        ...coverageLines(result.coverage),
        listed(noteLines(result.notes)),
      ],
      data: { ...result, ...cappedChanges(result.changes), coverage: cappedCoverage(result.coverage) },
    };
  },
});

const snapshot = defineTool({
  name: "take_snapshot",
  title: "Record the present state",
  description:
    "Records the files as they are now as a moment that restore can go back to. Changes no file. Use it before risky " +
    "work that Chronicle does not record by itself.",
  input: z.strictObject({
    message: z.string().min(1).max(500).describe("a message for people that says what this moment is").optional(),
  }),
  output: output.snapshot,
  effect: "records",
  run: async (workspace, { message }): Promise<Answer> => {
    const result = await workspace.snapshot(message === undefined ? {} : { message });
    return {
      summary: `Snapshot ${result.number} is recorded: ${counted(result.changed ?? 0, "path")} changed since the previous snapshot.`,
      lines: coverageLines(result.coverage),
      next: [`restore {"moment":"${result.number}"} goes back to this moment.`],
      data: { ...result, coverage: cappedCoverage(result.coverage) },
    };
  },
});

const verify = defineTool({
  name: "verify",
  title: "Verify the history",
  description:
    "Recomputes everything that the history rests on (hash chain, signed heads, contents) and lists problems. " +
    "`quick` does not read the contents. Changes nothing.",
  input: z.strictObject({ quick: z.boolean().default(false).describe("do not read the contents") }),
  output: {
    ok: output.flag,
    events: output.count,
    blobs: output.count,
    bytes: output.count,
    problems: z.array(output.problem),
    total_problems: output.count,
    notes: output.texts,
  },
  effect: "reads",
  run: async (workspace, { quick }): Promise<Answer> => {
    const result = await workspace.verify({ quick });
    const { items, total } = capped(result.problems, MAX_PROBLEMS);
    const read = `${counted(result.events, "event")}, ${counted(result.blobs, "content")}`;
    return {
      summary: result.ok ? `The history is whole: ${read}.` : `${counted(total, "problem")} in ${read}.`,
      lines: [
        listed(
          items.map(({ kind, where, detail }) => `! ${kind} ${said(where)}: ${said(detail)}`),
          total,
        ),
        listed(noteLines(result.notes)),
      ],
      next: result.ok ? [] : ["Tell the person that `chronicle verify` on the command line says more. Change nothing."],
      data: { ...result, problems: items, total_problems: total },
    };
  },
});

export const STATE_TOOLS: readonly Tool[] = [status, snapshot, verify];

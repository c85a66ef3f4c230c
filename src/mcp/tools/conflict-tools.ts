import * as z from "zod";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Answer } from "../tool-answer.ts";
import { inWorkspace, limit, patch } from "../arguments.ts";
import { listed } from "../fit.ts";
import { counted } from "../one-line.ts";
import { shortId } from "../short-ids.ts";
import { cappedChanges, cappedPatches, changeLines, conflictLine, countsOf } from "../show.ts";
import * as output from "../outputs.ts";
import { defineTool, type Tool } from "../tool.ts";

const MAX_MERGED = 1_000_000;

const list = defineTool({
  name: "list_conflicts",
  title: "List conflicts",
  description:
    "Lists changes of undos that did not merge with later work. The files were left as they are, and both contents are kept. " +
    "resolve_conflict settles one of the conflicts. With `patch`, each conflict has the change that `keep`: `undo` would make.",
  input: z.strictObject({
    all: z.boolean().default(false).describe("list settled conflicts, too"),
    patch,
    limit: limit(50, 200),
  }),
  output: { conflicts: z.array(output.conflict), total: output.count },
  effect: "reads",
  run: async (workspace, { all, patch: withPatch, limit: most }): Promise<Answer> => {
    const conflicts = await workspace.conflicts({ all, patch: withPatch });
    const shown = cappedPatches(conflicts.slice(0, most));
    return {
      summary: `${counted(conflicts.length, "conflict")}${all ? "" : " open"}.`,
      lines: [
        listed(
          shown.map((one) => `${conflictLine(one)}${(one.patch ?? "") === "" ? "" : `\n${one.patch?.trimEnd()}`}`),
          conflicts.length,
        ),
      ],
      next:
        conflicts.length === 0
          ? []
          : ["resolve_conflict with the id of a conflict and with `keep` settles that conflict."],
      data: { conflicts: shown, total: conflicts.length },
    };
  },
});

const resolve = defineTool({
  name: "resolve_conflict",
  title: "Settle a conflict",
  description:
    "Settles a conflict: `current` keeps the file as it is, `undo` gives it the content that the undo wanted, and `merged` " +
    "gives it `content`. The present state is recorded first; undo takes the change back.",
  input: z.strictObject({
    conflict: z.string().min(1).max(4096).describe("a conflict's id, the beginning of the id, or the conflict's path"),
    keep: z.enum(["current", "undo", "merged"]),
    content: z.string().max(MAX_MERGED).describe("for `merged`: the whole new content of the file").optional(),
  }),
  output: { conflict: output.conflict, ...output.changes, undo_id: output.text.nullable() },
  effect: "changes",
  idempotent: true,
  hints: { NOT_FOUND: "list_conflicts lists the open conflicts" },
  run: async (workspace, { conflict, keep, content }): Promise<Answer> => {
    if ((keep === "merged") !== (content !== undefined)) {
      throw new ChronicleError("USAGE", "`content` must be given if `keep` is `merged`, and only then");
    }
    const merged = content === undefined ? {} : { content: Buffer.from(content) };
    const result = await workspace.resolve(inWorkspace(workspace, conflict), { keep, ...merged });
    return {
      summary: `Settled: ${conflictLine(result.conflict)}; ${countsOf(result.changes)}.`,
      lines: [changeLines(result.changes)],
      next: result.undo_id === null ? [] : [`undo {"operation":"${shortId(result.undo_id)}"} takes it back.`],
      data: { ...result, ...cappedChanges(result.changes) },
    };
  },
});

export const CONFLICT_TOOLS: readonly Tool[] = [list, resolve];

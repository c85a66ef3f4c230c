import * as z from "zod";

// The answers of the tools, for `outputSchema`: the fields on which programs can rely. Every object can have more
// fields, which the library's shapes (`src/api`) describe.

const text = z.string();
const count = z.int().min(0);
const flag = z.boolean();
const texts = z.array(text);

const path = text.describe("the path as people see it; if its bytes are not UTF-8, `path_b64` has them");

const change = z.looseObject({
  path,
  change_type: z.enum(["created", "modified", "deleted", "permissions_changed"]),
  kind: z.enum(["file", "symlink", "dir"]),
  before_size: count,
  after_size: count,
  size_delta: z.int(),
  lines: z.object({ added: count, removed: count }).describe("the numbers of added and removed lines").optional(),
  from: text.describe("for a created file: the path of the deleted file that was renamed to it").optional(),
  patch: text.optional(),
  patch_cut: z.literal(true).describe("present if `patch` is only the beginning of the patch").optional(),
});

export const changes = {
  changes: z.array(change).describe("the first changes"),
  total_changes: count.describe("the number of all changes"),
} as const;

/** The paths that were not recorded. */
export const coverage = z.looseObject({
  complete: flag,
  omitted: z.array(z.looseObject({ path: text, reason: text })).describe("the first omitted paths"),
  total_omitted: count,
});

const skipped = z.array(z.looseObject({ path, reason: text, detail: text.optional() }));

export const conflict = z.looseObject({
  id: text.describe("empty in a dry run"),
  path,
  timestamp: text,
  state: z.enum(["open", "settled"]),
  reason: text,
  undo_id: text,
  patch: text.optional(),
});

const gitHead = z.looseObject({ branch: text.optional(), commit: text.optional() });
const gitChange = z.looseObject({ path, head_before: gitHead, head_after: gitHead, also: texts });

/** The changes of some work to the state of git. */
export const gitChanges = z.array(gitChange).optional().describe("repositories whose HEAD, refs or index were changed");

const operation = z.looseObject({ id: text, kind: text, summary: text });

/** The result of an undo, redo, rollback or restore. */
export const wentBack = {
  ...changes,
  undo_id: text
    .nullable()
    .describe("the id that `undo` takes as `operation` to take this change back; null if nothing was changed"),
  kept_aside: z
    .array(z.looseObject({ path, change_type: text }))
    .optional()
    .describe("files that the rules leave out, and that were put back or removed again"),
  git: z
    .array(gitChange)
    .optional()
    .describe("repositories whose HEAD, refs or index were put back, too; `head_after` is their HEAD now"),
  skipped: skipped.describe("paths that were left as they are"),
  conflicts: z
    .array(z.looseObject({ path, kept_at: text }))
    .describe("paths that somebody else wrote during this call; the content that they wrote is at `kept_at`"),
  dry_run: flag,
  finished: texts,
  operation: operation.nullable().optional(),
  direction: z.enum(["undo", "redo"]).optional().describe("`redo` if an undo was undone, which does its work again"),
  selection: text.optional(),
  notes: texts.optional(),
  unmerged: z.array(conflict).describe("changes that did not merge with later work; their paths were left as they are"),
} as const;

/** One tool call of an agent. */
export const action = z.looseObject({
  id: text,
  timestamp: text,
  action_type: text,
  action_summary: text,
  files_backed_up: texts.describe("the first paths whose states were kept before the action"),
  total_files: count,
  outside: texts,
  state: z.enum(["open", "done", "failed", "denied", "abandoned"]),
  actor: text,
  session: text.nullable(),
  turn: text.nullable(),
  transaction_id: text.nullable(),
  seq: count,
  changed: count.nullable(),
  coverage,
});

export const transaction = z.looseObject({
  id: text,
  status: z.enum(["active", "committed", "rolled_back"]),
  started_at: text,
  finished_at: text.optional(),
  snapshots: texts.describe("the ids of the first actions of the transaction"),
  total_snapshots: count,
  name: text.optional(),
  actor: text,
});

/** One line of recent work. */
export const recent = z.looseObject({ kind: text, id: text, timestamp: text, summary: text, changed: count });

/** One state of a file. */
export const iteration = z.looseObject({
  iteration: count,
  timestamp: z.number().describe("epoch milliseconds"),
  size: count,
  deleted: flag.optional(),
  kind: text,
  permissions: count,
  seq: count,
  cause: text,
  actor: text,
});

export const problem = z.looseObject({ kind: text, where: text, detail: text });

export const status = {
  ...changes,
  workspace: text,
  path: text,
  seq: count,
  coverage,
  snapshots: count,
  latest_snapshot: count.nullable(),
  entries: count,
  bytes: count,
  read_only: flag,
  signing: z.looseObject({ state: text }),
  recording: z.looseObject({ state: text }),
  notes: texts,
} as const;

/** A numbered moment of the history. */
export const snapshot = {
  number: count,
  id: text,
  seq: count,
  coverage,
  timestamp: text,
  cause: text,
  changed: count.nullable(),
} as const;

export { count, flag, path, text, texts };

const error = z.looseObject({ code: text, message: text, hint: text.nullable() });

/**
 * Returns the JSON schema of a tool's answers. The schema also admits `error` in place of all other fields, because
 * some clients check even errors (`isError`) against the schema.
 */
export function outputSchemaOf(output: z.ZodRawShape): { readonly type: "object"; readonly [key: string]: unknown } {
  const done = {
    summary: text.describe("one sentence that says what happened"),
    next: texts.describe("the steps that can come next"),
    shortened: texts
      .describe("the names of the fields that were shortened; a greater `max_chars` shows more of them")
      .optional(),
  };
  const { $schema: _, required, ...schema } = z.toJSONSchema(z.looseObject({ ...done, ...output }), { io: "output" });
  const { $schema: __, ...failed } = z.toJSONSchema(error, { io: "output" });
  return {
    ...schema,
    type: "object",
    properties: {
      ...schema.properties,
      error: { ...failed, description: "present only if the call failed; all other fields are then absent" },
    },
    anyOf: [
      { type: "object", required },
      { type: "object", required: ["error"] },
    ],
  };
}

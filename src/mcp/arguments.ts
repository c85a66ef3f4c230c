import type { WorkspaceApi } from "../api/workspace-api.ts";
import type { Selection } from "../api/action-api.ts";
import { isOneSelection } from "../api/selection-fields.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { meantBy } from "../core/values/meant-by.ts";
import { shortId } from "./short-ids.ts";
import * as z from "zod";

// The arguments that several tools share. The engine's own validators check all arguments again.

const MAX_ID = 200;
const MAX_PATH = 4_096;
const MAX_PATHS = 200;

const noControls = /^[^\p{Cc}]+$/u;

function word(what: string): z.ZodString {
  return z.string().min(1).max(MAX_ID).regex(noControls, "must hold no control characters").describe(what);
}

export const actionId = word("an action's id, the beginning of the id, or the agent's own id of the tool call");
export const transactionId = word("a transaction's id, or the beginning of the id");
export const moment = word(
  "a moment: a snapshot's number, an id, `latest`, `baseline`, `now` (the files on disk), `seq:40`, how long ago " +
    "(`10m`, `2h`), or a time in ISO-8601 (UTC if it has no zone)",
);

export const named = word;

export const path = z
  .string()
  .min(1)
  .max(MAX_PATH)
  .describe("a path relative to the workspace's folder, or an absolute path in that folder");

export const paths = z.array(path).max(MAX_PATHS).describe("only these paths and everything beneath them");

/** The advice with which a model can shorten an answer about paths. */
export const NARROW_PATHS = "or name fewer `paths`";

export const dryRun = z.boolean().default(false).describe("say what would be done or refused, and change nothing");

export const patch = z.boolean().default(false).describe("add the changed lines, as a unified diff");

export function limit(usual: number, most: number): z.ZodDefault<z.ZodNumber> {
  return z.number().int().min(1).max(most).default(usual).describe(`the maximum number of items (up to ${most})`);
}

/**
 * Returns an absolute path within the workspace's folder as a relative path (`.` for the folder itself), because models
 * give absolute and relative paths. Returns any other path unchanged.
 */
export function inWorkspace(workspace: WorkspaceApi, given: string): string {
  if (given === workspace.path) return ".";
  return given.startsWith(`${workspace.path}/`) ? given.slice(workspace.path.length + 1) : given;
}

export function pathsIn(
  workspace: WorkspaceApi,
  given: readonly string[] | undefined,
): { readonly paths?: readonly string[] } {
  if (given === undefined || given.length === 0) return {};
  return { paths: given.map((one) => inWorkspace(workspace, one)) };
}

/**
 * The arguments that select work. A call may give at most one of them. In addition, it may give a session and an actor
 * with a turn, `until` with `since` or `to`, and `file` with any other argument. `selectionOf` refuses other
 * combinations.
 */
export const selectionShape = {
  action: actionId.optional(),
  turn: named(
    "an agent's turn, as list_actions shows it; `session` and `actor` may be given with it. `last`: the last turn that changed something; " +
      "for undo, the last turn with something left to undo",
  ).optional(),
  session: named("an agent's session, as list_actions shows it").optional(),
  actor: named("everything that this actor did, for example `agent` or `human`").optional(),
  file: path
    .describe(
      "every recorded change of this path, and of paths beneath it; with another argument: only the changes of that work to these paths",
    )
    .optional(),
  since: moment.describe("every change after this moment: how long ago (`10m`), or a time in ISO-8601").optional(),
  to: moment
    .describe(
      "all recorded work after this moment, without people's own edits; with the id of work or of a turn: that work and all later work",
    )
    .optional(),
  until: moment.describe("with `since` or `to`: only what happened up to this moment; later work stays").optional(),
  rewind: named("an agent's turn and all later work of its session; list_actions shows the turns").optional(),
} satisfies z.ZodRawShape;

const KEYS = ["action", "turn", "session", "actor", "file", "since", "to", "until", "rewind"] as const;

type Given = { readonly [key in (typeof KEYS)[number]]?: string | undefined };

/**
 * Returns the selection of the given arguments; `undefined` if none is given. Throws `USAGE` if they cannot be given
 * together.
 */
export function selectionOf(workspace: WorkspaceApi, given: Given): Selection | undefined {
  const named = KEYS.filter((key) => given[key] !== undefined);
  if (!isOneSelection(named)) {
    throw new ChronicleError("USAGE", `only one of ${KEYS.join(", ")} can be given, not ${named.join(" and ")}`, {
      hint: "give only the one that you mean; `file` can be added to each of them",
    });
  }
  if (named.length === 0) return undefined;
  const valueOf = (key: (typeof KEYS)[number]): string =>
    key === "file" ? inWorkspace(workspace, given[key] ?? "") : (given[key] ?? "");
  return Object.fromEntries(named.map((key) => [key, valueOf(key)]));
}

/**
 * Returns the id that equals a given text or, if no id does, the only id that begins with the text. Returns the text
 * itself if no id begins with the text. Throws `AMBIGUOUS` if several ids do.
 */
export function idMeant(all: readonly string[], given: string, what: string): string {
  const found = meantBy([...new Set(all)], given, (one) => one);
  if (found.length < 2) return found[0] ?? given;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(given)} stands for ${found.length} ${what}`, {
    hint: `give more of the id: ${found
      .slice(0, 5)
      .map((one) => one.slice(0, given.length + 8))
      .join(", ")}`,
  });
}

/**
 * Returns a sentence that tells a model how to redo work that was undone. `id` is the id of the undo. With `null`, the
 * sentence names `redo` without an id.
 */
export function redoOf(id: string | null): string {
  return id === null ? "redo does the work again." : `redo {"operation":"${shortId(id)}"} does the work again.`;
}

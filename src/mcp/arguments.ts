import * as z from "zod";
import type { WorkspaceApi } from "../api/workspace-api.ts";

/** Arguments shared by several tools, with their bounds. The engine's own validators check them all again. */

const MAX_ID = 200;
const MAX_PATH = 4_096;
const MAX_PATHS = 200;

const noControls = /^[^\p{Cc}]+$/u;

function word(what: string): z.ZodString {
  return z.string().min(1).max(MAX_ID).regex(noControls, "must hold no control characters").describe(what);
}

export const actionId = word("an action's id, its beginning, or the id that the agent gave the tool call");
export const transactionId = word("a transaction's id or its beginning");
export const moment = word(
  "a moment: a snapshot's number, an id, `latest`, `baseline`, `now` (the files on disk), `seq:40`, how long ago " +
    "(`10m`, `2h`), or a time in ISO-8601 (without a zone: UTC)",
);

/** A word with a description of its own. */
export const named = word;

export const path = z
  .string()
  .min(1)
  .max(MAX_PATH)
  .describe("a path relative to the workspace's folder (an absolute one inside of it will do)");

export const paths = z.array(path).max(MAX_PATHS).describe("only these paths and what is beneath them");

export const dryRun = z.boolean().default(false).describe("say what would be done or refused, change nothing");

export const patch = z.boolean().default(false).describe("with the changed lines as unified text");

/** The number of items to return. */
export function limit(usual: number, most: number): z.ZodDefault<z.ZodNumber> {
  return z.number().int().min(1).max(most).default(usual).describe(`how many at most (up to ${most})`);
}

/** Models give absolute paths. Makes those within the workspace relative; the engine refuses the others. */
export function inWorkspace(workspace: WorkspaceApi, given: string): string {
  if (given === workspace.path) return ".";
  return given.startsWith(`${workspace.path}/`) ? given.slice(workspace.path.length + 1) : given;
}

/** As `inWorkspace`, for several paths; `undefined` if no path was given. */
export function pathsIn(
  workspace: WorkspaceApi,
  given: readonly string[] | undefined,
): { readonly paths?: readonly string[] } {
  if (given === undefined || given.length === 0) return {};
  return { paths: given.map((one) => inWorkspace(workspace, one)) };
}

import * as z from "zod";
import type { Selection } from "../api/action-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { actionId, inWorkspace, moment, named, path } from "./arguments.ts";

/** The arguments that select somebody's work; at most one is given. */
export const selectionShape = {
  action: actionId.optional(),
  turn: named("an agent's turn, as list_actions shows it; `last` is the one that changed something last").optional(),
  session: named("an agent's session, as list_actions shows it").optional(),
  actor: named("everything that this actor did, for example `agent` or `human`").optional(),
  file: path.describe("every recorded change of this path, or beneath it").optional(),
  since: moment.describe("every change after this moment: how long ago (`10m`), or a time in ISO-8601").optional(),
} satisfies z.ZodRawShape;

const KEYS = ["action", "turn", "session", "actor", "file", "since"] as const;

type Given = { readonly [key in (typeof KEYS)[number]]?: string | undefined };

/** Returns the selection; `undefined` if there is none. Throws `USAGE` for more than one. */
export function selectionOf(workspace: WorkspaceApi, given: Given): Selection | undefined {
  const named = KEYS.filter((key) => given[key] !== undefined);
  if (named.length > 1) {
    throw new ChronicleError("USAGE", `only one of ${KEYS.join(", ")} can be given, not ${named.join(" and ")}`, {
      hint: "leave out all but the one that is meant",
    });
  }
  const [key] = named;
  if (key === undefined) return undefined;
  const value = given[key] ?? "";
  return { [key]: key === "file" ? inWorkspace(workspace, value) : value };
}

import type { ActionRequest } from "../../api/action-api.ts";
import { type ActionTargets, movedFields } from "../../core/records/action-targets.ts";
import { checkActorName } from "../../core/records/actor-name.ts";
import { maskLine } from "../../core/shell/mask-secrets.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Context } from "../log/context.ts";
import { isOwnerId } from "../log/owner-process.ts";
import { shownPath } from "../log/shape.ts";
import { targetsFor } from "./outside.ts";

const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const TYPE = /^[^\p{C}\s]{1,128}$/u;
/**
 * The maximum length, in UTF-16 code units, of turn ids, call ids and actors' names. Agents choose turn ids and call
 * ids freely.
 */
const MOST_ID = 512;
/** The maximum length, in UTF-16 code units, of a summary. A longer summary is cut, and ends in `…`. */
const MOST_SUMMARY = 300;

/**
 * Returns the id of a session. Throws `USAGE` if the id is malformed. The form is strict, because the id is used in
 * record ids and in paths of other programs.
 */
export function checkSessionId(id: unknown): string {
  if (typeof id === "string" && SESSION_ID.test(id)) return id;
  throw new ChronicleError("USAGE", `${JSON.stringify(id)?.slice(0, 140)} cannot be the id of a session`, {
    hint: "use at most 128 letters, digits, dots, dashes and underscores, beginning with a letter or digit",
  });
}

/** Throws `USAGE` if a field of the request is malformed. */
export function checkRequest(request: ActionRequest): void {
  const { type, session, turn, toolCall, depth, actor, onFailure, pid } = request;
  if (typeof type !== "string" || !TYPE.test(type))
    refuse("its type is missing or is not one word", "say in one word what the action does: write_file, run_command …");
  if (session !== undefined) checkSessionId(session);
  for (const [name, value] of Object.entries({ turn, toolCall, actor })) {
    if (value !== undefined && (typeof value !== "string" || value === "" || value.length > MOST_ID))
      refuse(`${name} is not a short text`, `give at most ${MOST_ID} characters, or leave ${name} out`);
  }
  checkActorName(actor);
  if (depth !== undefined && !isCount(depth))
    refuse("depth is not a whole number from 0 up", "give 0 for the top agent, 1 for an agent that it starts …");
  if (onFailure !== undefined && onFailure !== "block" && onFailure !== "warn")
    refuse(`onFailure is ${JSON.stringify(onFailure)}`, "say block or warn");
  if (!isOwnerId(pid)) refuse("pid is not a process id", "leave pid out, or give null");
  checkTypes(request);
}

/**
 * Checks the types of fields, because a caller may be a program without type checks. Paths are checked where they are
 * read.
 */
function checkTypes({ otr, summary, payload }: { readonly [Key in "otr" | "summary" | "payload"]?: unknown }): void {
  if (otr !== undefined && typeof otr !== "boolean") refuse("otr is neither true nor false", "say true or false");
  if (summary !== undefined && typeof summary !== "string")
    refuse("its summary is not text", "give a text, or leave the summary out");
  if (payload === undefined || payload === null) return;
  if (typeof payload !== "object")
    refuse("its payload is not an object", 'give the arguments of the tool, such as {"path": …}');
  const { command, paths } = payload as Record<string, unknown>;
  if (command !== undefined && typeof command !== "string") refuse("its command is not text", "give the shell line");
  if (paths !== undefined && !Array.isArray(paths)) refuse("its paths are not a list", 'give ["a", "b"]');
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function refuse(what: string, hint: string): never {
  throw new ChronicleError("USAGE", `the action cannot be recorded: ${what}`, { hint });
}

/** Returns the summary of an action. Secrets are masked in the command, and in a summary that the caller has given. */
export function summaryOf(context: Context, request: ActionRequest, targets: ActionTargets): string {
  if (request.summary !== undefined) return cut(maskLine(request.summary));
  const about = aboutOf(context, request, targets);
  return cut(about === "" ? request.type : `${request.type}: ${about}`);
}

function aboutOf(context: Context, { type, payload = {} }: ActionRequest, targets: ActionTargets): string {
  if (payload.command !== undefined) return maskLine(payload.command);
  const moved = movedFields(type, payload);
  if (moved !== undefined) return moveText(context, moved, payload.paths ?? []);
  const shown = shownTargets(targets);
  return shown.length > 3 ? `${shown[0]} and ${shown.length - 1} more` : shown.join(", ");
}

/**
 * Describes a move. The paths come from the fields of the payload, because the order of the targets does not show which
 * of them is the source.
 */
function moveText(context: Context, moved: readonly [from: string, to: string], others: readonly string[]): string {
  const shown = (given: string): string => shownTargets(targetsFor(context, "write_file", { path: given }))[0] ?? given;
  const [from, to] = moved.map(shown);
  const more = new Set(others.map(shown).filter((one) => one !== from && one !== to)).size;
  return `${from} → ${to}${more === 0 ? "" : ` and ${more} more`}`;
}

function shownTargets(targets: ActionTargets): readonly string[] {
  return targets.kind === "none" ? [] : [...targets.paths.map(shownPath), ...targets.outside];
}

function cut(text: string): string {
  const sound = text.toWellFormed();
  return sound.length <= MOST_SUMMARY ? sound : `${sound.slice(0, MOST_SUMMARY).toWellFormed()}…`;
}

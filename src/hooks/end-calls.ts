import type { ActionEnd } from "../api/action-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { SessionNote } from "./session-note.ts";

/**
 * Error codes that mean that files which a tool destroys, or has left, could not be kept; other codes are our own
 * trouble.
 */
export const NOT_KEPT: readonly string[] = ["REFUSED", "LIMIT_EXCEEDED", "IO", "UNSAFE", "PATH_INVALID", "FORBIDDEN"];

/** A session's note, and its workspace. */
interface Workplace {
  readonly note: SessionNote;
  readonly workspace: WorkspaceApi;
}

/**
 * Records the end of a call. If that fails, the end stays in the note and is retried at the next hook: otherwise the
 * action would stay open, and compete with all later ones, until the turn ends. Throws the error.
 */
export async function endCall(
  { note, workspace }: Workplace,
  { key, id, end }: { readonly key: string; readonly id: string; readonly end: ActionEnd },
): Promise<void> {
  note.open[key] = id;
  note.ends = { ...note.ends, [key]: end };
  try {
    await workspace.finishAction(id, end);
    forgetCall(note, key);
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    if (NOT_KEPT.includes(error.code)) {
      // The call has ended whether or not that can be recorded; the user is told.
      await workspace.finishAction(id, { ...end, onFailure: "warn" });
      forgetCall(note, key);
    }
    if (error.code === "NOT_FOUND") forgetCall(note, key);
    throw error;
  }
}

/** Notes that a call is going on. */
export function noteOpen(
  note: SessionNote,
  key: string,
  { id, isUnsaid }: { readonly id: string; readonly isUnsaid: boolean },
): void {
  forgetCall(note, key);
  note.open[key] = id;
  if (isUnsaid) note.unsaid = [...(note.unsaid ?? []), key];
}

/** Takes a call out of the note. */
export function forgetCall(note: SessionNote, key: string): void {
  delete note.open[key];
  delete note.ends?.[key];
  delete note.doubted?.[key];
  if (note.unsaid !== undefined) note.unsaid = note.unsaid.filter((one) => one !== key);
}

/** Before a call of a lane begins, records the ends that are still unrecorded. Returns the errors. */
export async function endEarlier(workplace: Workplace, lane?: string): Promise<string[]> {
  const { note } = workplace;
  const troubles: string[] = [];
  for (const key of Object.keys(note.open)) {
    const id = note.open[key];
    // Another hook has ended it meanwhile.
    if (id === undefined) continue;
    try {
      const end = note.ends?.[key] ?? (await endOf(workplace, { key, id, lane }));
      if (end === undefined) continue;
      await endCall(workplace, { key, id, end });
      if (end.outcome === "denied") note.doubted = { ...note.doubted, [key]: id };
    } catch (error) {
      const told = troubleOf(error);
      if (told === undefined) forgetCall(note, key);
      else troubles.push(told);
    }
  }
  return troubles;
}

/** Infers how a call ended whose end was never reported; `undefined` if it may still be running. */
async function endOf(
  { note, workspace }: Workplace,
  { key, id, lane }: { readonly key: string; readonly id: string; readonly lane: string | undefined },
): Promise<ActionEnd | undefined> {
  // The agent went on without reporting the call: it was denied, or never ran. If its end comes after all, the agent
  // ran it beside the next one.
  if (lane !== undefined && key.startsWith(`${lane} `)) {
    return { outcome: "denied", reason: "the agent went on without it" };
  }
  // The end of a patch in a shell line is never said: it has ended once its files have changed.
  if (note.unsaid?.includes(key) !== true) return undefined;
  const { changes } = await workspace.diffAction(id);
  return changes.length === 0 ? undefined : {};
}

/** `undefined`: the history has no such action, since it was begun anew, or put back from a copy. */
function troubleOf(error: unknown): string | undefined {
  if (!(error instanceof ChronicleError)) throw error;
  if (error.code === "NOT_FOUND") return undefined;
  const hint = error.hint === undefined ? "" : ` (${error.hint})`;
  return `what an earlier call left is not recorded: ${error.message}${hint}`;
}

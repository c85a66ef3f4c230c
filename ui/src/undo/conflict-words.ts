import type { ConflictShape } from "../../../src/api/conflict-shape.ts";
import type { FileShape } from "../../../src/api/file-api.ts";
import { size } from "../parts/words.ts";

/** The present state at the path of a conflict. The path was possibly edited after the conflict arose. */
export interface Present {
  /** `null` if the path does not exist, or is a folder. */
  readonly hash: string | null;
  readonly kind: FileShape["kind"] | null;
  readonly size: number;
  readonly permissions: number;
}

/** The words that describe a conflict, and the names of the two buttons that choose a whole side. */
export interface ConflictWords {
  /** The description of both sides; absent for two files with different contents, because the contents are shown. */
  readonly what?: string;
  readonly keep: string;
  readonly take: string;
  /** True if choosing the other side removes the file that exists now. */
  readonly isRemoval: boolean;
}

/** Returns the name of the other side, which is an undo or the origin that a folder follows. */
export function sideName({ cause }: Pick<ConflictShape, "cause">): string {
  return cause === "sync" ? "the origin's" : "the undo's";
}

/** Returns the words for a conflict. `present`: the present state at the path. */
export function conflictWords(conflict: ConflictShape, present: Present): ConflictWords {
  const side = sideName(conflict);
  const { undo_kind: there, undo_size: length, undo_hash: hash } = conflict;
  const { kind: here } = present;
  const other = there === null ? "" : kindWords(there, length);
  if (here === null && there === null)
    return { what: "Nothing is there on both sides.", keep: "Settle it", take: `Take ${side} state`, isRemoval: false };
  if (here === null)
    return {
      what: `Nothing is there now. In ${side} state, it is ${other}.`,
      ...{ keep: "Leave it deleted", take: "Bring it back", isRemoval: false },
    };
  if (there === null)
    return {
      what: `Now it is ${kindWords(here, present.size)}. In ${side} state, nothing is there.`,
      ...{ keep: "Keep it", take: "Remove it", isRemoval: true },
    };
  if (here !== there)
    return {
      what: `Now it is ${kindWords(here, present.size)}. In ${side} state, it is ${other}.`,
      ...{ keep: `Keep the ${NAMES[here]}`, take: `Take the ${NAMES[there]}`, isRemoval: false },
    };
  const states = { keep: "Keep the current state", take: `Take ${side} state`, isRemoval: false };
  const modes = modesOf(conflict, present);
  if (modes === undefined) return states;
  const isSame = hash === (present.hash ?? "");
  const { before, after } = modes;
  if (!isSame) return { ...states, what: `The permissions differ, too: ${before} now, ${after} in ${side} state.` };
  return {
    what: `Only the permissions differ: ${before} now, ${after} in ${side} state.`,
    ...{ keep: `Keep ${before}`, take: `Take ${after}`, isRemoval: false },
  };
}

function modesOf(
  { undo_permissions: after }: ConflictShape,
  { permissions: before, kind }: Present,
): { readonly before: string; readonly after: string } | undefined {
  if (kind === "symlink" || after === undefined || before === after) return undefined;
  return { before: octal(before), after: octal(after) };
}

function octal(mode: number): string {
  return mode.toString(8).padStart(3, "0");
}

const NAMES: Readonly<Record<FileShape["kind"], string>> = { file: "file", symlink: "link", dir: "folder" };

function kindWords(kind: FileShape["kind"], bytes: number): string {
  if (kind === "file") return `a file of ${size(bytes)}`;
  return `a ${NAMES[kind]}`;
}

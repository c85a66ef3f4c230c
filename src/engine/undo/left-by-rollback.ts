import type { RunShape, UndoShape } from "../../api/shapes.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import type { Change } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { argumentOfShown } from "../../core/shell/quote-command.ts";
import type { Session } from "../facts/actions.ts";
import { shownPath } from "../log/shape.ts";

/** A run whose transaction was rolled back, as far as the rollback needs it. */
interface RolledBackRun {
  readonly session: Session;
  readonly changes: readonly Change[];
  readonly ambiguous: readonly WorkspacePath[];
}

const BESIDE = "another run was active at the same time, and either run may have changed them";

/** Returns the changes that a rollback left, and the command that helps; `null` if nothing is left. */
export function leftOf(
  given: { readonly done: RolledBackRun } & Pick<UndoShape, "skipped" | "unmerged">,
): RunShape["not_rolled_back"] {
  const { done, skipped, unmerged } = given;
  const rivals = done.ambiguous.map(shownPath);
  const pathsOf = (isMeant: (one: OmittedChange) => boolean): string[] =>
    done.session.omittedChanges.filter(isMeant).map((one) => shownPath(one.path));
  const lost = pathsOf((one) => one.lost);
  const erased = pathsOf(({ reason, lost: isLost }) => reason === "erased" && !isLost);
  const named = [...rivals, ...skipped.map((one) => one.path), ...unmerged.map((one) => one.path), ...lost, ...erased];
  const paths = [...new Set(named)];
  const [first] = paths;
  if (first === undefined) return null;
  const before = `chronicle restore seq:${done.session.fromSeq}`;
  if (rivals.length > 0) {
    return { reason: BESIDE, paths, hint: `${before} ${rivals.length === 1 ? argumentOfShown(first) : "PATH..."}` };
  }
  if (skipped.length > 0 && skipped.every((one) => one.reason === "ambiguous"))
    return { reason: BESIDE, paths, hint: `chronicle undo --since seq:${done.session.fromSeq}` };
  const unrecorded = new Set(pathsOf((one) => one.recorded === true));
  if (skipped.length > 0 && skipped.every(({ path }) => unrecorded.has(path))) {
    const [reason, them] =
      paths.length === 1
        ? ["its present state could not be recorded, so it stays", `it away, then ${before} ${argumentOfShown(first)}`]
        : ["their present states could not be recorded, so they stay", `them away, then ${before} PATH...`];
    return { reason, paths, hint: `move ${them}` };
  }
  const shown = `chronicle show ${done.session.id.slice(0, 8)}`;
  // A restore does not help a lost path, because the path's state right before the run is not known.
  const others = skipped.filter(({ path }) => !lost.includes(path));
  if (others.length > 0 && others.every(({ reason }) => reason === "unseen"))
    return { reason: "their state before the run is not known", paths, hint: shown };
  if (others.length > 0) return { reason: whySkipped(skipped), paths, hint: `${before} PATH...` };
  if (unmerged.length > 0)
    return { reason: "they were edited since, in the same or adjacent lines", paths, hint: "chronicle conflicts" };
  if (lost.length === 0)
    return {
      reason: "their present content was erased from the history, so it is not overwritten",
      paths,
      hint: `remove them, then ${before} PATH...`,
    };
  return { reason: "they are not recorded, so their earlier content is gone", paths, hint: shown };
}

/** Returns the copies that a rollback kept of what others wrote during the rollback; `null` if there are none. */
export function besideOf(conflicts: UndoShape["conflicts"]): RunShape["not_rolled_back"] {
  if (conflicts.length === 0) return null;
  const reason = "the files were written to during the rollback, and copies of what was written are kept beside them";
  const hint = "compare each copy with its file, and remove the copies that you do not need";
  return { reason, paths: conflicts.map(({ kept_at: at }) => at), hint };
}

function whySkipped(skipped: UndoShape["skipped"]): string {
  const isMeanwhile = skipped.some(({ reason }) => reason === "changed-meanwhile");
  return isMeanwhile ? "they were changed while the rest was taken back" : "they could not be changed";
}

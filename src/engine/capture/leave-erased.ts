import type { Change } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import type { HistoryContext } from "../log/context.ts";
import { erasedDetail } from "../facts/pruning.ts";
import type { SkippedPath } from "./seen-absent.ts";
import { shownPath } from "../log/shape.ts";

type ErasedPath = SkippedPath & { readonly reason: "erased" };

/**
 * Separates the changes that need an erased content (`erased`) from all others. If an erased content was stored again
 * since its erasure, changes that need it are possible.
 */
export async function leaveErased(
  context: HistoryContext,
  changes: readonly Change[],
): Promise<{ readonly changes: Change[]; readonly erased: ErasedPath[] }> {
  const wanted = changes.flatMap(({ before, after }) =>
    after?.hash === undefined || after.hash === before?.hash ? [] : [after.hash],
  );
  const known = await erasedAmong(context, wanted);
  const there = await context.blobs.has([...known]);
  const gone = new Set([...known].filter((hash) => !there.has(hash)));
  const erased: ErasedPath[] = [];
  for (const { path, before, after } of changes) {
    const hash = after?.hash;
    if (hash === undefined || hash === before?.hash || !gone.has(hash)) continue;
    const detail = await erasedDetail(context, hash, `the earlier content of ${shownPath(path)}`);
    erased.push({ path, reason: "erased", detail });
  }
  const left = new Set(erased.map(({ path }) => path));
  return { changes: changes.filter(({ path }) => !left.has(path)), erased };
}

/** Throws `ERASED` if an operation can do nothing, because all contents that it would restore were erased. */
export function refuseAllErased(changes: readonly Change[], skipped: readonly SkippedPath[]): void {
  if (changes.length > 0 || skipped.length === 0 || skipped.some(({ reason }) => reason !== "erased")) return;
  const shown = skipped.slice(0, 5).map((one) => one.detail);
  const more = skipped.length > shown.length ? `, and ${skipped.length - shown.length} more` : "";
  throw new ChronicleError("ERASED", `nothing was changed, because ${shown.join(", ")}${more}`, {
    hint: "`chronicle unerase` lists what can still be brought back; `--force` skips these paths",
    data: { erased: skipped.map((one) => shownPath(one.path)) },
  });
}

import type { FileListShape, ListFilesOptions } from "../../api/file-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { EntryPage, IterationRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { fileShape, isPresent, type PresentRow } from "../state/file-shape.ts";
import { parseGivenPath } from "../log/given-path.ts";
import { resolveMoment } from "./moments.ts";
import { isSecretEntry, protectedNames } from "../state/protected.ts";
import { provePage } from "../state/proved-page.ts";
import { givenPath, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

/** The paths of a moment, in their order: a page costs what it holds, not what lies before it. Throws `NOT_FOUND`. */
export async function listFiles(context: Context, options: ListFilesOptions): Promise<FileListShape> {
  const { depth, limit = Number.POSITIVE_INFINITY, after } = options;
  checkCount("depth", depth);
  checkCount("limit", options.limit);
  const folder = options.path === undefined ? undefined : parseGivenPath(options.path);
  const seq = await seqOf(context, options.at);
  if (folder !== undefined) await mustBeFolder(context, folder, seq);
  // The folder itself is not in its listing.
  const behind = after === undefined ? folder : parseGivenPath(after);
  const page: EntryPage = {
    ...optional({ after: behind, depth }),
  };
  const { rows, isCut } = await rowsOf(context.index.entriesAt(seq, folder, page), limit);
  await provePage(context, { seq, folder, depth, after: behind, isCut, rows });
  const last = rows.at(-1);
  const names = await protectedNames(context);
  const files = rows.map((row) => ({
    ...fileShape(row),
    ...(isSecretEntry(names, row.entry) ? { protected: true as const } : {}),
  }));
  return { seq, files, next: isCut && last !== undefined ? givenPath(last.path) : null };
}

/** The first rows, and whether there are more. */
async function rowsOf(
  batches: AsyncIterable<readonly IterationRow[]>,
  limit: number,
): Promise<{ readonly rows: readonly PresentRow[]; readonly isCut: boolean }> {
  const rows: PresentRow[] = [];
  for await (const batch of batches) {
    for (const row of batch) {
      if (!isPresent(row)) continue;
      if (rows.length >= limit) return { rows, isCut: true };
      rows.push(row);
    }
  }
  return { rows, isCut: false };
}

/** The event up to which the state is meant. Reading shows what is recorded: `now` is the head. */
export async function seqOf(context: Context, at: string | undefined): Promise<number> {
  if (at !== undefined && at !== "now") return (await resolveMoment(context, at)).seq;
  return (await context.index.head()).seq;
}

async function mustBeFolder(context: Context, path: WorkspacePath, seq: number): Promise<void> {
  if (path === ROOT) return;
  const kind = (await context.index.iterationAt(path, seq))?.entry?.kind;
  if (kind === "dir" || (kind === undefined && (await holdsSomething(context, path, seq)))) return;
  const what = kind === undefined ? "there is nothing at" : `it is no folder:`;
  throw new ChronicleError("NOT_FOUND", `${what} ${JSON.stringify(shownPath(path))}`, {
    hint: "list the folder above to see what is there",
    data: { path: shownPath(path) },
  });
}

/** A further root, or a folder on the way to something that was named, has no entry of its own. */
async function holdsSomething(context: Context, path: WorkspacePath, seq: number): Promise<boolean> {
  for await (const rows of context.index.entriesAt(seq, path)) if (rows.length > 0) return true;
  return false;
}

function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value > 0)) return;
  throw new ChronicleError("USAGE", `${name} is not a whole number above 0: ${value}`, {
    hint: "leave it out for all",
  });
}

import type { TextChangeShape, TextHistoryOptions, TextHistoryShape } from "../../api/file-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { ROOT } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import type { Context } from "../log/context.ts";
import { knownPaths } from "../log/known-paths.ts";
import { changeOrigins, historiesOf, MOST_SEARCHED_BYTES, secretPaths } from "./searched-histories.ts";

const DEFAULT_LIMIT = 100;

/** The maximum length, in characters, of the searched text. */
const MOST_TEXT = 10_000;

/** The maximum total size, in bytes, of the contents that are searched for one answer. */
const MOST_READ_BYTES = 4 * 1024 ** 3;

/**
 * An iteration that changed the number of occurrences of the text. `before`: the number in the last earlier iteration
 * whose content was searched. `after`: the number in this iteration.
 */
interface Found {
  readonly row: IterationRow;
  readonly before: number;
  readonly after: number;
  /**
   * The number of the first iteration that can have made the change. Set only if contents right before `row` were not
   * searched.
   */
  readonly first?: number;
}

/**
 * Returns the iterations that changed the number of occurrences of a text in a file, newest first. Throws `USAGE` for
 * an invalid text or limit, and `NOT_FOUND` for a path that was never recorded.
 */
export async function textHistory(
  context: Context,
  text: string,
  { path: given, limit = DEFAULT_LIMIT }: TextHistoryOptions = {},
): Promise<TextHistoryShape> {
  check(text, limit);
  const [beneath = ROOT] = (await knownPaths(context, given === undefined ? undefined : [given])) ?? [];
  const histories = await historiesOf(context, [beneath]);
  const secrets = await secretPaths(context, [...histories.keys()]);
  const isAgent = context.caller.role === "agent";
  if (isAgent) for (const path of secrets) histories.delete(path);
  const counts = await countsOf(context, [...histories.values()].flat(), Buffer.from(text));
  const all = [...histories.values()].flatMap((rows) => changesOf(rows, counts.of));
  const shown = all.sort((a, b) => b.row.seq - a.row.seq).slice(0, limit);
  return {
    ...(secrets.size > 0 && !isAgent ? { class: "protected" as const } : {}),
    changes: await shapesOf(context, shown),
    total_changes: all.length,
    notes: [
      ...(isAgent && secrets.size > 0 ? [`files with names of secrets were not searched: ${secrets.size}`] : []),
      ...(counts.missing > 0
        ? [`contents that are no longer kept, or are very large, were not searched: ${counts.missing}`]
        : []),
    ],
  };
}

function check(text: string, limit: number): void {
  if (text === "" || text.length > MOST_TEXT)
    throw new ChronicleError("USAGE", text === "" ? "the text is empty" : "the text is too long", {
      hint: `give a text of 1 to ${MOST_TEXT} characters; the text is searched literally, not as a pattern`,
    });
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new ChronicleError("USAGE", `the limit is no whole number above 0: ${limit}`, {
      hint: "give a number from 1",
    });
}

interface Counts {
  /** Returns the number of occurrences in a content; `undefined` if the content was not searched. */
  readonly of: (hash: Hash) => number | undefined;
  /** The number of contents that were not searched. */
  readonly missing: number;
}

/**
 * Counts the occurrences of a text in each content of the rows. Reads the contents in the order in which they are
 * stored.
 */
async function countsOf(context: Context, rows: readonly IterationRow[], text: Buffer): Promise<Counts> {
  const sizes = new Map<Hash, number>();
  for (const { entry } of rows)
    if (entry?.kind === "file" && entry.hash !== undefined) sizes.set(entry.hash, entry.size);
  const erased = await erasedAmong(context, sizes.keys());
  let left = MOST_READ_BYTES;
  const wanted = [...sizes].filter(
    ([hash, size]) => size <= MOST_SEARCHED_BYTES && !erased.has(hash) && (left -= size) >= 0,
  );
  const counts = new Map<Hash, number>();
  for await (const [hash, reader] of context.blobs.readMany(wanted.map(([hash]) => hash))) {
    if (reader === undefined) continue;
    const pieces: Uint8Array[] = [];
    for await (const piece of reader.pieces()) pieces.push(piece);
    counts.set(hash, occurrences(Buffer.concat(pieces), text));
    await yieldToEventLoop();
  }
  return { of: (hash) => counts.get(hash), missing: sizes.size - counts.size };
}

/** Counts the occurrences of a text, without overlaps. */
function occurrences(content: Buffer, text: Buffer): number {
  let found = 0;
  for (let at = content.indexOf(text); at >= 0; at = content.indexOf(text, at + text.length)) found += 1;
  return found;
}

function changesOf(rows: readonly IterationRow[], countOf: Counts["of"]): Found[] {
  const found: Found[] = [];
  let before = 0;
  let first: number | undefined;
  for (const row of rows) {
    const { entry, iteration } = row;
    const after = entry?.kind === "file" && entry.hash !== undefined ? countOf(entry.hash) : 0;
    if (after === undefined) {
      first ??= iteration;
      continue;
    }
    if (after !== before) found.push({ row, before, after, ...(first === undefined ? {} : { first }) });
    before = after;
    first = undefined;
  }
  return found;
}

async function shapesOf(context: Context, found: readonly Found[]): Promise<TextChangeShape[]> {
  const origins = await changeOrigins(context, found);
  return origins.map((origin, i) => ({ ...origin, before: found[i]?.before ?? 0, after: found[i]?.after ?? 0 }));
}

import type { BlameOptions, BlameShape } from "../../api/file-api.ts";
import type { PendingLines } from "../../core/text/line-tables.ts";
import { DiffBudget, isBinary } from "../../core/text/text-diff.ts";
import type { Entry } from "../../core/values/entry.ts";
import { formatBytes } from "../../core/values/duration.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { compareHashed, readDisk } from "../capture/read-disk.ts";
import { missingContent } from "../facts/pruning.ts";
import { tellStale } from "../facts/stale-states.ts";
import { type Context, isHosted } from "../log/context.ts";
import { parseGivenPath, unknownPath } from "../log/known-paths.ts";
import { pathArgument, shownPath } from "../log/shape.ts";
import { proveHistory, proveRow } from "../state/proved-content.ts";
import { blameShape, type LineRange, type Sources } from "./blame-shape.ts";
import { BlameMemo, type LineSource } from "./blame-memo.ts";
import { BlameWalk, MOST_BLAME_BYTES } from "./blame-walk.ts";
import { seqOf } from "./list-files.ts";
import { notThere } from "./read-file.ts";

/** The maximum number of steps of all comparisons for one answer. This many steps take a few seconds. */
const MOST_STEPS = 60_000_000;

/** The content whose lines are asked about, and the iterations of its path up to this content. */
interface Asked {
  readonly path: WorkspacePath;
  /** The iterations, ordered from oldest to newest. The last one is the newest iteration that is not a deletion. */
  readonly rows: readonly IterationRow[];
  readonly entry: Entry;
  readonly isDeleted: boolean;
  /** The content on disk. Set only if this content is not recorded yet. */
  readonly onDisk?: Buffer;
  readonly notes: readonly string[];
}

/**
 * Returns the lines of a file, each with the iteration that wrote it. If the path was deleted at the moment, returns
 * the lines of its last content before. Lines are compared as bytes. Throws `NOT_FOUND` if the path was never recorded,
 * or not yet at the moment. Throws `REFUSED` for a folder, a link or a binary content, and `LIMIT_EXCEEDED` for a
 * content that is too large. Also throws `USAGE` for invalid options, and the errors of `missingContent`.
 */
export async function blame(context: Context, given: string, options: BlameOptions = {}): Promise<BlameShape> {
  const asked = await askedFor(context, parseGivenPath(given), options);
  const walk = new BlameWalk(context, new DiffBudget(MOST_STEPS), await BlameMemo.of(context));
  const content = asked.onDisk ?? (await keptContent(context, asked, walk));
  if (isBinary(content)) throw refusedBinary(asked.path);
  const table = walk.tableOf(content);
  const range = rangeOf(options, table.starts.length);
  const wanted = linesFrom(range);
  const passed = asked.onDisk === undefined ? wanted : await walk.passedBy(table, asked.entry, wanted);
  const isWhole = options.fromLine === undefined && options.toLine === undefined;
  const sources = isWhole ? await wholeSources(walk, asked, passed) : await partSources(walk, asked, passed);
  return blameShape(context, { ...asked, table, range, walk, sources });
}

/**
 * Finds the sources of all lines of the recorded content, and remembers them. Returns the sources of the `passed`
 * lines, which are the lines of the requested content that the recorded content also has.
 */
async function wholeSources(
  walk: BlameWalk,
  { path, rows, entry, onDisk }: Asked,
  passed: PendingLines,
): Promise<Sources> {
  const recorded = onDisk === undefined ? undefined : await walk.contentOf(entry);
  const all = recorded === undefined ? passed : linesFrom({ from: 0, to: walk.tableOf(recorded).ids.length });
  await walk.lines(path, rows, all);
  walk.keep(path, rows.at(-1)?.seq ?? 0);
  const sources = new Map<number, LineSource>();
  for (const [i, line] of passed.lines.entries()) {
    const source = walk.ofLine.get(passed.at[i] ?? 0);
    if (source !== undefined) sources.set(line, source);
  }
  return sources;
}

async function partSources(walk: BlameWalk, { path, rows }: Asked, passed: PendingLines): Promise<Sources> {
  await walk.lines(path, rows, passed);
  return walk.ofLine;
}

async function askedFor(context: Context, path: WorkspacePath, { at }: BlameOptions): Promise<Asked> {
  const all = await context.index.iterations(path);
  if (all.length === 0) {
    await proveHistory(context, path);
    throw await unknownPath(context, path);
  }
  const seq = await seqOf(context, at);
  const isPast = at !== undefined && at !== "now";
  if (isPast) await tellStale(context, seq, (one) => one === path);
  const rows = all.filter((row) => row.seq <= seq);
  const last = rows.findLastIndex(({ entry }) => entry !== undefined);
  const row = rows[last];
  if (row?.entry === undefined) throw await notThere(context, path, { iteration: undefined, isKnown: true });
  const isDeleted = last < rows.length - 1;
  await proveRow(context, row, { isLast: false });
  const asked = { path, rows: rows.slice(0, last + 1), entry: row.entry, isDeleted, notes: [] };
  refuseKind(asked);
  const isPresent = !isPast && !isDeleted;
  return isPresent && !isHosted(context.worktree.roots) ? withDisk(context, asked) : asked;
}

/**
 * Adds the content on disk if a capture would record it as a new content. If the content on disk cannot be shown, adds
 * a note that says why.
 */
async function withDisk(context: Context, asked: Asked): Promise<Asked> {
  const { path } = asked;
  const reading = await readDisk(context, { only: [path], exact: true, hashOnly: true });
  const change = (await compareHashed(context, reading)).changes.find((one) => one.path === path);
  const left = reading.omitted.find((one) => one.path === path);
  if (left !== undefined)
    return {
      ...asked,
      notes: [`the present content is not recorded (${left.reason}), so the last recorded content is shown`],
    };
  if (change === undefined || change.after?.hash === asked.entry.hash) return asked;
  if (change.after?.kind !== "file")
    return {
      ...asked,
      notes: [
        "the file is not there any more, and its removal is not recorded yet: the last recorded content is shown",
      ],
    };
  if (change.after.size > MOST_BLAME_BYTES) throw tooLarge(path, change.after.size);
  const onDisk = await context.worktree.read(path);
  if (onDisk !== undefined && sha256(onDisk) === change.after.hash) return { ...asked, onDisk };
  return { ...asked, notes: ["the file is being written, so the last recorded content is shown"] };
}

function refuseKind({ path, entry }: Asked): void {
  const shown = JSON.stringify(shownPath(path));
  if (entry.kind === "dir")
    throw new ChronicleError("REFUSED", `${shown} is a folder`, {
      hint: `name a file in it; \`chronicle changes --file ${pathArgument(path)}\` shows all changes beneath it`,
    });
  if (entry.kind === "symlink")
    throw new ChronicleError("REFUSED", `${shown} is a link`, {
      hint: `name the file to which the link leads; \`chronicle history ${pathArgument(path)}\` shows the targets of the link`,
    });
  if (entry.size > MOST_BLAME_BYTES) throw tooLarge(path, entry.size);
}

function tooLarge(path: WorkspacePath, size: number): ChronicleError {
  return new ChronicleError(
    "LIMIT_EXCEEDED",
    `${shownPath(path)} is too large to look for the author of each line: ${formatBytes(size)} (at most ${formatBytes(MOST_BLAME_BYTES)})`,
    { hint: `\`chronicle history ${pathArgument(path)}\` shows who made each of its states`, data: { size } },
  );
}

function refusedBinary(path: WorkspacePath): ChronicleError {
  return new ChronicleError("REFUSED", `${shownPath(path)} is binary, and has no lines`, {
    hint: `\`chronicle history ${pathArgument(path)}\` shows who made each of its states`,
  });
}

async function keptContent(context: Context, { path, rows, entry }: Asked, walk: BlameWalk): Promise<Buffer> {
  const found = await walk.contentOf(entry);
  if (found !== undefined) return found;
  const iteration = rows.at(-1)?.iteration ?? 0;
  const { hash = "" } = entry;
  throw await missingContent(context, {
    path,
    hash: hash as NonNullable<Entry["hash"]>,
    what: `the content of ${shownPath(path)}@${iteration}`,
    iteration,
  });
}

function rangeOf({ fromLine = 1, toLine }: BlameOptions, total: number): LineRange {
  const to = toLine ?? Math.max(total, fromLine);
  const isValid = [fromLine, to].every((line) => Number.isSafeInteger(line) && line >= 1) && fromLine <= to;
  if (!isValid)
    throw new ChronicleError("USAGE", `${fromLine} to ${to} is no range of lines`, {
      hint: "give the first line, then the last one; lines are counted from 1",
    });
  if (fromLine > Math.max(total, 1))
    throw new ChronicleError("USAGE", `there is no line ${fromLine}: the file ends at line ${total}`, {
      hint: "leave out the line numbers to see all lines",
      data: { total_lines: total },
    });
  return { from: fromLine - 1, to: Math.min(to, total) };
}

function linesFrom({ from, to }: LineRange): PendingLines {
  const lines = Array.from({ length: to - from }, (_, i) => from + i);
  return { at: lines, lines };
}

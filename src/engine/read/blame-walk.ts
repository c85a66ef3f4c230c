import type { IterationShape } from "../../api/shapes.ts";
import type { DiffBudget } from "../../core/text/text-diff.ts";
import { type LineTable, LineTables, type PassedLines, type PendingLines } from "../../core/text/line-tables.ts";
import type { Entry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import type { Context } from "../log/context.ts";
import { proveRows } from "../state/proved-rows.ts";
import type { BlameMemo, LineSource } from "./blame-memo.ts";
import { recordedShapes } from "./history.ts";
import { type EarlierPath, renamedBudget, renamedFrom } from "./renamed-from.ts";

/** The maximum size, in bytes, of a content that is compared. */
export const MOST_BLAME_BYTES = 32 * 1024 ** 2;

/** The maximum total size, in bytes, of the contents that are read for one answer. */
const MOST_READ_BYTES = 4 * 1024 ** 3;

/**
 * The maximum number of earlier contents that are searched for lines that an undo or a restore brought back and merged
 * with later lines.
 */
const MOST_BROUGHT_BACK = 50;

/** The causes of iterations that can bring back lines of earlier iterations. */
const BRINGING_BACK: ReadonlySet<string> = new Set(["undo", "redo", "restore", "resolve"]);

const NO_LINES: PendingLines = { at: [], lines: [] };

/** The iterations of a path, oldest first. `shapes` has the shapes of the same iterations, in the same order. */
interface Timeline {
  readonly path: WorkspacePath;
  readonly rows: readonly IterationRow[];
  readonly shapes: readonly IterationShape[];
}

/**
 * Maps the index of an iteration in `rows` to lines that this iteration has, and whose sources are still to be found.
 */
type Waiting = Map<number, PendingLines[]>;

/** One step of the walk: the lines of the iteration at index `at` are looked for in earlier contents. */
interface Step {
  readonly timeline: Timeline;
  readonly at: number;
  readonly entry: Entry;
  readonly waiting: Waiting;
}

/**
 * Finds the iteration that wrote each line of a content. Walks from the newest iteration to the oldest, and ends once
 * every line has its source. At each iteration, the lines are compared with the content of the iteration before. Lines
 * that the earlier content lacks were written by the later iteration. All other lines are passed on to the earlier
 * iteration, where the search continues.
 */
export class BlameWalk {
  readonly #context: Context;
  readonly #budget: DiffBudget;
  readonly #memo: BlameMemo;
  readonly #sources = new Map<string, LineSource>();
  readonly #ofLine = new Map<number, LineSource>();
  readonly #tables: LineTables;
  /** Maps the hashes of the contents that were compared last to their tables. */
  readonly #recent = new Map<string, LineTable>();
  readonly #renames = renamedBudget();
  #readable = MOST_READ_BYTES;

  constructor(context: Context, budget: DiffBudget, memo: BlameMemo) {
    this.#context = context;
    this.#memo = memo;
    this.#budget = budget;
    this.#tables = new LineTables(budget);
  }

  /** Maps the number of a line, counted from 0, to the source of the line. */
  get ofLine(): ReadonlyMap<number, LineSource> {
    return this.#ofLine;
  }

  /** True if contents were not read, because the total size of all contents exceeds the limit. */
  get isCut(): boolean {
    return this.#readable < 0;
  }

  /** Finds the sources of the pending lines, which are lines of the last of these iterations of a path. */
  async lines(path: WorkspacePath, rows: readonly IterationRow[], pending: PendingLines): Promise<void> {
    const last = rows.at(-1);
    if (last === undefined || this.#isKnown(path, last, pending)) return;
    await proveRows(this.#context, rows);
    const timeline = { path, rows, shapes: await recordedShapes(this.#context, path, rows) };
    const waiting: Waiting = new Map([[rows.length - 1, [pending]]]);
    for (let at = rows.length - 1; at >= 0 && waiting.size > 0; at -= 1) {
      const [first, ...more] = waiting.get(at) ?? [];
      const entry = rows[at]?.entry;
      if (first === undefined || entry === undefined) continue;
      waiting.delete(at);
      await this.#step({ timeline, at, entry, waiting }, more.reduce(joined, first));
      await yieldToEventLoop();
    }
  }

  /**
   * Returns the content of an entry; `undefined` if the content is missing or too large, or if the limit for reading is
   * reached.
   */
  async contentOf({ hash, size }: Entry): Promise<Buffer | undefined> {
    const known = this.#recent.get(hash ?? "");
    if (known !== undefined || hash === undefined || size > MOST_BLAME_BYTES) return known?.content;
    this.#readable -= size;
    return this.#readable < 0 ? undefined : this.#context.blobs.get(hash);
  }

  tableOf(content: Buffer): LineTable {
    return this.#tables.of(content);
  }

  /**
   * Returns those pending lines of the content on disk (`now`) that the recorded content has, too. In the result, `at`
   * has the numbers of these lines in the recorded content.
   */
  async passedBy(now: LineTable, recorded: Entry, pending: PendingLines): Promise<PendingLines> {
    const old = await this.contentOf(recorded);
    return old === undefined ? NO_LINES : this.#tables.compare(now, old).pass(pending).passed;
  }

  /** True if some comparison did not find the smallest difference, because the search would have taken too long. */
  get isCoarse(): boolean {
    return this.#budget.isCoarse;
  }

  /**
   * Remembers the sources of all lines of an iteration, so that the next question about these lines needs no walk. Does
   * nothing if a source is not known, or if contents were left unread.
   */
  keep(path: WorkspacePath, seq: number): void {
    const sources: LineSource[] = [];
    for (let line = 0; line < this.#ofLine.size; line += 1) {
      const source = this.#ofLine.get(line);
      if (source === undefined) return;
      sources.push(source);
    }
    if (!this.isCut) this.#memo.keep(path, { seq, sources });
  }

  /** Sets the sources of these lines from the memo. Returns false if the memo does not have the iteration. */
  #isKnown(path: WorkspacePath, { seq }: IterationRow, { at, lines }: PendingLines): boolean {
    const sources = this.#memo.of(path, seq);
    if (sources === undefined) return false;
    for (const [i, line] of lines.entries()) {
      const source = sources[at[i] ?? 0];
      if (source !== undefined) this.#ofLine.set(line, source);
    }
    return true;
  }

  /** Finds, at one iteration, the sources of pending lines, or passes the lines on to an earlier iteration. */
  async #step(step: Step, pending: PendingLines): Promise<void> {
    const { timeline, at, entry, waiting } = step;
    const { rows, shapes } = timeline;
    const row = rows[at];
    if (row !== undefined && this.#isKnown(timeline.path, row, pending)) return;
    const isBack = BRINGING_BACK.has(shapes[at]?.cause ?? "");
    const same = isBack ? rows.findLastIndex((row, i) => i < at && isSameFile(row, entry)) : -1;
    const before = rows[at - 1];
    if (same >= 0) return wait(waiting, same, pending);
    if (before !== undefined && isSameFile(before, entry)) return wait(waiting, at - 1, pending);
    if (before?.entry?.kind === "file") return this.#toBefore(step, pending, isBack);
    if (isBack) pending = await this.#broughtBack(step, pending, at - 1);
    if (pending.lines.length > 0) await this.#toRenamed(step, pending);
  }

  /** Passes the lines on to the nearest earlier iteration whose content can be read. */
  async #toBefore(step: Step, pending: PendingLines, isBack: boolean): Promise<void> {
    const { timeline, at, entry, waiting } = step;
    const { rows } = timeline;
    const now = await this.#tableOf(entry);
    for (let to = at - 1; to >= 0 && rows[to]?.entry?.kind === "file"; to -= 1) {
      const parts = await this.#passed(pending, { now, before: rows[to] });
      if (parts === undefined) continue;
      wait(waiting, to, parts.passed);
      const kept = isBack ? await this.#broughtBack(step, parts.kept, to - 1) : parts.kept;
      const first = rows[to + 1]?.iteration ?? 0;
      return this.#found(timeline, at, kept, to === at - 1 ? { kind: "iteration" } : { kind: "between", first });
    }
    return this.#found(timeline, at, pending, { kind: "earlier" });
  }

  /**
   * Divides the lines into those that the earlier content has, and those that it lacks. Returns `undefined` if a
   * content cannot be read.
   */
  async #passed(
    pending: PendingLines,
    { now, before }: { readonly now: LineTable | undefined; readonly before: IterationRow | undefined },
  ): Promise<PassedLines | undefined> {
    const old = before?.entry === undefined ? undefined : await this.contentOf(before.entry);
    if (now === undefined || old === undefined) return undefined;
    const compared = this.#tables.compare(now, old);
    this.#keep(before?.entry?.hash ?? "", compared.old);
    return compared.pass(pending);
  }

  async #tableOf(entry: Entry): Promise<LineTable | undefined> {
    const known = this.#recent.get(entry.hash ?? "");
    if (known !== undefined) return known;
    const content = await this.contentOf(entry);
    if (content === undefined) return undefined;
    const table = this.#tables.of(content);
    this.#keep(entry.hash ?? "", table);
    return table;
  }

  #keep(hash: string, table: LineTable): void {
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > 1 && oldest !== undefined) this.#recent.delete(oldest);
    this.#recent.set(hash, table);
  }

  /**
   * Looks for lines that an undo or a restore brought back and merged with later lines. Searches earlier iterations,
   * from index `from` down. Returns the lines that none of these iterations has.
   */
  async #broughtBack({ timeline, entry, waiting }: Step, pending: PendingLines, from: number): Promise<PendingLines> {
    const now = await this.#tableOf(entry);
    let left = pending;
    const least = Math.max(0, from - MOST_BROUGHT_BACK + 1);
    for (let to = from; to >= least && left.lines.length > 0; to -= 1) {
      if (timeline.rows[to]?.entry?.kind !== "file") continue;
      const parts = await this.#passed(left, { now, before: timeline.rows[to] });
      if (parts === undefined) continue;
      wait(waiting, to, parts.passed);
      left = parts.kept;
    }
    return left;
  }

  /**
   * Passes the lines of a newly created file on to the path from which the file was renamed, if there is such a path.
   */
  async #toRenamed(step: Step, pending: PendingLines): Promise<void> {
    const { timeline, at } = step;
    const row = timeline.rows[at];
    const from = row === undefined ? undefined : await renamedFrom(this.#context, row, this.#renames);
    const left = from === undefined ? pending : await this.#intoEarlier(step, from, pending);
    if (left.lines.length === 0) return;
    const isWhole = at > 0 || (row?.iteration === 1 && timeline.shapes[at]?.cause !== "compact");
    return this.#found(timeline, at, left, { kind: isWhole ? "iteration" : "earlier" });
  }

  /** Passes on the lines that the content at the earlier path has, too. Returns the lines that this content lacks. */
  async #intoEarlier({ entry }: Step, { path, rows }: EarlierPath, pending: PendingLines): Promise<PendingLines> {
    const before = rows.at(-1);
    if (before === undefined || isSameFile(before, entry)) {
      await this.lines(path, rows, pending);
      return NO_LINES;
    }
    const parts = await this.#passed(pending, { now: await this.#tableOf(entry), before });
    if (parts === undefined) return pending;
    if (parts.passed.lines.length > 0) await this.lines(path, rows, parts.passed);
    return parts.kept;
  }

  #found(
    { path, shapes }: Timeline,
    at: number,
    { lines }: PendingLines,
    how: Pick<LineSource, "kind" | "first">,
  ): void {
    const shape = shapes[at];
    if (shape === undefined || lines.length === 0) return;
    const key = JSON.stringify([how, shape.iteration, path]);
    const source = this.#sources.get(key) ?? { ...how, shape, path };
    this.#sources.set(key, source);
    for (const line of lines) this.#ofLine.set(line, source);
  }
}

function isSameFile({ entry }: IterationRow, { hash }: Entry): boolean {
  return entry?.kind === "file" && entry.hash === hash;
}

function wait(waiting: Waiting, at: number, pending: PendingLines): void {
  if (pending.lines.length > 0) waiting.set(at, [...(waiting.get(at) ?? []), pending]);
}

/** Merges pending lines of the same content, in the order of their places in this content. */
function joined(a: PendingLines, b: PendingLines): PendingLines {
  const all = [a, b].flatMap(({ at, lines }) => at.map((place, i) => [place, lines[i] ?? 0] as const));
  all.sort(([one], [other]) => one - other);
  return { at: all.map(([place]) => place), lines: all.map(([, line]) => line) };
}

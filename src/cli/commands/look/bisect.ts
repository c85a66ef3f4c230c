import { join, relative } from "node:path";
import { EXIT } from "../../../api/problems.ts";
import type { ChangeShape, LogEventShape } from "../../../api/shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { bisect as nextStep, bounds, stepsFor, type Verdict } from "../../../core/values/bisection.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { RecordBody } from "../../../core/values/event.ts";
import { printable, shownCommand } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";
import { isThere } from "../../../process/user-files.ts";
import { changeLines, countsOf } from "../../render/changes.ts";
import { ago, counted } from "../../render/words.ts";
import type { CommandContext } from "../../support/context.ts";
import { dependenciesOf, type Tested, TestCopies, TestInterrupted } from "../../support/test-copies.ts";

const MOST_CHANGES = 20;
const SIGNAL_EXIT = 130;
/** The maximum number of events that one call reads. */
const PAGE = 5_000;

/**
 * A commit (events that were written together) that changed files. `seq` is the seq of the commit's last event. `event`
 * is the commit's first event that changes a file.
 */
interface Point {
  readonly seq: number;
  readonly event: LogEventShape;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * Searches for the first recorded change after which a test fails. The test runs in copies of recorded states, never in
 * the workspace's own folder.
 */
export async function bisect(context: CommandContext): Promise<number> {
  const { input } = context;
  const command = input.args;
  if ((command[0] ?? "") === "")
    throw usageError(
      "no test to run",
      "chronicle bisect -- <test> [argument...], such as chronicle bisect -- npm test",
    );
  const workspace = await context.reading();
  const range = await rangeOf(context, workspace);
  const points = await pointsIn(workspace, range);
  if (points.length === 0) throw nothingBetween(range);
  const links = await linksOf(context, workspace);
  using copies = new TestCopies(context, workspace, {
    command,
    folder: await folderOf(context, workspace),
    links,
    quiet: input.flag("quiet"),
  });
  try {
    const search = new Search(context, copies, points);
    const found = await search.run(range.from);
    return await report(context, workspace, { ...found, range, links, left: copies.left });
  } catch (error) {
    if (!(error instanceof TestInterrupted)) throw error;
    context.io.endBy(error.signal);
    return SIGNAL_EXIT;
  }
}

/** Returns the seqs of the moments `--from` (default: the baseline) and `--to` (default: the last recorded state). */
async function rangeOf(context: CommandContext, workspace: WorkspaceApi): Promise<Range> {
  const { input } = context;
  const [last] = await workspace.log({ reverse: true, limit: 1 });
  const { from_seq: from, to_seq: to } = await workspace.diff(
    input.text("from") ?? "baseline",
    input.text("to") ?? `seq:${last?.seq ?? 0}`,
  );
  if (to < from) throw usageError("--to is before --from", "give the moment at which the test passed as --from");
  return { from, to };
}

function nothingBetween({ from, to }: Range): ChronicleError {
  return new ChronicleError("NOT_FOUND", `no change of files is recorded between seq:${from} and seq:${to}`, {
    hint: "`chronicle snapshot` records the present state; --from and --to name other moments",
  });
}

/** Returns the commits in the range that changed files, oldest first. */
async function pointsIn(workspace: WorkspaceApi, { from, to }: Range): Promise<Point[]> {
  const points: Point[] = [];
  let changed: LogEventShape | undefined;
  for (let next = from + 1; next <= to;) {
    const events = await workspace.log({ from: next, to, limit: PAGE });
    for (const event of events) {
      if (event.record_id.startsWith("file")) changed ??= event;
      if (!isCommitEnd(event) || changed === undefined) continue;
      points.push({ seq: event.seq, event: changed });
      changed = undefined;
    }
    const last = events.at(-1);
    if (last === undefined) break;
    next = last.seq + 1;
  }
  if (changed !== undefined) points.push({ seq: to, event: changed });
  return points;
}

function isCommitEnd({ record_id: id, record }: LogEventShape): boolean {
  return id.startsWith("commit:") || (typeof record === "object" && record !== null && "commit" in record);
}

/**
 * Returns the paths to link into each copy. Throws `USAGE` if a path of `--link` does not exist, or if the workspace
 * has no folder on this machine.
 */
async function linksOf(context: CommandContext, workspace: WorkspaceApi): Promise<readonly string[]> {
  const { input, remote } = context;
  const typed = input.list("link");
  if (remote !== undefined || workspace.path === "") {
    if (typed.length === 0) return [];
    throw usageError("--link needs a folder on this machine, and this history has none", "leave out --link");
  }
  const status = await workspace.status();
  if (status.changes.length > 0)
    context.note(
      `${counted(status.changes.length, "change")} in the folder are not recorded, and are not tested: ` +
        "`chronicle snapshot` records them",
    );
  const paths = context.paths(workspace);
  const named = await Promise.all(typed.map((path) => paths.toWorkspace(path)));
  const missing = named.find((path) => !isThere(`${workspace.path}/${path}`));
  if (missing !== undefined) throw usageError(`--link ${missing} does not exist`, "name a path of the folder");
  return [...new Set([...(input.flag("dependencies") ? dependenciesOf(status) : []), ...named])].sort();
}

/**
 * Returns the path, within a copy, of the folder that corresponds to the current folder. Returns `""` if the current
 * folder is outside of the workspace. The files of each root after the first are in the copy's folder `@<root id>`.
 */
async function folderOf({ io, remote }: CommandContext, workspace: WorkspaceApi): Promise<string> {
  if (remote !== undefined || workspace.path === "") return "";
  const inFirst = innerPath(workspace.path, io.cwd());
  if (inFirst !== undefined || workspace.roots.length < 2) return inFirst ?? "";
  for (const { id, path } of (await workspace.status()).roots) {
    const inner = id === null ? undefined : innerPath(path, io.cwd());
    if (inner !== undefined) return join(`@${id}`, inner);
  }
  return "";
}

/** Returns `path` relative to `folder`; `undefined` if `path` is outside of `folder`. */
function innerPath(folder: string, path: string): string | undefined {
  const inner = relative(folder, path);
  // A name inside of `folder` may also begin with two dots, such as `..x`.
  return inner === ".." || inner.startsWith("../") ? undefined : inner;
}

interface Found {
  /**
   * The result of the search, as in `Bisection`: `at` is the index of the first bad point, and `from` is the index of
   * the first point that may be the cause. `undefined` if the test passes in the last state, or fails in the first.
   */
  readonly found?: { readonly at: number; readonly from: number };
  /** The reason why no change was found, for people. */
  readonly why?: string;
  readonly tested: readonly (Tested & { readonly seq: number })[];
  readonly points: readonly Point[];
}

class Search {
  readonly #context: CommandContext;
  readonly #copies: TestCopies;
  readonly #points: readonly Point[];
  readonly #tested: (Tested & { readonly seq: number })[] = [];

  constructor(context: CommandContext, copies: TestCopies, points: readonly Point[]) {
    this.#context = context;
    this.#copies = copies;
    this.#points = points;
  }

  /** Runs the search. `from`: the seq of the event after which the test is expected to pass. */
  async run(from: number): Promise<Found> {
    const count = this.#points.length;
    const all = { points: this.#points, tested: this.#tested };
    const last = this.#points[count - 1]?.seq ?? from;
    const atEnd = await this.#test(last, () => "the last state");
    if (atEnd === "good") return { ...all, why: `the test passes in the last state (seq:${last})` };
    if (atEnd === "unknown") throw this.#cannotTell(last);
    const verdicts = new Map<number, Verdict>([[count - 1, "bad"]]);
    const atStart = await this.#test(from, () => `the first state; ${leftWords(count, verdicts)}`);
    if (atStart === "bad") return { ...all, why: `the test fails in the first state (seq:${from}) already` };
    if (atStart === "unknown") throw this.#cannotTell(from);
    for (;;) {
      const step = nextStep(count, verdicts);
      if ("found" in step) return { ...all, found: { at: step.found, from: step.from } };
      const { seq } = this.#points[step.next] ?? { seq: last };
      await this.#test(seq, (verdict) => {
        verdicts.set(step.next, verdict);
        return leftWords(count, verdicts);
      });
    }
  }

  /**
   * Tests the state after event `seq`, prints the verdict, and returns it. `remark` returns a text that is printed
   * after the verdict.
   */
  async #test(seq: number, remark: (verdict: Verdict) => string): Promise<Verdict> {
    const tested = await this.#copies.test(seq);
    this.#tested.push({ seq, ...tested });
    const { json, paintErr: paint } = this.#context;
    const words = {
      good: paint("green", "passes"),
      bad: paint("red", "fails"),
      unknown: paint("yellow", "cannot tell"),
    };
    const more = paint("dim", `(${remark(tested.verdict)})`);
    if (!json) this.#context.say(`seq:${seq} ${words[tested.verdict]} ${more}`);
    return tested.verdict;
  }

  #cannotTell(seq: number): ChronicleError {
    const codes = this.#tested.at(-1)?.codes ?? [];
    const why =
      codes.length === 0 ? "the current folder does not exist in this state" : `it ended with ${codes.join(" and ")}`;
    return new ChronicleError("REFUSED", `the test cannot tell in the state at seq:${seq}: ${why}`, {
      hint: "with --from and --to, name states in which the test runs; --link adds files that the test needs",
      data: { seq, exit_codes: codes },
    });
  }
}

/** Returns a text for people: the number of changes that are left, and the estimated number of tests. */
function leftWords(count: number, verdicts: ReadonlyMap<number, Verdict>): string {
  const { good, bad } = bounds(count, verdicts);
  return bad - good === 1
    ? "1 change left"
    : `${bad - good} changes left, about ${counted(stepsFor(bad - good), "test")}`;
}

interface Result extends Found {
  readonly range: Range;
  readonly links: readonly string[];
  readonly left: readonly string[];
}

async function report(context: CommandContext, workspace: WorkspaceApi, result: Result): Promise<number> {
  const { found, points, range } = result;
  const point = found === undefined ? undefined : points[found.at];
  const before = found === undefined ? range.from : (points[found.at - 1]?.seq ?? range.from);
  const culprit = point === undefined ? undefined : await culpritOf(workspace, point, before);
  if (context.json) printJson(context, result, culprit);
  else printText(context, workspace, { ...result, culprit });
  return culprit === undefined ? EXIT.failed : EXIT.done;
}

interface Culprit {
  /**
   * The seq of the event after which the test fails. `before` is the last event of the previous commit that changed
   * files, or the start of the range.
   */
  readonly seq: number;
  readonly before: number;
  readonly ts: string;
  readonly actor: string;
  readonly summary: string;
  readonly action: string | undefined;
  readonly session: string | undefined;
  readonly changes: readonly ChangeShape[];
  /** The command that undoes this work. */
  readonly undo: string;
}

async function culpritOf(workspace: WorkspaceApi, { seq, event }: Point, before: number): Promise<Culprit> {
  const record = event.record as RecordBody;
  const textOf = (name: string): string | undefined => {
    const value = record[name];
    return typeof value === "string" ? value : undefined;
  };
  const [action, session, intent] = [textOf("action"), textOf("session"), textOf("intent")];
  const { changes } = await workspace.diff(`seq:${before}`, `seq:${seq}`, { renames: true });
  const actor = textOf("actor") ?? "somebody";
  return {
    seq,
    before,
    ts: event.ts,
    actor,
    summary: await summaryOf(workspace, { action, session, cause: textOf("cause") ?? "change" }),
    action,
    session,
    changes,
    undo: undoOf({ action, session, intent, before }),
  };
}

interface Owners {
  readonly action?: string | undefined;
  readonly session?: string | undefined;
}

async function summaryOf(
  workspace: WorkspaceApi,
  { action, session, cause }: Owners & { cause: string },
): Promise<string> {
  if (action !== undefined) return (await workspace.showAction(action)).action_summary;
  if (session !== undefined) {
    const { kind, command } = await workspace.session(session);
    return kind === "run" ? shownCommand(command) : kind;
  }
  return cause === "capture" ? "edits that nobody's work was recorded for" : cause;
}

const SHORT_ID = 8;

function undoOf({ action, session, intent, before }: Owners & { intent: string | undefined; before: number }): string {
  if (action !== undefined) return `chronicle undo --action ${action.slice(0, SHORT_ID)}`;
  if (session !== undefined) return `chronicle undo --session ${session.slice(0, SHORT_ID)}`;
  if (intent !== undefined) return `chronicle undo ${intent.slice(0, SHORT_ID)}`;
  return `chronicle restore seq:${before}`;
}

function printJson(
  context: CommandContext,
  { found, why, tested, points, range, links, left }: Result,
  culprit?: Culprit,
): void {
  const first = found === undefined ? undefined : points[found.from]?.seq;
  context.printJson({
    from_seq: range.from,
    to_seq: range.to,
    commits: points.length,
    found:
      culprit === undefined ? null : { ...culprit, action: culprit.action ?? null, session: culprit.session ?? null },
    // If states before the found change could not be tested, the first bad change is between this seq and the found
    // change.
    first_candidate: first ?? null,
    why: why ?? null,
    tested: tested.map(({ seq, verdict, codes }) => ({ seq, verdict, exit_codes: codes })),
    linked: links,
    left_out: left,
  });
}

function printText(
  context: CommandContext,
  workspace: WorkspaceApi,
  result: Result & { culprit: Culprit | undefined },
): void {
  const { culprit, why, links, left, found, points } = result;
  const { paint } = context;
  if (links.length > 0) context.say(paint("dim", `linked into each copy: ${links.map(printable).join(", ")}`));
  if (left.length > 0) context.say(paint("yellow", `not in the copies: ${left.map(printable).join(", ")}`));
  if (culprit === undefined || found === undefined) return context.print(`nothing to find: ${why ?? ""}`);
  const first = points[found.from];
  if (found.from < found.at && first !== undefined)
    context.print(
      paint(
        "yellow",
        `the test cannot tell in the states before: the first bad change is between seq:${first.seq} and seq:${culprit.seq}`,
      ),
    );
  const when = ago(culprit.ts, context.io.now());
  context.print(
    `the test fails since seq:${culprit.seq}, ${when}: ${printable(culprit.actor)}: ${printable(culprit.summary)}`,
  );
  const paths = context.paths(workspace);
  const style = { paint, shown: (path: string) => paths.shown(path), most: MOST_CHANGES };
  for (const line of changeLines(culprit.changes, style)) context.print(line);
  context.print(countsOf(culprit.changes));
  context.print(paint("dim", context.worded(`look at it: chronicle diff seq:${culprit.before} seq:${culprit.seq} -p`)));
  context.print(paint("dim", context.worded(`take it back: ${culprit.undo}`)));
}

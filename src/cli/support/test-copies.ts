import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import type { StatusShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import type { Verdict } from "../../core/values/bisection.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { printable } from "../../process/printable.ts";
import { isThere, makeEmptyFolder, makeLink, removeWholeFolder } from "../../process/user-files.ts";
import { runCommand } from "../../util/run-command.ts";
import { restoredBy } from "./restored-by.ts";
import { startFailureCode } from "./run-unrecorded.ts";
import type { CommandContext } from "./context.ts";

/** Names of folders into which package managers put dependencies. */
const DEPENDENCIES: ReadonlySet<string> = new Set([
  "node_modules",
  "bower_components",
  ".venv",
  "venv",
  "vendor",
  ".bundle",
  "Pods",
  "elm-stuff",
]);

/** The exit code with which a test reports that it cannot judge a state, as for `git bisect run`. */
const CANNOT_TELL = 125;
/** The exit codes of a shell for a command that it cannot start. */
const NOT_STARTED: ReadonlySet<number> = new Set([126, 127]);
/**
 * The number of times that the test is run in each state. One run is not enough, because a flaky test would lead to a
 * wrong answer.
 */
const RUNS = 2;
const OUTPUT_TO_STDERR = ["/bin/sh", "-c", 'exec "$@" >&2', "sh"] as const;
const NO_OUTPUT = ["/bin/sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh"] as const;

export interface Tested {
  readonly verdict: Verdict;
  /** The exit codes of the runs; empty if the folder of the test does not exist in this state. */
  readonly codes: readonly number[];
}

/** The error that a signal has ended a test. The sender of the signal wants the whole command to end. */
export class TestInterrupted extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
    this.signal = signal;
  }
}

const STOPPING: ReadonlySet<string> = new Set(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]);

interface TestHow {
  readonly command: readonly string[];
  /** The folder of the copy in which the test runs, relative to the copy; `""` for the copy itself. */
  readonly folder: string;
  readonly quiet: boolean;
}

/**
 * Runs a test in copies of the workspace's earlier states. Each run has a new copy among the temporary files. The copy
 * has links to the dependencies of the workspace's folder, which are not recorded.
 */
export class TestCopies implements Disposable {
  readonly #context: CommandContext;
  readonly #workspace: WorkspaceApi;
  readonly #how: TestHow;
  readonly #links: readonly string[];
  readonly #scratch = makeEmptyFolder(`chronicle-bisect-${randomBytes(8).toString("hex")}`);
  readonly #left = new Set<string>();
  readonly #forget: () => void;
  #stopped: NodeJS.Signals | undefined;

  /** `links`: the paths of the folder that each copy gets as links. */
  constructor(context: CommandContext, workspace: WorkspaceApi, how: TestHow & { readonly links: readonly string[] }) {
    this.#context = context;
    this.#workspace = workspace;
    this.#how = how;
    this.#links = how.links;
    this.#forget = context.io.onInterrupt((signal) => void (this.#stopped ??= signal));
  }

  /** The paths that are missing from the copies, because they could not be restored for this caller. */
  get left(): readonly string[] {
    return [...this.#left];
  }

  /**
   * Tests the state after event `seq`. Throws `REFUSED` if the runs disagree, `TestInterrupted` after a signal, and the
   * errors of a restore.
   */
  async test(seq: number): Promise<Tested> {
    const codes: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      const code = await this.#runOnce(seq);
      if (code === undefined) return { verdict: "unknown", codes };
      codes.push(code);
      // There is no second run if the test cannot judge the state or does not start.
      if (verdictOf(code) === "unknown") break;
    }
    const [verdict, ...others] = codes.map(verdictOf);
    if (verdict === undefined || others.some((one) => one !== verdict)) throw flaky(seq, codes);
    return { verdict, codes };
  }

  async #runOnce(seq: number): Promise<number | undefined> {
    const copy = join(this.#scratch, "copy");
    try {
      const { skipped } = await restoredBy(this.#context, this.#workspace)(`seq:${seq}`, { to: copy, force: true });
      for (const { path } of skipped) this.#left.add(path);
      for (const path of this.#links) linkInto(copy, { path, from: join(this.#workspace.path, path) });
      this.#mustGoOn();
      const cwd = join(copy, this.#how.folder);
      return isThere(cwd) ? await this.#run(cwd) : undefined;
    } finally {
      removeWholeFolder(copy);
    }
  }

  async #run(cwd: string): Promise<number> {
    const { env } = this.#context.io;
    const output = this.#how.quiet ? NO_OUTPUT : OUTPUT_TO_STDERR;
    try {
      const end = await runCommand([...output, ...this.#how.command], { cwd, env: { ...env, PWD: cwd } });
      if (end.signal !== null && STOPPING.has(end.signal)) this.#stopped ??= end.signal;
      this.#mustGoOn();
      return end.code;
    } catch (error) {
      const code = startFailureCode(error);
      if (code === undefined) throw error;
      return code;
    }
  }

  #mustGoOn(): void {
    if (this.#stopped !== undefined) throw new TestInterrupted(this.#stopped);
  }

  [Symbol.dispose](): void {
    this.#forget();
    try {
      removeWholeFolder(this.#scratch);
    } catch (error) {
      const why = errnoOf(error) ?? String(error);
      this.#context.say(`chronicle: ${printable(this.#scratch)} could not be removed (${why}): remove it yourself`);
    }
  }
}

function verdictOf(code: number): Verdict {
  if (code === CANNOT_TELL || NOT_STARTED.has(code)) return "unknown";
  return code === 0 ? "good" : "bad";
}

function flaky(seq: number, codes: readonly number[]): ChronicleError {
  const message = `the test is flaky: in two copies of the state at seq:${seq}, it ended with ${codes.join(" and ")}`;
  return new ChronicleError("REFUSED", message, {
    hint: "nothing can be concluded from such a test; give a test that always ends alike for the same files",
    data: { seq, exit_codes: codes },
  });
}

/** Makes the link, unless the copy already has something at `path`, or has no parent folder for it. */
function linkInto(copy: string, { path, from }: { readonly path: string; readonly from: string }): void {
  const link = join(copy, path);
  if (!isThere(link) && isThere(dirname(link))) makeLink(from, link);
}

/** Returns the dependencies in the workspace's folder that no capture records. */
export function dependenciesOf({ coverage }: Pick<StatusShape, "coverage">): string[] {
  const isInFirstRoot = (path: string): boolean => !/^(?:@[a-z0-9][a-z0-9-]*:|base64:)/.test(path);
  return coverage.omitted
    .filter(({ path, reason }) => reason === "excluded" && isInFirstRoot(path) && DEPENDENCIES.has(basename(path)))
    .map(({ path }) => path);
}

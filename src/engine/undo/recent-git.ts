import type { RecentGit } from "../../api/recent-api.ts";
import { composeGit, GIT, type GitChange } from "../../core/records/git-record.ts";
import { type ReflogLine, reflogMessages } from "../../core/records/git-reflog.ts";
import { maskLine } from "../../core/shell/mask-secrets.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { loggedGit } from "../capture/git-work.ts";
import type { Context } from "../log/context.ts";
import { gitShape } from "../log/shape.ts";
import type { RecentLine } from "./recent-line.ts";

/** The changes of the state of git that belong to the lines of one page. */
export class PageGit {
  readonly #context: Context;
  readonly #changes: ReadonlyMap<string, readonly GitChange[]>;
  readonly #logs = new Map<WorkspacePath, readonly ReflogLine[]>();

  private constructor(context: Context, changes: ReadonlyMap<string, readonly GitChange[]>) {
    this.#context = context;
    this.#changes = changes;
  }

  /** `context` may be limited to the newest events, if these include the records of all these lines. */
  static async of(context: Context, lines: readonly RecentLine[]): Promise<PageGit> {
    const wanted = new Set(lines.flatMap(workOf).map((id) => `${GIT}${id}`));
    const found = await loggedGit(context, (row) => wanted.has(row.recordId));
    return new PageGit(context, new Map(found.map(({ id, changes }) => [id, changes])));
  }

  /** Returns what the work of a line changed in the state of git; `undefined` if no such change is recorded. */
  of(line: RecentLine): RecentGit[] | undefined {
    const all = workOf(line).flatMap((id) => this.#changes.get(id) ?? []);
    const changes = all.reduce<readonly GitChange[]>((sum, change) => composeGit(sum, [change]), []);
    return changes.length === 0 ? undefined : changes.map((change) => this.#shape(change, line));
  }

  #shape(change: GitChange, { timestamp }: RecentLine): RecentGit {
    const { before, after, path } = change;
    const isSwitch = before.branch !== after.branch;
    const move = { before: before.commit, after: after.commit, isSwitch, ended: Date.parse(timestamp) };
    const messages = isSwitch || before.commit !== after.commit ? reflogMessages(this.#logOf(path), move) : [];
    // Git's messages quote command lines, which may have passwords in addresses.
    const told = messages.slice(-MOST_MESSAGES).map(maskLine);
    return { ...gitShape(change), ...(told.length === 0 ? {} : { messages: told }) };
  }

  #logOf(path: WorkspacePath): readonly ReflogLine[] {
    const known = this.#logs.get(path) ?? this.#context.git.headLog(path);
    this.#logs.set(path, known);
    return known;
  }
}

/** The maximum number of messages of a reflog in one line. The newest messages are used. */
const MOST_MESSAGES = 20;

function workOf({ id, operations = [id] }: RecentLine): readonly string[] {
  return operations;
}

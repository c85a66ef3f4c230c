import { editorFile, isEditorName } from "../../../core/filter/editor-names.ts";
import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import { cameFromOrigin, changeOf, type FileRecord } from "../../../core/values/file-record.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { Context } from "../../../engine/log/context.ts";
import { isInBase } from "../../../engine/log/read-base.ts";
import { readEvent } from "../../../engine/log/read-events.ts";
import { hasWritten } from "../../../engine/replica/journal.ts";
import type { Mirror } from "../../replica/mirror.ts";
import type { SidesOf } from "./git-paths.ts";

export interface LeftOut extends SidesOf {
  /** The paths of the edited files to which the editor's own file belongs. */
  readonly beside: readonly WorkspacePath[];
}

interface Sides {
  readonly path: WorkspacePath;
  readonly local: Entry | undefined;
  readonly remote: Entry | undefined;
}

/**
 * The decision about a path:
 * - `goes`: the path is replicated.
 * - `left-out`: the path stays on its side.
 * - `apart`: the path is replicated as if it had no base, because neither side has received the path from the other.
 */
export type Judged = "goes" | "left-out" | "apart";

/** A recorded state. `wasSent` is true if the state came from the other side; `undefined` if its source is unknown. */
interface State {
  readonly entry: Entry | undefined;
  readonly wasSent: boolean | undefined;
}

interface Past {
  /** True if one side has received a state of the path from the other side. */
  readonly wasSent: boolean;
  /** True if both sides have had the same state of the path, perhaps at different times. */
  readonly wasSame: boolean;
}

/** The maximum number of a path's last changes that are searched. */
const MOST_LOOKED_BACK = 50;

/**
 * Keeps files that editors and desktops make for their own use (see core/filter/editor-names.ts) on their own side. A
 * path that was replicated before counts as a person's file, whatever its name, and is still replicated.
 */
export class EditorFiles {
  readonly #context: Context;
  readonly #mirror: Mirror;
  readonly #sandboxId: string;
  readonly #isOn: boolean;
  readonly #leftOut = new Map<WorkspacePath, LeftOut>();

  constructor(
    context: Context,
    mirror: Mirror,
    { sandboxId, editorFiles }: Pick<ReplicaRecord, "sandboxId" | "editorFiles">,
  ) {
    this.#context = context;
    this.#mirror = mirror;
    this.#sandboxId = sandboxId;
    this.#isOn = editorFiles !== "sync";
  }

  /** True if the entry looks like an editor's own file. Does not check whether the edited file exists. */
  looksMade(entry: Entry): boolean {
    return this.#isOn && editorFile(entry) !== undefined;
  }

  /** The left-out paths among all paths that were judged so far. */
  get leftOut(): ReadonlyMap<WorkspacePath, LeftOut> {
    return this.#leftOut;
  }

  /** Returns the left-out paths that must be judged again because a file to which they belong has changed. */
  besideOf(touched: ReadonlySet<WorkspacePath>): WorkspacePath[] {
    return [...this.#leftOut].flatMap(([path, { beside }]) => (beside.some((one) => touched.has(one)) ? [path] : []));
  }

  async judge(sides: Sides): Promise<Judged> {
    const { path, local, remote } = sides;
    if (!isEditorName(path) || sameEntry(local, remote)) {
      this.#leftOut.delete(path);
      return "goes";
    }
    const found = this.#isOn ? await this.#look(sides) : undefined;
    const past = await this.#past(path);
    if (found !== undefined && !past.wasSent) {
      this.#leftOut.set(path, found);
      return "left-out";
    }
    this.#leftOut.delete(path);
    return past.wasSent || past.wasSame ? "goes" : "apart";
  }

  /**
   * True if a change stays in this folder and is not sent, because the changed path is an editor's own file. `entry` is
   * `undefined` for a deletion.
   */
  async keepsHere(path: WorkspacePath, entry: Entry | undefined): Promise<boolean> {
    if (!this.#isOn || !isEditorName(path)) return false;
    const remote = (await this.#mirror.iterationAt(path, this.#mirror.head.seq))?.entry;
    const isNothing = entry === undefined && remote === undefined;
    if (sameEntry(entry, remote) && !isNothing) return false;
    const isMade = isNothing || (await this.#look({ path, local: entry, remote })) !== undefined;
    return isMade && !(await this.#past(path)).wasSent;
  }

  /**
   * Judges a path by its present states only. Returns `undefined` if an entry at the path is not an editor's own file,
   * or if an edited file to which the editor's own file belongs is missing.
   */
  async #look({ path, local, remote }: Sides): Promise<LeftOut | undefined> {
    const present = [local, remote].filter((one) => one !== undefined);
    const made = present.map((entry) => editorFile(entry));
    if (made.length === 0 || made.includes(undefined)) return undefined;
    const beside = [...new Set(made.flatMap((one) => one?.beside ?? []))].filter((one) => one !== path);
    for (const one of beside) if (!(await this.#isFile(one))) return undefined;
    return { here: local !== undefined, there: remote !== undefined, beside };
  }

  /**
   * True if one of the sides has a file at the path. Checks both sides, because the file can be missing in the folder
   * for a moment.
   */
  async #isFile(path: WorkspacePath): Promise<boolean> {
    const { index } = this.#context;
    const here = await index.iterationAt(path, (await index.head()).seq);
    if (here?.entry?.kind === "file") return true;
    return (await this.#mirror.iterationAt(path, this.#mirror.head.seq))?.entry?.kind === "file";
  }

  /**
   * Judges the past of a path. A base of the log does not say who made a state. A state that both sides have had, and
   * that exists on one side only in a base, therefore counts as sent.
   */
  async #past(path: WorkspacePath): Promise<Past> {
    const [there, here] = [await this.#thereOnce(path), await this.#hereOnce(path)];
    const isSame = (a: State, b: State): boolean => a.entry !== undefined && sameEntry(a.entry, b.entry);
    const pairs = there.flatMap((a) => here.flatMap((b) => (isSame(a, b) ? [[a, b] as const] : [])));
    const isTold = [...there, ...here].some(({ wasSent }) => wasSent === true);
    const isUnknown = pairs.some(([a, b]) => a.wasSent === undefined || b.wasSent === undefined);
    return { wasSent: isTold || isUnknown, wasSame: pairs.length > 0 };
  }

  async #thereOnce(path: WorkspacePath): Promise<State[]> {
    const found: State[] = [];
    for (let seq = this.#mirror.head.seq; seq > 0 && found.length < MOST_LOOKED_BACK;) {
      const row = await this.#mirror.iterationAt(path, seq);
      if (row === undefined) break;
      const record = await this.#mirror.record(row.seq);
      found.push({ entry: row.entry, wasSent: record && (await this.#isOurs(path, record)) });
      seq = row.seq - 1;
    }
    return found;
  }

  /**
   * True if this folder wrote the state. An event with this replica's id is certainly the folder's. Another id may be
   * an earlier id of this folder. An event with another id counts as the folder's if event `replica.localSeq` of the
   * folder's own log recorded the same state.
   */
  async #isOurs(path: WorkspacePath, { entry, replica }: FileRecord): Promise<boolean> {
    if (replica === undefined || replica.id === this.#sandboxId) return replica !== undefined;
    if (!(await hasWritten(this.#context, replica.localSeq, path))) return false;
    return sameEntry((await this.#context.index.iterationAt(path, replica.localSeq))?.entry, entry);
  }

  async #hereOnce(path: WorkspacePath): Promise<State[]> {
    const { index } = this.#context;
    const found: State[] = [];
    for (const { seq, entry } of (await index.iterations(path)).slice(-MOST_LOOKED_BACK)) {
      const row = await index.locate(seq);
      const event = row === undefined || isInBase(row) ? undefined : await readEvent(this.#context, row);
      const file = event === undefined ? undefined : changeOf(event, path);
      found.push({ entry, wasSent: file === undefined ? undefined : cameFromOrigin(file) });
    }
    return found;
  }
}

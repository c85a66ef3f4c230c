import { changeOf } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { holdsSeq } from "../../core/values/seq-ranges.ts";
import type { OwnEvents } from "../facts/own-work.ts";
import { type Owners, ownersIn } from "../facts/owners.ts";
import { undoneBy, type UndoneEvents } from "../facts/undone-events.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import type { Context } from "../log/context.ts";
import { readEvent } from "../log/read-events.ts";
import { listOperations } from "./operations.ts";
import { ownPathsOf } from "./recent-paths.ts";
import type { RecentLine } from "./recent-line.ts";

/** The part of some changes that is undone. */
export type HowUndone = "yes" | "part" | "no";

/** Finds out how much of some work is undone: all files, some of them, or only some hunks of a file. */
export class UndoneParts {
  readonly #context: Context;
  readonly #owners: Owners;
  readonly #taken: UndoneEvents;

  private constructor(context: Context, owners: Owners, taken: UndoneEvents) {
    this.#context = context;
    this.#owners = owners;
    this.#taken = taken;
  }

  /** `operations`: operations that include all undos of the work. */
  static async of(context: Context, operations?: readonly LoggedOperation[]): Promise<UndoneParts> {
    const owners = await ownersIn(context);
    return new UndoneParts(context, owners, undoneBy(operations ?? (await listOperations(context)), owners));
  }

  /** Returns how much of these events is undone. */
  async ofEvents({ byPath }: Pick<OwnEvents, "byPath">): Promise<HowUndone> {
    const found = new Set<HowUndone>();
    for (const [path, seqs] of byPath) {
      for (const seq of seqs) found.add(await this.#ofEvent(path, seq));
      if (found.size > 1) return "part";
    }
    const [only = "no"] = found;
    return only;
  }

  /** True if something in the work of a line is undone. */
  async hasUndone(line: RecentLine): Promise<boolean> {
    const { id, fromSeq, seq, operations = [id] } = line;
    if (!this.#taken.isAny || !this.#taken.mayTouch(fromSeq + 1, seq)) return false;
    for (const [path, { first, last }] of await ownPathsOf(this.#context, line)) {
      if (!this.#taken.mayTouch(first, last)) continue;
      for (const row of await this.#context.index.iterations(path)) {
        if (row.seq < first || row.seq > last) continue;
        if ((await this.#ofEvent(path, row.seq, new Set(operations))) !== "no") return true;
      }
    }
    return false;
  }

  /**
   * Returns how much of an event is undone. `only`: the ids of the work whose events count. Any other event counts as
   * not undone.
   */
  async #ofEvent(path: WorkspacePath, seq: number, only?: ReadonlySet<string>): Promise<HowUndone> {
    if (!this.#taken.mayTouch(seq, seq)) return "no";
    const row = await this.#context.index.locate(seq);
    const record = row === undefined ? undefined : changeOf(await readEvent(this.#context, row), path);
    if (record === undefined) return "no";
    if (only !== undefined && !this.#owners.of(record).some((one) => only.has(one))) return "no";
    if (this.#taken.holds(seq, record, path)) return "yes";
    return this.#taken.partsAt(path).some(({ took }) => holdsSeq(took, seq)) ? "part" : "no";
  }
}

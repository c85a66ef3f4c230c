import fc from "fast-check";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { UndoShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { project, put } from "../helpers/engine-sweep.ts";
import { found } from "./model-expect.ts";

const PATHS = ["a.log", "b.log", "c.log", "d.log", "e.log", "t.txt", "u.txt"];
const FOLDER = { folder: 0o755 };

type Step =
  | { readonly kind: "write"; readonly path: number; readonly size: number }
  | { readonly kind: "run" | "action"; readonly paths: readonly number[]; readonly removes: boolean }
  | { readonly kind: "undo"; readonly pick: number }
  | { readonly kind: "redo" | "turn" | "gc" | "compact" | "drop" | "restart" }
  | { readonly kind: "budget"; readonly kib: number };

const paths = fc.uniqueArray(fc.nat(PATHS.length - 1), { minLength: 1, maxLength: 3 });
const size = fc.constantFrom(10, 700, 1_500, 4_000);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("write" as const), path: fc.nat(PATHS.length - 1), size }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom("run" as const, "action" as const), paths, removes: fc.boolean() }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("undo" as const), pick: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("redo" as const, "turn" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("gc" as const, "gc" as const, "compact" as const, "drop" as const, "restart" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("budget" as const), kib: fc.constantFrom(2, 6, 12, 0) }) },
);

/** What some work has done to a path. `undefined`: the path is absent. */
interface Done {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

interface Work {
  readonly by: "action" | "session";
  readonly id: string;
  readonly done: readonly Done[];
}

function isIgnored(path: string): boolean {
  return path.endsWith(".log");
}

/** Plays a history with a budget for private contents, and checks each step. */
export class BudgetPlay {
  readonly disk = SimDisk.fromTree({
    "/proj/.gitignore": "*.log\n",
    "/store": FOLDER,
    "/config": FOLDER,
    "/root": FOLDER,
  });
  readonly counts = { undos: 0, exact: 0, named: 0, givenUp: 0 };
  #budget: number;
  /** True if work may have been done for which a file did not fit into the budget. */
  #wasTooSmall = false;
  #ids = 0;
  #words = 0;
  #store: StoreApi | undefined;
  #workspace: WorkspaceApi | undefined;
  #command: () => void = () => undefined;
  /** The work that can be undone. */
  #works: Work[] = [];
  #undone: { readonly id: string; readonly done: readonly Done[] } | undefined;

  constructor(kib: number) {
    this.#budget = kib * 1024;
  }

  get workspace(): WorkspaceApi {
    if (this.#workspace === undefined) throw new Error("not open");
    return this.#workspace;
  }

  async begin(): Promise<void> {
    for (const path of PATHS) put(this.disk, `/proj/${path}`, this.#text(800));
    await this.open();
  }

  async open(): Promise<void> {
    this.#noteBudget();
    this.#ids += 10_000;
    this.#store = await openSimStore(this.disk, {
      firstId: this.#ids,
      retention: { max_private_bytes: this.#budget, max_snapshots: 0 },
      command: () => {
        this.#command();
        return 0;
      },
    });
    this.#workspace = await this.#store.open({ folder: "/proj", create: true });
  }

  async close(): Promise<void> {
    await this.#workspace?.close();
    await this.#store?.close();
  }

  #read(path: string): string | undefined {
    return project(this.disk)[path];
  }

  /** Text that no other file has, and that does not compress well. */
  #text(length: number): string {
    this.#words += 1;
    let [text, state] = ["", this.#words * 7_919];
    while (text.length < length) {
      state = (state * 48_271) % 2_147_483_647;
      text += state.toString(36);
    }
    return `${text}\n`;
  }

  #change(path: string, removes: boolean): void {
    const at = `/proj/${path}`;
    if (!removes) put(this.disk, at, this.#text(800));
    else if (this.disk.lstat(at) !== undefined) {
      this.disk.unlink(at);
      this.disk.syncFolder("/proj");
    }
  }

  #changeAll(names: readonly string[], removes: boolean): Done[] {
    return names.map((path) => {
      const before = this.#read(path);
      this.#change(path, removes);
      return { path, before, after: this.#read(path) };
    });
  }

  async perform(what: Step): Promise<void> {
    const { workspace } = this;
    switch (what.kind) {
      case "write": {
        put(this.disk, `/proj/${PATHS[what.path]}`, this.#text(what.size));
        return;
      }
      case "run":
      case "action": {
        return this.#work(what);
      }
      case "undo": {
        return this.#undo(what.pick);
      }
      case "redo": {
        return this.#redo();
      }
      case "turn": {
        await workspace.startTurn({ session: "s", turn: `t${(this.#words += 1)}`, prompt: this.#text(600) });
        await workspace.endSession("s");
        return this.#fits();
      }
      case "budget": {
        this.#budget = what.kib * 1024;
        await this.close();
        await this.open();
        await this.workspace.prune({ keepLast: 1_000 });
        return this.#fits();
      }
      case "restart": {
        await this.close();
        return this.open();
      }
      default: {
        return this.#upkeep(what.kind);
      }
    }
  }

  async #upkeep(kind: "gc" | "compact" | "drop"): Promise<void> {
    if (kind === "gc") await this.workspace.gc();
    else await this.workspace.compact({ dropArchive: kind === "drop" });
    // Work before a compaction without its archive cannot be selected any more.
    if (kind === "drop") [this.#works, this.#undone] = [[], undefined];
    found((await this.workspace.verify()).problems).toEqual([]);
  }

  async #work({ kind, paths: picked, removes }: Extract<Step, { readonly removes: boolean }>): Promise<void> {
    const names = picked.map((at) => PATHS[at] ?? "");
    let done: Done[] = [];
    if (kind === "run") {
      this.#command = () => (done = this.#changeAll(names, removes));
      const { session } = await this.workspace.run({ command: ["change"] });
      this.#works.push({ by: "session", id: session.session_id, done });
    } else {
      const payload = { command: `${removes ? "rm -f" : "touch"} ${names.join(" ")}` };
      const action = await this.workspace.snapshotAction({ type: "run_command", payload, onFailure: "warn" });
      done = this.#changeAll(names, removes);
      await this.workspace.finishAction(action?.id ?? "");
      this.#works.push({ by: "action", id: action?.id ?? "", done });
    }
    await this.#fits();
  }

  async #undo(pick: number): Promise<void> {
    const work = this.#works[this.#works.length - 1 - pick];
    if (work === undefined) return;
    this.#works = this.#works.filter((one) => one !== work);
    const done = work.done.filter(({ path, after }) => this.#read(path) === after);
    const undone = await this.workspace.undo({ [work.by]: work.id });
    this.#undone = undone.undo_id === null ? undefined : { id: undone.undo_id, done };
    await this.#judge(undone, done, ({ before }) => before);
    await this.#fits();
  }

  async #redo(): Promise<void> {
    const last = this.#undone;
    this.#undone = undefined;
    if (last === undefined) return;
    const done = last.done.filter(({ path, before }) => this.#read(path) === before);
    const redone = await this.workspace.redo({ operation: last.id });
    await this.#judge(redone, done, ({ after }) => after);
    await this.#fits();
  }

  async #judge(
    { skipped, notes }: UndoShape,
    done: readonly Done[],
    wanted: (one: Done) => string | undefined,
  ): Promise<void> {
    this.counts.undos += done.length > 0 ? 1 : 0;
    const givenUp = (await this.#kept())?.given_up;
    for (const one of done) {
      // A new ignored file is neither undone nor named (docs/limits.md).
      const isNew = one.before === undefined && isIgnored(one.path);
      if (isNew || this.#read(one.path) === wanted(one)) continue;
      const isNamed = skipped.some(({ path }) => path === one.path) || notes.some((note) => note.includes(one.path));
      found([one.path, isNamed, givenUp !== undefined || this.#wasTooSmall]).toEqual([one.path, true, true]);
      found(isIgnored(one.path)).toBe(true);
      this.counts.named += 1;
    }
    this.counts.exact += skipped.length === 0 ? 1 : 0;
  }

  /** Notes whether the budget is so small that what a single piece of work keeps may not fit. */
  #noteBudget(): void {
    if (this.#budget > 0 && this.#budget < 12 * 1024) this.#wasTooSmall = true;
  }

  async #kept() {
    return (await this.#store?.du())?.kept_beside?.budgets[0];
  }

  async #fits(): Promise<void> {
    const kept = await this.#kept();
    if (kept === undefined) return;
    this.counts.givenUp = Math.max(this.counts.givenUp, kept.given_up?.records ?? 0);
    if (this.#budget > 0) found(kept.used_bytes).toBeLessThanOrEqual(this.#budget);
  }

  async end(): Promise<void> {
    found((await this.workspace.verify()).problems).toEqual([]);
    await this.workspace.gc();
    found((await this.workspace.verify()).problems).toEqual([]);
    await this.close();
  }
}

/** A history, and the budget with which it begins. */
export const budgetHistories = fc.record({
  kib: fc.constantFrom(2, 6, 12),
  script: fc.array(step, { minLength: 20, maxLength: 40 }),
});

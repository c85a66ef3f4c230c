import { createHash } from "node:crypto";
import type { FileWriteShape } from "../../src/api/file-api.ts";
import type { IterationShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Hash of the content after each iteration of a path; `null`: deleted. */
type Told = (string | null)[];

/** What went wrong, to be seen at the end. */
export type Complaint = string;

/**
 * A client that writes without end to paths of its own, and remembers what each must have become: every call names itself,
 * is said again until it is answered, and counts once.
 */
export class WriteClient {
  /** Calls that were answered. */
  answered = 0;
  /** Changes of which the server could not say how far they came, and which had to be looked up. */
  unknown = 0;
  readonly #workspace: WorkspaceApi;
  readonly #name: string;
  readonly #random: () => number;
  readonly #told = new Map<string, Told>();
  readonly #doing: string[] = [];
  #contents = 0;

  constructor(workspace: WorkspaceApi, name: string, random: () => number) {
    this.#workspace = workspace;
    this.#name = name;
    this.#random = random;
  }

  /** Until it is told to end. */
  async run(ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      try {
        await this.#one();
      } catch (error) {
        throw new Error(`${this.#name}: ${this.#doing.slice(-8).join("; ")}`, { cause: error });
      }
    }
  }

  /** What is recorded against what was answered. */
  async complaints(recorded: WorkspaceApi): Promise<Complaint[]> {
    const found: Complaint[] = [];
    for (const [path, told] of this.#told) {
      const iterations = await recorded.history(path);
      const seen = iterations.map(({ deleted, hash }) => (deleted === true ? null : hash));
      if (JSON.stringify(seen) !== JSON.stringify(told)) {
        const at = seen.findIndex((hash, i) => hash !== told[i]);
        const [from, to] = [Math.max(0, at - 4), at + 5];
        const said = `answered ${shown(told.slice(from, to))}, recorded ${shown(seen.slice(from, to))}`;
        found.push(
          `${path}: of ${told.length} and ${seen.length}, from ${from} on: ${said}; ${origins(iterations.slice(from, to))}`,
        );
      }
    }
    return found;
  }

  #path(): string {
    return `${this.#name}/f${Math.floor(this.#random() * 4)}`;
  }

  #last(path: string): string | null {
    return this.#told.get(path)?.at(-1) ?? null;
  }

  #tell(path: string, hash: string | null): void {
    this.#told.set(path, [...(this.#told.get(path) ?? []), hash]);
  }

  async #one(): Promise<void> {
    const path = this.#path();
    const dice = this.#random();
    if (this.#last(path) === null || dice < 0.45) await this.#put(path);
    else if (dice < 0.55) await this.#delete(path);
    else if (dice < 0.7) await this.#move(path);
    else if (dice < 0.85) await this.#act(path);
    else await this.#putAndUndo(path);
    this.answered += 1;
  }

  async #put(path: string): Promise<FileWriteShape> {
    const content = `${this.#name} ${(this.#contents += 1)}`;
    this.#doing.push(`put ${path} ${sha(content).slice(0, 6)} on ${this.#last(path)?.slice(0, 6) ?? "-"}`);
    const before = this.#last(path);
    const ifMatch = before ?? "none";
    const done = await this.#workspace.putFile(path, Buffer.from(content), this.#random() < 0.5 ? { ifMatch } : {});
    this.#tell(path, sha(content));
    return done;
  }

  async #delete(path: string): Promise<void> {
    this.#doing.push(`delete ${path}`);
    await this.#workspace.deleteFile(path);
    this.#tell(path, null);
  }

  async #move(from: string): Promise<void> {
    const to = this.#path();
    if (to === from) return;
    const hash = this.#last(from);
    this.#doing.push(`move ${from} ${to}`);
    await this.#workspace.moveFile(from, to, { overwrite: true });
    this.#tell(from, null);
    this.#tell(to, hash);
  }

  /** An action around a write, and mostly back. */
  async #act(path: string): Promise<void> {
    const before = this.#last(path);
    const action = await this.#surely(() =>
      this.#workspace.snapshotAction({ type: "write_file", payload: { path }, session: this.#name, pid: null }),
    );
    await this.#put(path);
    const isFinished =
      action !== null &&
      action !== undefined &&
      (await this.#surely(() => this.#workspace.finishAction(action.id))) !== undefined;
    if (!isFinished) return this.#abandon();
    if (this.#random() < 0.7) await this.#back(path, before, () => this.#workspace.undo({ action: action.id }));
  }

  /** One that may have begun, or not have ended, would be taken for the author of what comes next. */
  async #abandon(): Promise<void> {
    const abandon = (): Promise<unknown> => this.#workspace.abandonActions({ session: this.#name });
    while ((await this.#surely(abandon)) === undefined);
  }

  async #putAndUndo(path: string): Promise<void> {
    const before = this.#last(path);
    const { undo_id: operation } = await this.#put(path);
    if (operation !== null) await this.#back(path, before, () => this.#workspace.undo({ operation }));
  }

  async #back(path: string, before: string | null, undo: () => Promise<unknown>): Promise<void> {
    this.#doing.push(`undo ${path} to ${before?.slice(0, 6) ?? "-"}`);
    const done = await this.#surely(undo);
    this.#doing.push(done === undefined ? "(nobody knows)" : JSON.stringify(done));
    // What was cut off is finished before the next change: this is one.
    if (done === undefined) await this.#workspace.makeFolder(`${this.#name}/after-${this.#contents}`);
    if (done !== undefined || (await this.#now(path)) === before) this.#tell(path, before);
  }

  async #now(path: string): Promise<string | null> {
    const last = (await this.#workspace.history(path)).at(-1);
    return last === undefined || last.deleted === true ? null : last.hash;
  }

  /** `undefined`: it was begun when the server was killed, and is not done again under its key. */
  async #surely<T>(change: () => Promise<T>): Promise<T | undefined> {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof ChronicleError) || error.data["field"] !== "Idempotency-Key") throw error;
      this.unknown += 1;
      return undefined;
    }
  }
}

/** Where iterations come from. */
function origins(iterations: readonly IterationShape[]): string {
  const own = iterations.map(({ seq, timestamp, cause, actor, action, replica }) =>
    JSON.stringify({ seq, timestamp, cause, actor, action, replica }),
  );
  return own.join(" ");
}

function shown(told: Told): string {
  return told.map((hash) => hash?.slice(0, 6) ?? "-").join(" ");
}

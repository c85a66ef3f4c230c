import type { WorkspacePath } from "../../core/values/path.ts";
import type { ApplyRoot, Step } from "./apply-step.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { foldersWith, parentOf, pathFromBytes, pathToBytes } from "../../core/values/path.ts";

const GONE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/**
 * Makes folders writable for the duration of an apply, and restores their modes afterwards. Before an existing folder
 * is made writable, its mode is noted in staging.
 */
export class LooseModes {
  readonly #modes = new Map<ApplyRoot, Map<WorkspacePath, number>>();

  /** Loads the note that an interrupted apply left in staging. */
  load(root: ApplyRoot): void {
    const { staging } = root;
    if (staging.fresh.lstat(staging.notePath) === undefined) return;
    using file = staging.fresh.openRead(staging.notePath);
    const bytes = Buffer.alloc(staging.fresh.fstat(file).size);
    for (let at = 0; at < bytes.length;) {
      const count = staging.fresh.read(file, bytes.subarray(at), at);
      if (count === 0) break;
      at += count;
    }
    this.#modes.set(root, new Map(notedIn(bytes.toString("utf8"))));
  }

  /**
   * Makes a folder writable for its owner. Returns false if the folder is writable already, or if the path is no
   * folder.
   */
  loosen(root: ApplyRoot, folder: WorkspacePath): boolean {
    const stat = root.fs.lstat(folder);
    if (stat?.kind !== "dir" || (stat.mode & 0o700) === 0o700) return false;
    const modes = this.#modes.get(root) ?? new Map<WorkspacePath, number>();
    this.#modes.set(root, modes);
    if (!modes.has(folder)) modes.set(folder, stat.mode);
    this.#note(root, modes);
    root.fs.chmod(folder, stat.mode | 0o700, "dir");
    return true;
  }

  /**
   * Notes the mode that `restore` must set for a new folder. Until `restore`, that folder is writable for its owner.
   */
  owe(root: ApplyRoot, folder: WorkspacePath, mode: number): void {
    if ((mode & 0o700) === 0o700) return;
    const modes = this.#modes.get(root) ?? new Map<WorkspacePath, number>();
    this.#modes.set(root, modes);
    if (!modes.has(folder)) modes.set(folder, mode);
  }

  /** Sets all noted modes again. */
  restore(): void {
    for (const [root, modes] of this.#modes) {
      for (const [folder, mode] of [...modes].toReversed()) {
        try {
          root.fs.chmod(folder, mode, "dir");
        } catch (error) {
          // This apply removed the folder, or somebody moved it away.
          if (!GONE.has(errnoOf(error) ?? "")) throw error;
        }
      }
    }
    this.#modes.clear();
  }

  #note(root: ApplyRoot, modes: ReadonlyMap<WorkspacePath, number>): void {
    const { fresh, notePath } = root.staging;
    const next = `${notePath}.next` as WorkspacePath;
    if (fresh.lstat(next) !== undefined) fresh.unlink(next);
    using file = fresh.create(next, 0o600);
    fresh.write(file, Buffer.from(JSON.stringify([...modes])));
    fresh.sync(file);
    fresh.renameFile(next, notePath);
    // The note and every folder above it must be durable before a folder is made writable.
    for (const folder of foldersWith(notePath)) fresh.syncFolder(folder);
  }
}

/** Calls `act`, which changes the step's folder. On `EACCES`, makes that folder writable and calls `act` again. */
export function loosened(modes: LooseModes, step: Step, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (errnoOf(error) !== "EACCES" || !modes.loosen(step.root, parentOf(step.inner))) throw error;
    act();
  }
}

/**
 * Decodes a note. Leaves out invalid pairs. Returns an empty list for a note that was written only in part. That is
 * safe, because no folder is made writable before its note is synced.
 */
function notedIn(text: string): [WorkspacePath, number][] {
  try {
    const noted = JSON.parse(text) as unknown;
    return Array.isArray(noted) ? noted.flatMap((one) => (isNoted(one) ? [one] : [])) : [];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return [];
  }
}

function isNoted(one: unknown): one is [WorkspacePath, number] {
  if (!Array.isArray(one)) return false;
  const [path, mode] = one as unknown[];
  return typeof path === "string" && isPath(path) && Number.isSafeInteger(mode) && ((mode as number) & ~0o7777) === 0;
}

function isPath(text: string): boolean {
  try {
    pathFromBytes(pathToBytes(text));
    return true;
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    return false;
  }
}

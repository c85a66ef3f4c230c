import { ChronicleError } from "../values/errors.ts";
import { compareNames, MAX_PATH_BYTES, pathToBytes, ROOT, splitRoot, type WorkspacePath } from "../values/path.ts";

/** Throws the error for bytes that are not a base. */
export function notABase(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `not a base: ${reason}`);
}

/** The place of a row. */
export interface RowPlace {
  /** 1 for a path directly in its root. */
  readonly depth: number;
  readonly name: string;
  readonly live: boolean;
  /** True if live rows may be beneath it. */
  readonly liveFolder: boolean;
}

/**
 * Follows the entry rows of a base that is written or read, and enforces their order: each row in its folder, names
 * ascending, no path twice, live rows only in live folders.
 */
export class BaseRows {
  // Indexed by depth; 0 is the root. A row may be the folder of the row after it.
  readonly #paths: WorkspacePath[] = [ROOT];
  readonly #liveFolders: boolean[] = [true];
  readonly #lastNames: (string | undefined)[] = [undefined];
  #depth = 0;

  beginRoot(folder: WorkspacePath): void {
    this.#paths[0] = folder;
    this.#lastNames[0] = undefined;
    this.#depth = 0;
  }

  /** Returns the path of the next row. Throws `INTEGRITY_VIOLATION` if the row may not stand here. */
  enter({ depth, name, live, liveFolder }: RowPlace): WorkspacePath {
    checkName(name);
    if (depth < 1 || depth > this.#depth + 1) notABase(`${JSON.stringify(name)} comes without its folder`);
    const folder = this.#paths[depth - 1] as WorkspacePath;
    const path = (folder === ROOT ? name : `${folder}/${name}`) as WorkspacePath;
    const last = this.#lastNames[depth - 1];
    if (last !== undefined && compareNames(last, name) >= 0) notABase(`${JSON.stringify(path)} is out of order`);
    if (live && this.#liveFolders[depth - 1] !== true) notABase(`${JSON.stringify(path)} lies in no folder`);
    checkLength(path);
    this.#lastNames[depth - 1] = name;
    this.#paths[depth] = path;
    this.#liveFolders[depth] = liveFolder;
    this.#lastNames[depth] = undefined;
    this.#depth = depth;
    return path;
  }
}

function checkName(name: string): void {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0")) {
    notABase(`${JSON.stringify(name)} is not a name`);
  }
}

function checkLength(path: WorkspacePath): void {
  if (path.length * 3 > MAX_PATH_BYTES && pathToBytes(splitRoot(path).path).length > MAX_PATH_BYTES) {
    notABase(`a path is longer than ${MAX_PATH_BYTES} bytes`);
  }
}

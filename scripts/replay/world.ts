import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { LAYOUTS, onDisk, inRoot, type ModelRoot } from "../../test/model/model-roots.ts";
import { isCompared } from "./alike.ts";
import { textOf, touch, type Touch, writeText } from "../../test/model/model-tree.ts";

/** The real disk, with the function that the model's touches need in addition. */
class TouchedDisk extends NodeDisk {
  content(path: string): Buffer | undefined {
    return this.lstat(path)?.kind === "file" ? readFileSync(path) : undefined;
  }
}

const ROOTS = ["proj", "two", "single"];

/**
 * The folders in which one history is played. They have the same path for both programs, because paths are in the log.
 */
export class World {
  readonly at: string;
  readonly roots: readonly ModelRoot[];
  readonly #disk = new TouchedDisk();
  #words = 0;
  /** The clock, in milliseconds since 1970. */
  now = Date.parse("2030-01-01T00:00:00Z");

  constructor(at: string, layout: string) {
    this.at = at;
    this.roots = (LAYOUTS[layout] ?? []).map((root) => ({ ...root, folder: at + root.folder }));
    const folders = ["home", "config", "run", "proj/d", "proj/e", "two/d", "single"];
    for (const folder of folders) mkdirSync(join(at, folder), { recursive: true, mode: 0o755 });
    chmodSync(join(at, "run"), 0o700);
    this.#write("proj/shared", textOf(["a0", "b0", "c0"]));
    this.#write("proj/d/x", textOf(["a0"]));
    this.#write("proj/d/y", textOf([]));
    this.#write("two/shared", textOf(["a0", "b0", "c0"]));
    this.#write("two/d/x", textOf(["a0"]));
    this.#write("single/c", textOf(["a0", "b0", "c0"]));
    this.#write("single/not-tracked", textOf(["a0"]));
  }

  get store(): string {
    return join(this.at, "store");
  }

  get config(): string {
    return join(this.at, "config", "chronicle");
  }

  get home(): string {
    return join(this.at, "home");
  }

  get run(): string {
    return join(this.at, "run");
  }

  #write(path: string, text: string): void {
    writeFileSync(join(this.at, path), text, { mode: 0o644 });
    this.#stamp(join(this.at, path));
  }

  /** Sets the times of a file to shortly before the time of the play. The fraction of the second differs each time. */
  #stamp(path: string): void {
    this.#words += 1;
    const seconds = String(Math.floor(this.now / 1000) - 1 + (this.#words % 1000) / 1000);
    if (this.#disk.lstat(path) !== undefined) lutimesSync(path, seconds, seconds);
  }

  /** Returns a word that was not written before. */
  word(): string {
    this.#words += 1;
    return `w${this.#words}`;
  }

  touch(one: Touch): void {
    const at = onDisk(this.roots, one.path);
    touch({ disk: this.#disk, roots: this.roots }, one, this.word());
    this.#stamp(at);
  }

  /** Writes the `.gitignore` of a root, so that captures leave out this name from now on. */
  rule(root: ModelRoot, name: string): void {
    const at = onDisk(this.roots, inRoot(root, ".gitignore"));
    writeText(this.#disk, at, `${name}\n`);
    this.#stamp(at);
  }

  /** Returns the kind, mode and content of every path that is compared. */
  dump(): Record<string, string> {
    const found: Record<string, string> = {};
    const walk = (path: string): void => {
      const at = join(this.at, path);
      for (const name of readdirSync(at).sort()) {
        const inner = path === "" ? name : `${path}/${name}`;
        if (!isCompared("file", inner) || inner === "run") continue;
        const stat = lstatSync(join(this.at, inner));
        const mode = (stat.mode & 0o7777).toString(8);
        if (stat.isDirectory()) {
          found[inner] = `dir ${mode}`;
          walk(inner);
        } else if (stat.isSymbolicLink()) found[inner] = `-> ${readlinkSync(join(this.at, inner))}`;
        else if (stat.isFile()) found[inner] = `${mode} ${shownBytes(readFileSync(join(this.at, inner)))}`;
        else found[inner] = "special";
      }
    };
    walk("");
    return found;
  }

  /**
   * Removes everything except the folders of the roots, which the next program needs: the log contains their inodes.
   */
  dispose(): void {
    const remove = (path: string): void => rmSync(path, { recursive: true, force: true });
    for (const name of readdirSync(this.at)) {
      const inner = join(this.at, name);
      if (!ROOTS.includes(name)) remove(inner);
      else for (const child of readdirSync(inner)) remove(join(inner, child));
    }
  }
}

/** Returns text unchanged, so that a difference can be read. Returns the length and the SHA-256 of other bytes. */
function shownBytes(bytes: Buffer): string {
  const text = bytes.toString();
  const isText = !/[^\P{Cc}\n\t]/u.test(text) && Buffer.from(text).equals(bytes);
  return isText ? text : `${bytes.length} bytes, ${createHash("sha256").update(bytes).digest("hex")}`;
}

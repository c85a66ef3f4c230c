import type { RuleFile } from "../core/filter.ts";
import type { CompiledFilter, FolderScope } from "../core/ignore.ts";
import type { WorkspacePath } from "../core/path.ts";
import type { FileStat } from "../disk/disk.ts";
import type { ConfinedFs } from "./confined-fs.ts";
import type { KnownRules } from "./stat-cache.ts";
import { errnoOf } from "../core/errors.ts";
import { sha256Bytes } from "../core/hash.ts";
import { childOf } from "../core/path.ts";
import { isRacy, isSameStat } from "./same-stat.ts";

/** One byte more than an ignore file may have: the filter names the ones that are too long. */
const MOST_RULE_BYTES = 1024 * 1024 + 1;

/** Two words that stand for everything that a filter depends on. */
export type RuleMarks = readonly [number, number];

/** The rules that hold for the children of one folder; the scope is made when a name must first be judged. */
export class FolderRules {
  readonly marks: RuleMarks;
  readonly #filter: CompiledFilter;
  readonly #outer: FolderRules | undefined;
  readonly #path: WorkspacePath;
  readonly #files: readonly RuleFile[];
  #scope: FolderScope | undefined;

  /** `options` is what the filter was made of. */
  static root(filter: CompiledFilter, options: string, files: readonly RuleFile[]): FolderRules {
    return new FolderRules({ filter, outer: undefined, path: "" as WorkspacePath, files }, marksOf([options], files));
  }

  private constructor(parts: RuleParts, marks: RuleMarks) {
    this.#filter = parts.filter;
    this.#outer = parts.outer;
    this.#path = parts.path;
    this.#files = parts.files;
    this.marks = marks;
  }

  /** The rules of a folder in this one, given its own ignore files. */
  enter(path: WorkspacePath, files: readonly RuleFile[]): FolderRules {
    const marks = files.length === 0 ? this.marks : marksOf([this.marks.join(), path], files);
    return new FolderRules({ filter: this.#filter, outer: this, path, files }, marks);
  }

  get scope(): FolderScope {
    this.#scope ??= this.#filter.enter(this.#outer?.scope, this.#path, this.#files);
    return this.#scope;
  }
}

interface RuleParts {
  readonly filter: CompiledFilter;
  readonly outer: FolderRules | undefined;
  readonly path: WorkspacePath;
  readonly files: readonly RuleFile[];
}

function marksOf(base: readonly string[], files: readonly RuleFile[]): RuleMarks {
  const texts = files.flatMap((file) => [file.source, file.text]);
  const digest = sha256Bytes(JSON.stringify([...base, ...texts]));
  return [digest.readUInt32LE(0), digest.readUInt32LE(4)];
}

interface RuleReaderParts {
  readonly fs: ConfinedFs;
  /** False: no ignore file rules anything. */
  readonly enabled: boolean;
  /** The ignore file as it was read before. */
  readonly known: (path: WorkspacePath) => KnownRules | undefined;
  readonly startedAtNs: bigint;
}

/**
 * Reads the ignore files of one root's folders. A file whose stat is as it was, and not racily clean, is not read again.
 * As in git, an ignore file that is a link is none.
 */
export class RuleReader {
  readonly #parts: RuleReaderParts;
  /** Every ignore file met, by its path beneath the root; `undefined`: it is no longer there. */
  readonly met = new Map<WorkspacePath, KnownRules | undefined>();

  constructor(parts: RuleReaderParts) {
    this.#parts = parts;
  }

  /** The ignore files that a folder holds, lowest precedence first. */
  read(folder: WorkspacePath): RuleFile[] {
    if (!this.#parts.enabled) return [];
    const paths = [childOf(folder, ".gitignore")];
    if (folder === "") paths.unshift(".git/info/exclude" as WorkspacePath);
    return paths.flatMap((path) => {
      const text = this.#textOf(path);
      return text === undefined ? [] : [{ folder, source: path, text }];
    });
  }

  #textOf(path: WorkspacePath): string | undefined {
    try {
      const stat = this.#parts.fs.peek(path);
      const known = this.#parts.known(path);
      if (stat === undefined || stat.kind !== "file") {
        if (known !== undefined) this.met.set(path, undefined);
        return undefined;
      }
      const rules = known !== undefined && isFresh(known, stat) ? known : this.#load(path);
      this.met.set(path, rules);
      return rules.text;
    } catch (error) {
      // A file that vanished or cannot be read rules nothing, as in git.
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    }
  }

  #load(path: WorkspacePath): KnownRules {
    const { fs, startedAtNs } = this.#parts;
    using file = fs.openRead(path);
    const stat = fs.fstat(file);
    const bytes = Buffer.alloc(Math.min(stat.size, MOST_RULE_BYTES));
    let length = 0;
    while (length < bytes.length) {
      const count = fs.read(file, bytes.subarray(length), length);
      if (count === 0) break;
      length += count;
    }
    // Rules are recorded in text: bytes that are not UTF-8 match nothing, so what they name stays tracked.
    return { stat, text: bytes.toString("utf8", 0, length), racy: isRacy(stat, startedAtNs) };
  }
}

function isFresh(known: KnownRules, stat: FileStat): boolean {
  return !known.racy && isSameStat(known.stat, stat);
}

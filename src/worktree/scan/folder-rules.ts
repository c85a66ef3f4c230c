import type { RuleFile } from "../../core/filter/filter.ts";
import type { CompiledFilter, FolderScope } from "../../core/filter/ignore.ts";
import type { UnappliedRules } from "../../core/records/coverage.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { KnownRules } from "./stat-cache.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { sha256Bytes } from "../../core/values/hash.ts";
import { childOf, decodeName } from "../../core/values/path.ts";
import { MOST_RULE_BYTES } from "../git/git-repository.ts";
import type { MetRepository, RootGit } from "../git/root-git.ts";
import { isRacy, isSameStat } from "../files/same-stat.ts";

/** The rules that begin in a folder, and apply to all contents of the folder. */
export interface RuleGround {
  /** Ignore files, lowest precedence first. */
  readonly files: readonly RuleFile[];
  /**
   * The git repository that begins in the folder. For the root, this may also be a repository that contains the root.
   */
  readonly repository?: MetRepository | undefined;
}

/** A fingerprint of all rules on which the filter of a folder depends, as two 32-bit numbers. */
export type RuleMarks = readonly [number, number];

/** The rules for the children of one folder. The scope is compiled when it is first needed. */
export class FolderRules {
  readonly marks: RuleMarks;
  readonly #filter: CompiledFilter;
  readonly #outer: FolderRules | undefined;
  readonly #path: WorkspacePath;
  readonly #ground: RuleGround;
  #scope: FolderScope | undefined;

  /**
   * Returns the rules for the children of the root's folder. `options`: the options of the filter, as text for the
   * fingerprint.
   */
  static root(filter: CompiledFilter, options: string, ground: RuleGround): FolderRules {
    return new FolderRules({ filter, outer: undefined, path: "" as WorkspacePath, ground }, marksOf([options], ground));
  }

  private constructor(parts: RuleParts, marks: RuleMarks) {
    this.#filter = parts.filter;
    this.#outer = parts.outer;
    this.#path = parts.path;
    this.#ground = parts.ground;
    this.marks = marks;
  }

  enter(path: WorkspacePath, ground: RuleGround): FolderRules {
    const isSame = ground.files.length === 0 && ground.repository === undefined;
    const marks = isSame ? this.marks : marksOf([this.marks.join(), path], ground);
    return new FolderRules({ filter: this.#filter, outer: this, path, ground }, marks);
  }

  get scope(): FolderScope {
    const { files, repository } = this.#ground;
    this.#scope ??= this.#filter.enter(this.#outer?.scope, this.#path, files, repository?.scope);
    return this.#scope;
  }

  /** True if the rules may leave out something in this folder that git tracks. */
  get mayHoldTracked(): boolean {
    const { repository } = this.#ground;
    return repository === undefined ? this.#outer?.mayHoldTracked === true : repository.mayHold;
  }
}

interface RuleParts {
  readonly filter: CompiledFilter;
  readonly outer: FolderRules | undefined;
  readonly path: WorkspacePath;
  readonly ground: RuleGround;
}

function marksOf(base: readonly string[], { files, repository }: RuleGround): RuleMarks {
  const texts = files.flatMap(({ source, text, above }) => [source, text, ...(above === undefined ? [] : [above])]);
  const { isBoundary = false, ignoreCase = false } = repository?.scope ?? {};
  const scope = isBoundary || ignoreCase ? [isBoundary, ignoreCase] : [];
  const digest = sha256Bytes(JSON.stringify([...base, ...texts, ...scope]));
  return [digest.readUInt32LE(0), digest.readUInt32LE(4)];
}

interface RuleReaderParts {
  readonly fs: ConfinedFs;
  /** False if ignore files do not apply. */
  readonly enabled: boolean;
  readonly known: (path: WorkspacePath) => KnownRules | undefined;
  readonly startedAtNs: bigint;
  readonly git: RootGit;
}

/**
 * Reads the ignore files of folders. Uses the known text of a file whose stat is unchanged and not racy. Skips an
 * ignore file that is a link, as git does.
 */
export class RuleReader {
  readonly #parts: RuleReaderParts;
  /**
   * Every ignore file that was met, by its path beneath the root. `undefined`: an ignore file was known at this path,
   * but no ordinary file is there now.
   */
  readonly met = new Map<WorkspacePath, KnownRules | undefined>();
  readonly problems: UnappliedRules[] = [];

  constructor(parts: RuleReaderParts) {
    this.#parts = parts;
  }

  /** Returns the rules that begin in a folder. `mayBegin`: false if no repository can begin there. */
  read(folder: WorkspacePath, mayBegin = true): RuleGround {
    const { enabled, git } = this.#parts;
    if (!enabled) {
      if (mayBegin) git.meet(folder);
      return { files: [] };
    }
    const repository = mayBegin ? git.open(folder) : undefined;
    const paths = [childOf(folder, ".gitignore")];
    if (folder === "") paths.unshift(".git/info/exclude" as WorkspacePath);
    const own = paths.flatMap((path) => {
      const text = this.#textOf(path);
      return text === undefined ? [] : [{ folder, source: path, text }];
    });
    return repository === undefined ? { files: own } : { files: [...repository.rules, ...own], repository };
  }

  #textOf(path: WorkspacePath): string | undefined {
    try {
      const stat = this.#parts.fs.peek(path);
      const known = this.#parts.known(path);
      if (stat === undefined || stat.kind !== "file") {
        if (known !== undefined) {
          this.met.set(path, undefined);
          this.#parts.git.noteChangedRules();
        }
        return undefined;
      }
      const rules = known !== undefined && isFresh(known, stat) ? known : this.#load(path);
      if (rules.text !== known?.text) this.#parts.git.noteChangedRules();
      this.met.set(path, rules);
      return rules.text;
    } catch (error) {
      // A file that vanished or cannot be read has no rules, as in git.
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      if (errno !== "ENOENT") this.problems.push({ source: path, detail: `it cannot be read (${errno})` });
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
    return { stat, text: decodeName(bytes.subarray(0, length)), racy: isRacy(stat, startedAtNs) };
  }
}

function isFresh(known: KnownRules, stat: FileStat): boolean {
  return !known.racy && isSameStat(known.stat, stat);
}

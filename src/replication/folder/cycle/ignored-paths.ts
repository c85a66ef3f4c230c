import type { Entry } from "../../../core/values/entry.ts";
import { DEFAULT_FILTER, type FilterOptions, type RuleFile } from "../../../core/filter/filter.ts";
import { compileFilter, type CompiledFilter, type FolderScope } from "../../../core/filter/ignore.ts";
import { MAX_RULE_FILE_BYTES } from "../../../core/filter/ignore-rules.ts";
import { childOf, foldersAbove, nameOf, parentOf, ROOT, type WorkspacePath } from "../../../core/values/path.ts";
import type { Side } from "../../../core/tree/reconcile.ts";
import type { BlobStore } from "../../../storage/blob-store.ts";
import type { Context } from "../../../engine/log/context.ts";
import type { CycleSides, FileHistory } from "./read-cycle.ts";

export interface IgnoreGround {
  /**
   * The histories that are searched for ignore files. Each history is read as of its seq. An ignore file that one
   * history lacks is looked up in the next history.
   */
  readonly histories: readonly (readonly [FileHistory, number])[];
  readonly blobs: Pick<BlobStore, "open">;
  readonly options: FilterOptions;
}

/**
 * Finds recorded paths that the ignore rules leave out now. Such paths were recorded before the rules named them. The
 * rules of a deleted ignore file still apply if an older history has the file.
 */
export class IgnoredPaths {
  readonly #ground: IgnoreGround;
  readonly #filter: CompiledFilter;
  readonly #rules = new Map<WorkspacePath, readonly RuleFile[]>();
  readonly #scopes = new Map<WorkspacePath, FolderScope>();

  constructor(ground: IgnoreGround) {
    this.#ground = ground;
    this.#filter = compileFilter(ground.options);
  }

  /** Returns the paths of the entries that the ignore rules leave out. */
  async of(entries: Iterable<Pick<Entry, "path" | "kind">>): Promise<ReadonlySet<WorkspacePath>> {
    const all = [...entries];
    await this.#read(new Set(all.flatMap(({ path }) => [ROOT, ...foldersAbove(path)])));
    const ignored = all.filter(({ path, kind }) => {
      return path !== ROOT && !this.#scope(parentOf(path)).tracks(nameOf(path), kind === "dir");
    });
    return new Set(ignored.map(({ path }) => path));
  }

  async #read(folders: Iterable<WorkspacePath>): Promise<void> {
    if (!this.#ground.options.useGitignore) return;
    let missing = [...folders].filter((folder) => !this.#rules.has(folder));
    for (const folder of missing) this.#rules.set(folder, []);
    for (const [history, seq] of this.#ground.histories) {
      const files = missing.map((folder) => childOf(folder, ".gitignore"));
      const rows = files.length === 0 ? [] : await history.iterationsAt(files, seq);
      for (const [i, folder] of missing.entries()) {
        const entry = rows[i]?.entry;
        const text = entry?.kind === "file" ? await this.#text(entry) : undefined;
        if (text !== undefined) this.#rules.set(folder, [{ folder, source: files[i] ?? "", text }]);
      }
      missing = missing.filter((_, i) => rows[i]?.entry === undefined);
    }
  }

  /** Returns the text of an ignore file; `undefined` if the file is too long or its content is not in the store. */
  async #text({ hash, size }: Entry): Promise<string | undefined> {
    if (hash === undefined || size > MAX_RULE_FILE_BYTES) return undefined;
    const reader = await this.#ground.blobs.open(hash);
    if (reader === undefined) return undefined;
    const pieces: Uint8Array[] = [];
    for await (const piece of reader.pieces()) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  }

  #scope(folder: WorkspacePath): FolderScope {
    const known = this.#scopes.get(folder);
    if (known !== undefined) return known;
    const above = folder === ROOT ? undefined : this.#scope(parentOf(folder));
    const scope = this.#filter.enter(above, folder, this.#rules.get(folder) ?? []);
    this.#scopes.set(folder, scope);
    return scope;
  }
}

/**
 * Returns an `IgnoredPaths` for one side. The side's present ignore files apply, and so do the ignore files that were
 * deleted since both sides last agreed.
 */
export function ignoredOn(
  side: Side,
  {
    mirror,
    own,
    applied,
    head,
    local,
    context,
  }: Pick<CycleSides, "mirror" | "own" | "applied" | "head" | "local"> & {
    readonly context: Pick<Context, "blobs" | "worktree">;
  },
): IgnoredPaths {
  const now = side === "local" ? ([own, local] as const) : ([mirror, head] as const);
  const options = context.worktree.roots[0]?.filter ?? DEFAULT_FILTER;
  return new IgnoredPaths({ histories: [now, [mirror, applied]], blobs: context.blobs, options });
}

import type { ChangeShape } from "../../../src/api/shapes.ts";
import { folderAbove, givenPath } from "../parts/given-path.ts";

/** One changed file of some work: its state before the first and after the last of the changes. */
export interface FileChange {
  /** The path in the form that a request needs (see `givenPath`). */
  readonly path: string;
  readonly kind: "created" | "modified" | "deleted" | "permissions" | "renamed";
  readonly entry: ChangeShape["kind"];
  /** The earlier path of a renamed file, and how much of the content is the same, in percent. */
  readonly from?: string;
  readonly similarity?: number;
  /** The hashes of the contents; `""` if there is no content. */
  readonly before: string;
  readonly after: string;
  readonly beforeSize: number;
  readonly afterSize: number;
  /** The numbers of added and removed lines of a modified text, if they could be counted quickly. */
  readonly lines?: { readonly added: number; readonly removed: number };
  readonly permissions?: { readonly before: number; readonly after: number };
  /**
   * True if other work changed the path in between, so that the difference of the two states includes the changes of
   * that work.
   */
  readonly isInterrupted: boolean;
}

/**
 * Returns one change for each path, folder by folder. A renamed file is one change, at its new path.
 */
export function netChanges(changes: readonly ChangeShape[]): FileChange[] {
  const byPath = Map.groupBy(changes, givenPath);
  const sources = new Map(changes.filter(({ renamed_to }) => renamed_to !== undefined).map((one) => [one.path, one]));
  const net: FileChange[] = [];
  for (const [path, own] of byPath) {
    const first = own[0];
    const last = own.at(-1);
    if (first === undefined || last === undefined || last.renamed_to !== undefined) continue;
    // A path that was created and deleted again has no net change.
    if (first.change_type === "created" && last.change_type === "deleted") continue;
    const source = last.from === undefined ? undefined : sources.get(last.from);
    net.push({ ...netOf(path, first, last), isInterrupted: own.length > 1, ...renameOf(last, source) });
  }
  const folders = new Map(net.map(({ path }) => [path, folderAbove(path)]));
  const folderOf = ({ path }: FileChange): string => folders.get(path) ?? "";
  return net.sort((a, b) => compared(folderOf(a), folderOf(b)) || compared(a.path, b.path));
}

function compared(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function netOf(path: string, first: ChangeShape, last: ChangeShape): Omit<FileChange, "isInterrupted"> {
  const { before_permissions: before } = first;
  const { after_permissions: after } = last;
  return {
    path,
    kind: kindOf(first, last),
    entry: last.kind,
    before: first.before_hash,
    after: last.after_hash,
    beforeSize: first.before_size,
    afterSize: last.after_size,
    ...(first === last && last.lines !== undefined ? { lines: last.lines } : {}),
    ...(before === undefined || after === undefined || before === after ? {} : { permissions: { before, after } }),
  };
}

function kindOf(first: ChangeShape, last: ChangeShape): FileChange["kind"] {
  const wasThere = first.change_type !== "created";
  const isThere = last.change_type !== "deleted";
  if (wasThere && !isThere) return "deleted";
  if (!wasThere && isThere) return "created";
  return first === last && first.change_type === "permissions_changed" ? "permissions" : "modified";
}

function renameOf({ from, similarity }: ChangeShape, source: ChangeShape | undefined): Partial<FileChange> {
  if (from === undefined || source === undefined) return {};
  return {
    kind: "renamed",
    from,
    before: source.before_hash,
    beforeSize: source.before_size,
    ...(similarity === undefined ? {} : { similarity }),
  };
}

import type { GrepMatchShape, UnsearchedShape } from "../../api/file-api.ts";
import type { FoundLine, LinePattern } from "../../core/text/line-search.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { exactPath, shownPath } from "../log/shape.ts";

/** A search, after its options have been checked. */
export interface Asked {
  readonly pattern: LinePattern;
  readonly folders: readonly WorkspacePath[];
  readonly filesOnly: boolean;
  readonly limit: number;
}

/**
 * The result of a search. `matches`: the first matches, up to the limit of the search. `total`: the number of all
 * matches. `unsearched`: the iterations that could not be searched.
 */
export interface GrepFound {
  readonly matches: GrepMatchShape[];
  readonly total: number;
  readonly unsearched: readonly Unsearched[];
}

export interface Unsearched {
  readonly row: IterationRow;
  readonly reason: UnsearchedShape["reason"];
}

/** Returns the hash of a file's content; `undefined` for an empty file, and for anything other than a file. */
export function hashOf({ entry }: IterationRow): Hash | undefined {
  return entry?.kind === "file" && entry.size > 0 ? entry.hash : undefined;
}

function pairs(numbers: readonly number[]): number[][] {
  return Array.from({ length: numbers.length / 2 }, (_, i) => numbers.slice(2 * i, 2 * i + 2));
}

/** Returns the shape of a match: of the line `found`, or, if `found` is `undefined`, of the file as a whole. */
export function matchShape(row: IterationRow, found: FoundLine | undefined, isBinary = false): GrepMatchShape {
  return {
    path: shownPath(row.path),
    ...exactPath(row.path),
    iteration: row.iteration,
    line: found?.line ?? null,
    text: found?.text ?? "",
    ...(found?.isCut === true ? { cut: true as const } : {}),
    spans: pairs(found?.spans ?? []),
    ...(isBinary ? { binary: true as const } : {}),
  };
}

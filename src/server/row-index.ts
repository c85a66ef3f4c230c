import type { Method } from "../api/routes/route.ts";
import type { Route } from "../api/routes/row.ts";
import { PathPattern, type PathParams } from "./path-pattern.ts";

/** A row that a request may mean. */
export interface FoundRow {
  readonly row: Route;
  readonly params: PathParams;
}

interface Indexed {
  readonly row: Route;
  readonly pattern: PathPattern;
}

/** Rows that the router cannot tell apart: they begin alike and continue behind a `{path}`. */
export class RowGroup {
  readonly method: Method;
  /** As the router wants it. */
  readonly url: string;
  readonly #rows: readonly Indexed[];

  constructor(method: Method, url: string, rows: readonly Indexed[]) {
    this.method = method;
    this.url = url;
    this.#rows = rows.toSorted((a, b) => b.pattern.weight - a.pattern.weight);
  }

  get takesBytes(): boolean {
    return this.#rows.some(({ row }) => row.bytes !== undefined);
  }

  /** Finds the most specific row that matches. Throws `URIError` for a path that is not percent-encoded UTF-8. */
  find(path: string): FoundRow | undefined {
    for (const { row, pattern } of this.#rows) {
      const params = pattern.match(path);
      if (params !== undefined) return { row, params };
    }
    return undefined;
  }

  /** The row of an operation. */
  named(operation: string): Route | undefined {
    return this.#rows.find(({ row }) => row.operation === operation)?.row;
  }
}

/** The rows, in groups for the router. */
export function groupRows(rows: readonly Route[]): RowGroup[] {
  const groups = Map.groupBy(
    rows.map((row): Indexed => ({ row, pattern: new PathPattern(row.path) })),
    ({ row, pattern }) => `${row.method} ${pattern.forRouter}`,
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [new RowGroup(first.row.method, first.pattern.forRouter, group)];
  });
}

import type { IncomingMessage } from "node:http";
import type { RowGroup } from "./row-index.ts";

/** A node of the tree of paths: the parts that may follow. */
interface Branch {
  readonly fixed: Map<string, Branch>;
  /** Any one part that is not empty. */
  named?: Branch;
  /** The group that ends here. */
  group?: RowGroup;
  /** The group that takes whatever follows. */
  wide?: RowGroup;
}

/** Characters of a URL that must be parsed or decoded. */
const NOT_PLAIN = /[%?#;\\]/;

/**
 * Finds the group of a plain question at a small part of a whole router's cost: a GET without a query, a body, or
 * anything to decode. All other requests, also for paths that do not exist, are left to the router.
 */
export class PlainRoutes {
  readonly #root = newBranch();

  constructor(groups: readonly RowGroup[]) {
    for (const group of groups) if (group.method === "GET") this.#add(group);
  }

  find({ method, url = "", headers }: IncomingMessage): RowGroup | undefined {
    if (method !== "GET" || NOT_PLAIN.test(url)) return undefined;
    if (headers["transfer-encoding"] !== undefined || headers["content-length"] !== undefined) return undefined;
    let branch = this.#root;
    const parts = url.split("/");
    for (const [at, part] of parts.entries()) {
      const next = branch.fixed.get(part) ?? (part === "" ? undefined : branch.named);
      if (next === undefined) return parts.includes("", at) ? undefined : branch.wide;
      branch = next;
    }
    return branch.group;
  }

  #add(group: RowGroup): void {
    let branch = this.#root;
    for (const part of group.url.split("/")) {
      if (part === "*") {
        branch.wide = group;
        return;
      }
      branch = part.startsWith(":") ? (branch.named ??= newBranch()) : branchOf(branch, part);
    }
    branch.group = group;
  }
}

function newBranch(): Branch {
  return { fixed: new Map() };
}

function branchOf({ fixed }: Branch, part: string): Branch {
  const known = fixed.get(part);
  if (known !== undefined) return known;
  const made = newBranch();
  fixed.set(part, made);
  return made;
}

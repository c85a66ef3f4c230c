import type { EntryKind } from "../values/entry.ts";
import { FilterPattern, RuleTest, fastTest, type PathTest } from "./filter-pattern.ts";
import type { WorkspacePath } from "../values/path.ts";

/** Which way a state goes. The replica is the sandbox, or the folder on someone's desk. */
export type ReplicaDirection = "to-replica" | "from-replica";

/** What is asked about. */
export interface FilterSubject {
  readonly path: WorkspacePath;
  readonly kind: EntryKind;
  /** Bytes of content; what is not known is not too large. */
  readonly size?: number;
}

/** A filter with a name. */
export interface FilterPolicy {
  readonly toReplica: readonly string[];
  readonly fromReplica: readonly string[];
  /** Files with more bytes than this are not written back. */
  readonly maxBytesFromReplica?: number;
  /** Does the replica leave out of its captures what `.gitignore` files name? */
  readonly useGitignore: boolean;
}

/** So many simple patterns are asked one after the other; for more, looking names up is faster. */
const MAX_FAST = 12;

/**
 * What is replicated, in each direction: everything, but for what a pattern matches. The patterns of a direction are read
 * like the lines of one `.gitignore` at the workspace's root, in the order in which they were added: the last that matches
 * decides, and what lies in a folder that is filtered out cannot be let through again.
 *
 * A filter withholds contents, never events: a replica that does not get a file still knows that there is one.
 */
export class DirectionalFilter {
  readonly #patterns: Record<ReplicaDirection, FilterPattern[]> = { "to-replica": [], "from-replica": [] };
  readonly #compiled: Partial<Record<ReplicaDirection, PathTest>> = {};
  #maxBytesFromReplica = Infinity;

  /** A filter that does what a policy says. */
  static of(policy: FilterPolicy): DirectionalFilter {
    const filter = new DirectionalFilter();
    for (const text of policy.toReplica) filter.addPattern(new FilterPattern(text), "to-replica");
    for (const text of policy.fromReplica) filter.addPattern(new FilterPattern(text), "from-replica");
    filter.#maxBytesFromReplica = policy.maxBytesFromReplica ?? Infinity;
    return filter;
  }

  /** Adds a pattern for one direction, or for both. */
  addPattern(pattern: FilterPattern, direction?: ReplicaDirection): this {
    for (const one of direction === undefined ? (["to-replica", "from-replica"] as const) : [direction]) {
      this.#patterns[one].push(pattern);
      delete this.#compiled[one];
    }
    return this;
  }

  /** The patterns of a direction, as they were given. */
  patterns(direction: ReplicaDirection): readonly string[] {
    return this.#patterns[direction].map(({ text }) => text);
  }

  /**
   * May this go that way? The patterns are compiled when they are first asked. Throws `LIMIT_EXCEEDED` for more than can
   * be applied (2,000 with wildcards inside, 1 MiB).
   */
  passes(subject: FilterSubject, direction: ReplicaDirection): boolean {
    if (direction === "from-replica" && (subject.size ?? 0) > this.#maxBytesFromReplica) return false;
    return this.passesPath(subject.path, subject.kind === "dir", direction);
  }

  /** `passes`, by the path alone. */
  passesPath(path: string, isFolder: boolean, direction: ReplicaDirection): boolean {
    const test = this.#compiled[direction] ?? this.#compile(direction);
    return path === "" || !test(path, isFolder);
  }

  #compile(direction: ReplicaDirection): PathTest {
    return (this.#compiled[direction] = compilePatterns(this.#patterns[direction]));
  }
}

/** One test for all. Without `!` the order says nothing, so that simple patterns can be asked before the others. */
function compilePatterns(patterns: readonly FilterPattern[]): PathTest {
  const fast: PathTest[] = [];
  const rest: FilterPattern[] = [];
  for (const pattern of patterns) {
    const test = fastTest(pattern);
    if (test === undefined) rest.push(pattern);
    else fast.push(test);
  }
  if (fast.length > MAX_FAST || patterns.some(({ isNegated }) => isNegated)) return ruleTest(patterns);
  if (rest.length > 0) fast.push(ruleTest(rest));
  return anyOf(fast);
}

function ruleTest(patterns: readonly FilterPattern[]): PathTest {
  const rules = new RuleTest(patterns);
  return (path, isFolder) => rules.matches(path, isFolder);
}

function anyOf(tests: readonly PathTest[]): PathTest {
  const [only] = tests;
  if (only === undefined) return () => false;
  if (tests.length === 1) return only;
  return (path, isFolder) => {
    for (const test of tests) if (test(path, isFolder)) return true;
    return false;
  };
}

import type { EntryKind } from "../values/entry.ts";
import { FilterPattern, RuleTest, fastTest, type PathTest } from "./filter-pattern.ts";
import type { WorkspacePath } from "../values/path.ts";

/** The direction in which a state is replicated. The replica is the sandbox, or the folder on a person's machine. */
export type ReplicaDirection = "to-replica" | "from-replica";

export interface FilterSubject {
  readonly path: WorkspacePath;
  readonly kind: EntryKind;
  /** The size of the path's content, in bytes. A path of unknown size never exceeds the limit. */
  readonly size?: number;
}

export interface FilterPolicy {
  /** The patterns of the paths whose contents are not sent to the replica (see `DirectionalFilter`). */
  readonly toReplica: readonly string[];
  /** The patterns of the paths that are not written back from the replica. */
  readonly fromReplica: readonly string[];
  /** The maximum size, in bytes, of a file that is written back. Default: no limit. */
  readonly maxBytesFromReplica?: number;
  /** True if the replica's captures leave out the paths that `.gitignore` files exclude. */
  readonly useGitignore: boolean;
}

/**
 * The maximum number of simple patterns that are tested one after the other. With more patterns, the lookup of names in
 * a `RuleTest` is faster.
 */
const MAX_FAST = 12;

/**
 * Decides which paths are replicated in each direction: all paths except those that a pattern matches. The patterns of
 * a direction are read like the lines of one `.gitignore` at the workspace's root, in the order in which they were
 * added. The last match decides. A path in a folder that is filtered out cannot be let through again.
 *
 * A filter withholds contents, never events. A replica that does not get a file still knows that the file exists.
 */
export class DirectionalFilter {
  readonly #patterns: Record<ReplicaDirection, FilterPattern[]> = { "to-replica": [], "from-replica": [] };
  readonly #compiled: Partial<Record<ReplicaDirection, PathTest>> = {};
  #maxBytesFromReplica = Infinity;

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

  patterns(direction: ReplicaDirection): readonly string[] {
    return this.#patterns[direction].map(({ text }) => text);
  }

  /**
   * Returns true if the subject may be replicated in a direction. The patterns are compiled on first use. Throws
   * `LIMIT_EXCEEDED` if there are more patterns than can be applied (at most 2,000 with wildcards inside, and 1 MiB of
   * text).
   */
  passes(subject: FilterSubject, direction: ReplicaDirection): boolean {
    if (direction === "from-replica" && (subject.size ?? 0) > this.#maxBytesFromReplica) return false;
    return this.passesPath(subject.path, subject.kind === "dir", direction);
  }

  /** Decides like `passes`, but ignores the size. */
  passesPath(path: string, isFolder: boolean, direction: ReplicaDirection): boolean {
    const test = this.#compiled[direction] ?? this.#compile(direction);
    return path === "" || !test(path, isFolder);
  }

  #compile(direction: ReplicaDirection): PathTest {
    return (this.#compiled[direction] = compilePatterns(this.#patterns[direction]));
  }
}

/**
 * Combines the patterns into one test. Simple patterns are tested first, unless there are too many of them (`MAX_FAST`)
 * or a pattern begins with `!`. Without such a pattern, the order of the patterns does not matter.
 */
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

const BUILD_OUTPUT = `
  build/ dist/ out/ target/ obj/ **/bin/Debug/ **/bin/Release/
  .next/ .nuxt/ .output/ .svelte-kit/ .turbo/ .parcel-cache/
  *.o *.obj *.a *.lib *.so *.so.* *.dylib *.dll *.exe *.class *.pyc *.pyo *.pyd *.wasm *.tsbuildinfo`;

const DEPENDENCIES = `
  node_modules/ bower_components/ jspm_packages/ .pnpm-store/ **/.yarn/cache/ vendor/ Pods/
  .venv/ venv/ site-packages/ __pypackages__/ .gradle/ .m2/ **/.cargo/registry/`;

const LARGE_BINARIES = `
  *.zip *.tar *.tgz *.tar.* *.gz *.bz2 *.xz *.zst *.7z *.rar *.jar *.war *.whl *.deb *.rpm *.dmg *.iso *.img
  *.mp4 *.mov *.avi *.mkv *.webm *.mp3 *.wav *.flac
  *.bin *.pt *.pth *.onnx *.safetensors *.gguf *.parquet`;

const TEMPORARY = `
  tmp/ temp/ .tmp/ *.tmp *.temp *.swp *.swo *.swx *~ .#* *.bak *.orig *.part *.crdownload .DS_Store Thumbs.db
  __pycache__/ .cache/ .pytest_cache/ .mypy_cache/ .ruff_cache/ .tox/ .nox/ .eslintcache`;

// `core` is not in the list, because the name is more common for source folders than for dumps.
const DIAGNOSTICS = `
  logs/ *.log *.log.[0-9]* npm-debug.log* core.[0-9]* *.core *.dmp *.hprof *.heapsnapshot *.cpuprofile *.prof *.trace
  *.pid coverage/ .nyc_output/ htmlcov/ .coverage report.[0-9]*.[0-9]*.json`;

/**
 * The filter between an agent's host and a sandbox (`--policy sandbox`). Everything that is tracked is replicated to
 * the sandbox. Everything in the sandbox is replicated back (sources, configuration, documents, images), except build
 * output, dependency folders, large binaries, temporary files, diagnostics, ignored files, and files over 32 MiB.
 */
export const SANDBOX_POLICY: FilterPolicy = {
  toReplica: [],
  fromReplica: [BUILD_OUTPUT, DEPENDENCIES, LARGE_BINARIES, TEMPORARY, DIAGNOSTICS].flatMap((patterns) =>
    patterns.trim().split(/\s+/),
  ),
  maxBytesFromReplica: 32 * 1024 ** 2,
  useGitignore: true,
};

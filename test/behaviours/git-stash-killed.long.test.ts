import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type GitChange, invertGit, sameGitValue, SOFT_GIT_FILES } from "../../src/core/records/git-record.ts";
import type { DiskPath, OpenHow } from "../../src/disk/disk.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { Changed, statesOf } from "../helpers/git-changed.ts";
import { GitProject, hasGit } from "../helpers/git-project.ts";
import { faultsOfGit, seenGit } from "../helpers/git-state.ts";
import { AS_REFTABLE, reftableGit } from "../helpers/reftable-git.ts";

/**
 * An undo of work on the list of stashes is killed before each of its changes of the disk and after each run of git, and
 * is made again. The second attempt must complete it.
 */

/** Of this many steps, the undo is killed at one. `STRIDE=1`: at each one. */
const STRIDE = Number(process.env["STRIDE"] ?? 5);

/** A repository with a commit, three stashes, one edit and one staged edit. */
function repository(how: readonly string[]): GitProject {
  const project = new GitProject(["-b", "main", ...how]);
  project.write("a", "1\n");
  project.write("b", "1\n");
  project.git(["add", "."]);
  project.git(["commit", "-qm", "one"]);
  for (const text of ["s1\n", "s2\n", "s3\n"]) {
    project.write("a", text);
    project.git(["stash", "-q", "-m", text.trim()]);
  }
  project.write("b", "staged\n");
  project.git(["add", "."]);
  return project;
}

/** The point at which a disk, and the git beside it, stop for good. */
class Kill {
  #left: number;

  constructor(left: number) {
    this.#left = left;
  }

  /** Counts one step. From the last step on, each one fails. */
  step(): void {
    this.#left -= 1;
    if (this.#left < 0) throw new Error("killed");
  }

  get isReached(): boolean {
    return this.#left < 0;
  }
}

/** A disk that changes nothing once the process is killed. If `fails`, it cannot put an index into place. */
class KilledDisk extends NodeDisk {
  readonly #kill: Kill;
  readonly #fails: boolean;

  constructor(kill: Kill, fails: boolean) {
    super();
    this.#kill = kill;
    this.#fails = fails;
  }

  override open(path: DiskPath, how: OpenHow, mode?: number): number {
    if (how === "create" || how === "append") this.#kill.step();
    return super.open(path, how, mode);
  }

  /** A kill loses nothing that was written, so nothing must be durable here. */
  override sync(): void {}
  override syncFolder(): void {}

  override write(fd: number, bytes: Uint8Array, position: number | null): number {
    this.#kill.step();
    return super.write(fd, bytes, position);
  }

  override rename(from: DiskPath, to: DiskPath): void {
    this.#kill.step();
    if (this.#fails && to.toString().endsWith("/index")) throw Object.assign(new Error("EIO"), { code: "EIO" });
    super.rename(from, to);
  }

  override unlink(path: DiskPath): void {
    this.#kill.step();
    super.unlink(path);
  }

  override makeFolder(path: DiskPath, mode?: number): void {
    this.#kill.step();
    super.makeFolder(path, mode);
  }

  override removeFolder(path: DiskPath): void {
    this.#kill.step();
    super.removeFolder(path);
  }
}

/** What git says of a repository, without the files of the working tree, which are not part of the change. */
const seen = (project: GitProject): readonly string[] => {
  const lines = seenGit(project);
  return lines.slice(0, lines.indexOf("status"));
};

/** The names in the git folder that an undo must not leave there. */
function leftovers(project: GitProject): readonly string[] {
  const names = readdirSync(join(project.top, ".git"), { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.(?:lock|new)$/.test(name));
}

/** Returns the values of a change that are not as they must be. */
async function wrongValues(project: GitProject, { path, items }: GitChange): Promise<readonly string[]> {
  const hard = items.filter(({ name }) => !SOFT_GIT_FILES.has(name));
  const names = hard.map(({ name }) => name);
  const now = await statesOf(project).valuesOf(path, names);
  return hard.filter(({ name, after }) => !sameGitValue(name, now?.get(name), after)).map(({ name }) => name);
}

function replace(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  spawnSync("cp", ["-a", from, to]);
}

const COMMANDS: readonly (readonly [string, readonly (readonly string[])[]])[] = [
  ["the newest stash is dropped", [["stash", "drop", "-q"]]],
  ["the oldest stash is dropped", [["stash", "drop", "-q", "stash@{2}"]]],
  [
    "all stashes are packed, cleared and made anew beside a branch",
    [
      ["pack-refs", "--all"],
      ["stash", "clear"],
      ["stash", "-q"],
      ["branch", "x"],
    ],
  ],
  [
    "all stashes are cleared, and the index is reset",
    [
      ["stash", "clear"],
      ["reset", "-q"],
    ],
  ],
];

const FORMATS = [
  { format: "files", how: [], git: hasGit ? "" : undefined },
  { format: "a reftable", how: [AS_REFTABLE], git: reftableGit },
] as const;

describe.each(FORMATS)("the list of stashes in $format", ({ how, git }) => {
  beforeAll(() => {
    if (git !== undefined && git !== "") vi.stubEnv("PATH", `${git}${delimiter}${process.env["PATH"]}`);
  });
  afterAll(() => void vi.unstubAllEnvs());

  it.skipIf(git === undefined || how.length > 0)("is left alone while git has the lock of the list", async () => {
    await using project = repository(how);
    const changed = await Changed.by(project, ["stash", "drop", "-q"], ["branch", "x"]);
    const after = seen(project);
    project.write(".git/refs/stash.lock", "");
    expect(await changed.undo()).toBe("refs/stash.lock exists: git is at work, or a git that was killed has left it");
    expect([seen(project), leftovers(project)]).toEqual([after, ["refs/stash.lock"]]);
    rmSync(join(project.top, ".git/refs/stash.lock"));
    expect(await changed.undo()).toBeUndefined();
  });

  it.skipIf(git === undefined).each(COMMANDS)(
    "is completed after %s, if the undo or redo is killed at any step",
    async (_, commands) => {
      await using project = repository([...how, "--template="]);
      const before = seen(project);
      const changed = await Changed.by(project, ...commands);
      const after = seen(project);
      const kept = join(project.base, "kept");
      let points = 0;
      const ways = [
        { change: changed.back, wanted: before },
        { change: invertGit([changed.back])[0] ?? changed.back, wanted: after },
      ];
      for (const { change, wanted } of ways) {
        replace(project.top, kept);
        for (const fails of change.items.some(({ name }) => name === "index") ? [true, false] : [false]) {
          points = (points + 1) % STRIDE;
          for (let at = points, isKilled = true; isKilled; at += STRIDE) {
            replace(kept, project.top);
            const kill = new Kill(at);
            const states = statesOf(project, { disk: new KilledDisk(kill, fails), onRun: () => kill.step() });
            const first = await changed.apply(states, change).catch(() => "killed");
            isKilled = kill.isReached;
            const where = `killed at step ${at}${fails ? " of an attempt that fails" : ""} (${first})`;
            expect(await changed.undo(undefined, change), where).toBeUndefined();
            expect([await wrongValues(project, change), leftovers(project)], where).toEqual([[], []]);
          }
        }
        expect(seen(project)).toEqual(wanted);
        expect(faultsOfGit(project)).toBe("");
      }
    },
  );
});

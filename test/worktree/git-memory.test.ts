import { renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { GitState } from "../../src/core/records/git-record.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import type { DiskPath, FileStat, OpenHow } from "../../src/disk/disk.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import type { KeepContent } from "../../src/worktree/git-states.ts";
import { statesOf, type StatesParts } from "../helpers/git-changed.ts";
import { KINDS, nestedProject } from "../helpers/git-nested-project.ts";
import { hasGit } from "../helpers/git-project.ts";

const SECOND_NS = 1_000_000_000n;

/** A disk that counts the files and folders that are opened. Its file times can be as coarse as seconds. */
class WatchedDisk extends NodeDisk {
  opened = 0;
  readonly #isCoarse: boolean;

  constructor({ isCoarse = false } = {}) {
    super();
    this.#isCoarse = isCoarse;
  }

  override open(path: DiskPath, how: OpenHow, mode?: number): number {
    this.opened += 1;
    return super.open(path, how, mode);
  }

  override lstat(path: DiskPath): FileStat | undefined {
    const stat = super.lstat(path);
    return stat === undefined ? undefined : this.#seen(stat);
  }

  override fstat(fd: number): FileStat {
    return this.#seen(super.fstat(fd));
  }

  #seen(stat: FileStat): FileStat {
    if (!this.#isCoarse) return stat;
    const [mtimeNs, ctimeNs] = [stat.mtimeNs, stat.ctimeNs].map((ns) => ns - (ns % SECOND_NS)) as [bigint, bigint];
    return { ...stat, mtimeNs, ctimeNs };
  }
}

/** Reads the states of a repository and of the one within it. */
function reader(kind: string, parts: StatesParts & { readonly disk: WatchedDisk }) {
  const { project, inner } = nestedProject(kind);
  const states = statesOf(project, { ...parts, nested: ["in/ner"], keptFolders: join(project.base, "kept") });
  const keep: KeepContent = async (content) => sha256(content);
  const folders = { erased: new Set<never>(), isIdle: async () => true };
  return {
    project,
    inner,
    gitDir: project.git(["rev-parse", "--absolute-git-dir"], inner).toString().trim(),
    states,
    async read(withFolders = true): Promise<readonly [number, GitState]> {
      parts.disk.opened = 0;
      const found = (await states.read(keep, withFolders ? folders : undefined)).states;
      const within = found.find(({ path }) => path === "in/ner/.git");
      if (found.length !== 2 || within === undefined) throw new Error("not both states were read");
      return [parts.disk.opened, within];
    },
  };
}

/** A clock by which no file was changed within the last seconds. */
const later = (): number => Date.now() + 60_000;

describe.skipIf(!hasGit)("what is remembered of repositories", () => {
  it.each(KINDS)("does not hide a change within the same tick of the clock (%s)", async (kind) => {
    const made = reader(kind, { disk: new WatchedDisk({ isCoarse: true }) });
    await using project = made.project;
    const [first = "", second = ""] = project.git(["rev-list", "HEAD"], made.inner).toString().split("\n");
    const head = join(made.gitDir, "HEAD");
    for (let i = 0; i < 4; i += 1) {
      const commit = i % 2 === 0 ? first : second;
      // The file keeps its inode and its size, and nearly always the second of its times.
      writeFileSync(head, `${commit}\n`);
      expect((await made.read(i < 2))[1].values.get("HEAD"), `change ${i}`).toBe(commit);
    }
  });

  it.each(KINDS)("saves opening anything, until something changes (%s)", async (kind) => {
    const made = reader(kind, { disk: new WatchedDisk(), clock: later });
    await using project = made.project;
    const { inner, gitDir } = made;
    // The first reading links the objects, which changes their ctimes, so the second one looks at them again.
    for (let i = 0; i < 2; i += 1) await made.read();
    const [opened, state] = await made.read();
    expect(opened).toBe(0);
    expect((await made.read())[1]).toBe(state);
    const commit = project.git(["rev-parse", "HEAD"], inner).toString().trim();
    const head = join(gitDir, "HEAD");
    const oldTimes = statSync(head);
    const changes: Readonly<Record<string, () => unknown>> = {
      "a new branch": () => project.git(["branch", "new"], inner),
      "a moved branch": () => project.git(["branch", "-f", "new", "HEAD~1"], inner),
      "packed refs": () => project.git(["pack-refs", "--all"], inner),
      "a branch that is only deleted from packed refs": () => project.git(["branch", "-D", "new"], inner),
      "another index": () => (project.write(join(inner, "b"), "b"), project.git(["add", "b"], inner)),
      "a stash": () => project.git(["stash"], inner),
      "a file of an unfinished operation": () => writeFileSync(join(gitDir, "MERGE_HEAD"), `${commit}\n`),
      "a HEAD whose time was set back": () => {
        writeFileSync(head, `${project.git(["rev-parse", "HEAD~1"], inner).toString().trim()}\n`);
        utimesSync(head, oldTimes.atime, oldTimes.mtime);
      },
    };
    let last = state;
    for (const [what, change] of Object.entries(changes)) {
      change();
      const [, now] = await made.read(false);
      expect(shown(now), what).not.toEqual(shown(last));
      expect(shown((await freshly(made)).at(-1)), what).toEqual(shown(now));
      last = now;
    }
  });

  it("is dropped where another folder takes the place of a repository, and where its kept parts are gone", async () => {
    const made = reader("a repository of its own", { disk: new WatchedDisk(), clock: later });
    await using project = made.project;
    for (let i = 0; i < 2; i += 1) await made.read();
    const [untouched, before] = await made.read();
    expect(untouched).toBe(0);
    rmSync(join(project.base, "kept"), { recursive: true });
    const [opened] = await made.read();
    expect(opened).toBeGreaterThan(0);
    renameSync(join(made.inner, ".git"), join(project.base, "away"));
    project.git(["init", "-q", "-b", "main", made.inner]);
    const [, now] = await made.read();
    expect(now.folder?.objects).not.toBe(before.folder?.objects);
    expect([...now.values.keys()]).toEqual(["HEAD"]);
  });

  it("has a changed file of the git folder in the next reading", async () => {
    const made = reader("a repository of its own", { disk: new WatchedDisk(), clock: later });
    await using _project = made.project;
    for (let i = 0; i < 3; i += 1) await made.read();
    for (const name of ["config", "description", "info/exclude", "hooks/pre-commit", "logs/HEAD"]) {
      writeFileSync(join(made.gitDir, name), `# ${name}\n`);
      const [, { folder }] = await made.read();
      const blob = folder?.items.find((item) => item.name === name)?.blob;
      expect(blob, name).toBe(sha256(Buffer.from(`# ${name}\n`)));
    }
  });
});

/** The values of a state, without the rest. */
function shown(state: GitState | undefined): unknown {
  return { values: Object.fromEntries(state?.values ?? []), packed: state?.packed };
}

/** Reads the same repositories with nothing remembered. */
async function freshly({ project }: ReturnType<typeof reader>): Promise<readonly GitState[]> {
  const fresh = statesOf(project, { nested: ["in/ner"] });
  return (await fresh.read(async (content) => sha256(content))).states;
}

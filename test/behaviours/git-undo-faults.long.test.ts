import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { childOf, ROOT } from "../../src/core/values/path.ts";
import type { DiskPath, OpenHow } from "../../src/disk/disk.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { Changed, statesOf } from "../helpers/git-changed.ts";
import { GitProject, hasGit } from "../helpers/git-project.ts";
import { commitOf, faultsOfGit, seenGit } from "../helpers/git-state.ts";

/** A repository with two commits on `main`. */
function repository(): GitProject {
  const project = new GitProject(["-b", "main"]);
  for (const text of ["one", "two"]) {
    project.write("a", `${text}\n`);
    project.git(["add", "."]);
    project.git(["commit", "-qm", text]);
  }
  return project;
}

function canary(project: GitProject, at: string): string {
  const touched = join(project.base, "touched");
  mkdirSync(join(project.base, at, ".."), { recursive: true });
  writeFileSync(join(project.base, at), `#!/bin/sh\necho "$0 $*" >> ${touched}\nexec /usr/bin/git "$@"\n`);
  chmodSync(join(project.base, at), 0o755);
  return touched;
}

describe.skipIf(!hasGit)("undo of git's state in the face of a hostile folder", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it.each([
    ["in the tracked folder", (project: GitProject) => join(project.top, "node_modules/.bin")],
    [
      "in a folder elsewhere, as a link into the tracked folder",
      (project: GitProject) => {
        mkdirSync(join(project.base, "bin"));
        symlinkSync(join(project.top, "node_modules/.bin/git"), join(project.base, "bin/git"));
        return join(project.base, "bin");
      },
    ],
  ])("starts no program called git %s", async (_, folderOf) => {
    await using project = repository();
    project.write(".gitignore", "node_modules\n");
    const workspace = await project.init();
    const before = seenGit(project);
    await workspace.run({ command: ["git", "reset", "-q", "--hard", "HEAD~1"], cwd: project.top, env: project.env });
    const touched = canary(project, "repo/node_modules/.bin/git");
    vi.stubEnv("PATH", `node_modules/.bin:${folderOf(project)}:${process.env["PATH"]}`);
    await workspace.undo();
    expect(existsSync(touched)).toBe(false);
    vi.unstubAllEnvs();
    expect(seenGit(project)).toEqual(before);
  });
});

const errno = (code: string): Error => Object.assign(new Error(code), { code });
const isNamed = (path: DiskPath, name: string): boolean => path.toString().endsWith(`/${name}`);

/** A disk that cannot put a new index into place. */
class NoIndex extends NodeDisk {
  override rename(from: DiskPath, to: DiskPath): void {
    if (isNamed(to, "index")) throw errno("EIO");
    super.rename(from, to);
  }
}

/** A disk that cannot append to a file. */
class NoAppend extends NodeDisk {
  override open(path: DiskPath, how: OpenHow, mode?: number): number {
    if (how === "append") throw errno("EACCES");
    return super.open(path, how, mode);
  }
}

/** A disk that is full once files with one of these names are written. */
class Full extends NodeDisk {
  readonly #names: RegExp;
  readonly #full = new Set<number>();

  constructor(names: RegExp) {
    super();
    this.#names = names;
  }

  override open(path: DiskPath, how: OpenHow, mode?: number): number {
    const fd = super.open(path, how, mode);
    if (how === "create" && this.#names.test(path.toString())) this.#full.add(fd);
    else this.#full.delete(fd);
    return fd;
  }

  override write(fd: number, bytes: Uint8Array, position: number | null): number {
    if (this.#full.has(fd)) throw errno("ENOSPC");
    return super.write(fd, bytes, position);
  }
}

/** A disk that stops for good before the new index is in place, as if the process had been killed. */
class Killed extends NodeDisk {
  #isDead = false;

  override rename(from: DiskPath, to: DiskPath): void {
    if (isNamed(to, "index")) this.#isDead = true;
    this.#check();
    super.rename(from, to);
  }

  override unlink(path: DiskPath): void {
    this.#check();
    super.unlink(path);
  }

  #check(): void {
    if (this.#isDead) throw new Error("killed");
  }
}

/** The names in the git folder that an undo must not leave there. */
function leftovers(project: GitProject): readonly string[] {
  const names = readdirSync(join(project.top, ".git"), { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.(?:lock|new)$/.test(name));
}

describe.skipIf(!hasGit)("undo of git's state that fails on the way", () => {
  it.each([
    ["on another branch", [["checkout", "-q", "-b", "side", "HEAD~1"]]],
    ["on the same branch", [["reset", "-q", "--hard", "HEAD~1"]]],
  ])("puts back HEAD and the refs, if the index cannot be written %s", async (_, commands) => {
    await using project = repository();
    const changed = await Changed.by(project, ...commands);
    const after = seenGit(project);
    expect(await changed.undo(new NoIndex())).toBe("it cannot be written (EIO)");
    expect(seenGit(project)).toEqual(after);
    expect([faultsOfGit(project), leftovers(project)]).toEqual(["", []]);
    expect(await changed.undo()).toBeUndefined();
  });

  it.each(["index.lock", "HEAD.lock"])("leaves no %s if the disk is full", async (name) => {
    await using project = repository();
    const changed = await Changed.by(project, ["checkout", "-q", "-b", "side", "HEAD~1"]);
    const after = seenGit(project);
    expect(await changed.undo(new Full(new RegExp(`/${name}[^/]*$`)))).toBe("it cannot be written (ENOSPC)");
    expect([seenGit(project), leftovers(project)]).toEqual([after, []]);
    expect(await changed.undo()).toBeUndefined();
  });

  it("leaves nothing in the place of a `.git` file if the disk is full", async () => {
    await using project = repository();
    const tree = join(project.base, "tree");
    project.git(["worktree", "add", "-q", tree]);
    const content = readFileSync(join(tree, ".git"));
    const parts = { folder: project.base, nested: ["tree"] };
    const path = childOf(childOf(ROOT, "tree"), ".git");
    const items = [{ name: ".git", before: undefined, after: sha256(content) }];
    const change = { path, before: {}, after: {}, items, packs: [] };
    const how = { contentOf: async () => content, message: "undo" };
    rmSync(join(tree, ".git"));
    const names = readdirSync(tree);
    const disk = new Full(/\/\.git[^/]*$/);
    expect(await statesOf(project, { ...parts, disk }).apply(change, how)).toContain("ENOSPC");
    expect(readdirSync(tree)).toEqual(names);
    expect(await statesOf(project, parts).apply(change, how)).toBeUndefined();
    expect([readFileSync(join(tree, ".git")), readdirSync(tree)]).toEqual([content, [".git", ...names]]);
  });

  it("is made even if the reflog of HEAD cannot be written", async () => {
    await using project = repository();
    const before = seenGit(project);
    const changed = await Changed.by(project, ["checkout", "-q", "-b", "side", "HEAD~1"]);
    project.git(["checkout", "-q", "-f", "side"]);
    expect(await changed.undo(new NoAppend())).toBeUndefined();
    expect(readFileSync(join(project.top, ".git/HEAD"), "utf8")).toBe("ref: refs/heads/main\n");
    project.git(["checkout", "-q", "-f"]);
    expect(seenGit(project)).toEqual(before);
  });

  it("changes nothing if a file is where the folder of an unfinished rebase must be", async () => {
    await using project = repository();
    project.git(["checkout", "-q", "-b", "side", "HEAD~1"]);
    project.write("a", "other\n");
    project.git(["commit", "-qam", "side"]);
    expect(() => project.git(["rebase", "main"])).toThrow();
    const changed = await Changed.by(project, ["rebase", "--abort"]);
    const after = seenGit(project);
    project.write(".git/rebase-merge", "in the way");
    expect(await changed.undo()).toContain("cannot be written");
    expect(seenGit(project)).toEqual(after);
    expect(leftovers(project)).toEqual([]);
  });

  it("is finished when it is made again after the process was killed, and is named until then", async () => {
    await using project = repository();
    const before = seenGit(project);
    const changed = await Changed.by(project, ["reset", "-q", "--hard", "HEAD~1"]);
    const other = await Changed.by(project, ["branch", "other"]);
    await expect(changed.undo(new Killed())).rejects.toThrow();
    const told = await changed.undo(undefined, { ...changed.back, after: { branch: "x" } });
    expect(told).toMatch(/index\.lock exists: another undo .*partly changed: branch main/);
    expect(await other.undo()).toContain("index.lock exists");
    expect(await changed.undo()).toBeUndefined();
    expect(await other.undo()).toBeUndefined();
    project.git(["checkout", "-q", "-f"]);
    expect(seenGit(project)).toEqual(before);
    expect(leftovers(project)).toEqual([]);
  });

  it("puts back a branch whose name is the folder of another one", async () => {
    await using project = repository();
    project.git(["branch", "x"]);
    const before = seenGit(project);
    const changed = await Changed.by(project, ["branch", "-D", "x"], ["branch", "x/y", "HEAD~1"]);
    expect(await changed.undo()).toBeUndefined();
    expect(seenGit(project)).toEqual(before);
  });
});

describe.skipIf(!hasGit)("undo of git's state leaves git alone", () => {
  it.each([
    ["HEAD", ["checkout", "-q", "side"]],
    ["unfinished rebase", ["checkout", "-q", "--detach"]],
  ])("if another working tree uses the branch, by its %s", async (by, command) => {
    await using project = repository();
    const changed = await Changed.by(project, ["branch", "side"]);
    const tree = join(project.base, "tree");
    project.git(["worktree", "add", "-q", "--detach", tree]);
    project.git(command, tree);
    if (by !== "HEAD") project.write(".git/worktrees/tree/rebase-merge/head-name", "refs/heads/side\n");
    expect(await changed.undo()).toBe("branch side is checked out in the working tree tree");
    expect(project.git(["rev-parse", "side"]).toString().trim()).toBe(commitOf(project));
  });

  it("if HEAD would name a branch that another working tree has checked out since", async () => {
    await using project = repository();
    const changed = await Changed.by(project, ["switch", "-q", "-c", "tmp"]);
    project.git(["worktree", "add", "-q", join(project.base, "tree"), "main"]);
    const after = seenGit(project);
    expect(await changed.undo()).toBe("branch main is checked out in the working tree tree");
    expect(seenGit(project)).toEqual(after);
  });

  it("if objects of the index no longer exist", async () => {
    await using project = repository();
    project.write("a", "only staged\n");
    project.git(["add", "a"]);
    const changed = await Changed.by(project, ["reset", "-q"]);
    const after = seenGit(project);
    project.git(["gc", "-q", "--prune=now"]);
    expect(await changed.undo()).toBe("an object of the index no longer exists");
    expect(seenGit(project)).toEqual(after);
  });

  it("if a folder of objects is a link", async () => {
    await using project = repository();
    const changed = await Changed.by(project, ["branch", "side"]);
    const name = "0123456789abcdef".replace(/(.)/g, "0$1 1$1 ").split(" ");
    const free = name.find((one) => one !== "" && !existsSync(join(project.top, ".git/objects", one))) ?? "";
    mkdirSync(join(project.base, "outside"));
    symlinkSync(join(project.base, "outside"), join(project.top, ".git/objects", free));
    expect(await changed.undo()).toBe(`objects/${free} is a link, and nothing is written through it`);
  });

  it("if the configuration has a hook", async () => {
    await using project = repository();
    const changed = await Changed.by(project, ["branch", "side"]);
    project.write(".git/more", '[hook "evil"]\n event = reference-transaction\n command = touch /tmp/x\n');
    project.git(["config", "include.path", "more"]);
    expect(await changed.undo()).toContain("the configuration of the repository has a hook (hook.evil.");
    project.git(["rev-parse", "side"]);
  });
});

/** Returns the content and modification time of each file in a folder. */
function bytesOf(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return Object.fromEntries(
    names.map((name) => {
      const path = join(folder, name);
      const stat = lstatSync(path);
      return [name, stat.isFile() ? `${stat.mtimeMs} ${readFileSync(path, "latin1")}` : `${stat.mode}`];
    }),
  );
}

describe.skipIf(!hasGit)("undo of git's state leaves a repository alone that lies outside of the folder", () => {
  const outside: string[] = [];
  afterEach(() => outside.splice(0).forEach((folder) => rmSync(folder, { recursive: true, force: true })));

  /** Moves the repository out of the folder, and puts a link in its place. Returns its git folder. */
  function moveOut(project: GitProject): string {
    const folder = `${project.base}-outside`;
    outside.push(folder);
    renameSync(project.top, folder);
    symlinkSync(folder, project.top);
    return join(folder, ".git");
  }

  const COMMANDS = [["reset", "-q", "--hard", "HEAD~1"]];

  it("if a link leads to it", async () => {
    await using project = repository();
    const parts = { folder: project.base, nested: ["repo"] };
    const changed = await Changed.at(project, parts, COMMANDS);
    const states = statesOf(project, parts);
    expect(states.look()).toMatchObject([{ path: "repo/.git", head: { branch: "main" } }]);
    const moved = moveOut(project);
    const before = bytesOf(moved);
    expect(await changed.apply(states)).toBe("there is no repository any more");
    expect(states.look()).toEqual([]);
    expect(bytesOf(moved)).toEqual(before);
  });

  it("if it is moved out during the undo", async () => {
    await using project = repository();
    const parts = { folder: project.base, nested: ["repo"] };
    const changed = await Changed.at(project, parts, COMMANDS);
    let seen = 0;
    for (const atRun of [1, 2]) {
      let runs = 0;
      let moved = "";
      let before = {};
      const onRun = (): void => {
        runs += 1;
        if (runs !== atRun) return;
        moved = moveOut(project);
        before = bytesOf(moved);
      };
      expect(await changed.apply(statesOf(project, { ...parts, onRun }))).toContain("moved or replaced meanwhile");
      expect(bytesOf(moved)).toEqual(before);
      rmSync(project.top);
      renameSync(join(moved, ".."), project.top);
      seen += 1;
    }
    expect(seen).toBe(2);
  });

  it("if the rules of git no longer apply in the folder", async () => {
    await using project = repository();
    const parts = { folder: project.base, nested: ["repo"] };
    const changed = await Changed.at(project, parts, COMMANDS);
    const before = bytesOf(join(project.top, ".git"));
    expect(await changed.apply(statesOf(project, { ...parts, useGitignore: false }))).toBeDefined();
    expect(bytesOf(join(project.top, ".git"))).toEqual(before);
  });
});

import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { displayPath, parsePath } from "../../src/core/values/path.ts";
import { GitProject, hasGit, recorded } from "../helpers/git-project.ts";

/** Returns the paths that git sees, as Chronicle shows them. */
function asGit(project: GitProject, folder = ""): string[] {
  return project
    .gitSees(folder)
    .map((path) => (path.isWellFormed() ? parsePath(path) : displayPath(path as ReturnType<typeof parsePath>)))
    .sort();
}

async function expectAsGit(project: GitProject, workspace: WorkspaceApi, folder = ""): Promise<string[]> {
  const found = await recorded(workspace);
  expect(found).toEqual(asGit(project, folder));
  return found;
}

describe.skipIf(!hasGit)("Truth 38: rules come from where git has them (skipped where git is not installed)", () => {
  test("a workspace in a subfolder has the rules of the folders above it, up to the top of the repository", async () => {
    await using project = new GitProject();
    project.write(
      ".gitignore",
      "node_modules/\n.env\n/packages/x/out\n*.log\npackages/**/gen\n/src\n!/packages/x/kept.log\n",
    );
    project.write("packages/.gitignore", "x/tmp*\n!audit.log\n/y\n");
    project.write("packages/x/.gitignore", "own\n!tmp-kept\n");
    for (const name of [
      "a.ts",
      ".env",
      "node_modules/m/i.js",
      "out/o",
      "b.log",
      "audit.log",
      "deep/gen/g",
      "deep/out/kept",
    ])
      project.write(`packages/x/${name}`);
    for (const name of ["tmp1", "tmp-kept", "kept.log", "own", "deep/own", "y", "src/s.ts", "deep/.env"])
      project.write(`packages/x/${name}`);
    const workspace = await project.init("packages/x");
    const found = await expectAsGit(project, workspace, "packages/x");
    expect(found).not.toContain(".env");
    expect(found).toContain("src/s.ts");
    expect(await workspace.explain("node_modules/m")).toMatchObject({
      tracked: false,
      source: `${project.top}/.gitignore:1`,
    });
  });

  test("a file that git tracks is recorded whatever the rules say, and ignored files beside it are not", async () => {
    for (const version of ["2", "4"]) {
      await using project = new GitProject();
      project.write(".gitignore", "build/\n*.min.js\n.env\n");
      for (const path of ["build/kept.txt", "build/sub/kept", "app.min.js", ".env", "plain"]) project.write(path);
      project.git(["add", "-f", "."]);
      project.git(["update-index", "--index-version", version]);
      for (const path of ["build/new.txt", "build/sub/new", "build/other/new", "other.min.js", "later.txt"])
        project.write(path);
      const workspace = await project.init();
      const found = await expectAsGit(project, workspace);
      expect(found).toContain("build/sub/kept");
      expect(found).not.toContain("build/sub/new");
      expect(await workspace.explain("build/kept.txt")).toMatchObject({ tracked: true, recorded: true });
      project.write("build/kept.txt", "edited");
      expect((await workspace.status()).changes.map(({ path }) => path)).toEqual(["build/kept.txt"]);
      // Version 3 of the index: an entry that is only intended to be added has more flags.
      project.git(["add", "-N", "-f", "build/other/new", "other.min.js"]);
      expect(await expectAsGit(project, workspace)).toContain("build/other/new");
      // The next process starts from what was remembered, and sees the new entry, too.
      await workspace.close();
      project.write("build/last");
      project.git(["add", "-f", "build/last"]);
      const next = await (await project.store()).open({ folder: project.top });
      expect(await expectAsGit(project, next)).toContain("build/last");
      await next.close();
    }
  });

  test("a person's global git rules apply in each repository, and in no other folder", async () => {
    await using project = new GitProject();
    project.write(join(project.config, "git", "ignore"), "*.swp\n/top-only\n");
    for (const path of ["a.swp", "sub/b.swp", "top-only", "sub/top-only", "c"]) project.write(path);
    await expectAsGit(project, await project.init());
    // The excludes file is a link to a person's dotfiles. A configuration that is included only for this repository
    // names it.
    project.write(join(project.base, "dotfiles", "ignore-all"), "*.bak\n");
    symlinkSync(join(project.base, "dotfiles", "ignore-all"), join(project.home, ".ignore-all"));
    project.write(join(project.home, ".gitconfig-repo"), "[core]\n\texcludesFile = ~/.ignore-all ; a comment\n");
    project.write(
      join(project.home, ".gitconfig"),
      `[includeIf "gitdir:${project.base}/re*/"]\n\tpath = .gitconfig-repo\n`,
    );
    project.write("d.bak");
    project.write("d.swp");
    const workspace = await project.init();
    const now = await recorded(workspace);
    expect(now.filter((path) => path.startsWith("d."))).toEqual(["d.swp"]);
    expect(asGit(project).filter((path) => path.startsWith("d."))).toEqual(["d.swp"]);
    mkdirSync(join(project.base, "plain"));
    writeFileSync(join(project.base, "plain", "a.bak"), "");
    const store = await project.store();
    const plain = await store.init({ roots: [join(project.base, "plain")] });
    expect(await recorded(plain.workspace)).toEqual(["a.bak"]);
    await plain.workspace.close();
  });

  test("a linked working tree uses its own index, and the info/exclude that all working trees share", async () => {
    await using project = new GitProject();
    project.write("a");
    project.write(".gitignore", "forced\n");
    project.git(["add", "."]);
    project.git(["commit", "-qm", "one"]);
    project.git(["worktree", "add", "-q", "../linked"]);
    project.write(".git/info/exclude", "*.private\n/forced-too\n");
    for (const path of ["x.private", "forced", "forced-too", "sub/y.private", "sub/z"]) {
      project.write(join(project.base, "linked", path));
    }
    project.git(["add", "-f", "forced"], join(project.base, "linked"));
    const store = await project.store();
    for (const folder of ["linked/sub", "linked"]) {
      const { workspace } = await store.init({ roots: [join(project.base, folder)] });
      expect(await recorded(workspace)).toEqual(asGit(project, join("..", folder)));
      await workspace.close();
    }
  });

  test("a submodule and a nested repository follow their own rules, and no outer ones", async () => {
    await using project = new GitProject();
    await using library = new GitProject();
    library.write("lib.c");
    library.git(["add", "."]);
    library.git(["commit", "-qm", "one"]);
    project.write(join(project.config, "git", "ignore"), "*.swp\n");
    project.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.top, "vendor/lib"]);
    project.write(".gitignore", "vendor/\n*.o\nown-exclude\n");
    project.write("vendor/lib/.gitignore", "*.a\n");
    project.write(".git/modules/vendor/lib/info/exclude", "own-exclude\n");
    for (const name of ["x.o", "x.a", "x.swp", "own-exclude", "sub/y.o"]) project.write(`vendor/lib/${name}`);
    project.write("vendor/other");
    project.write("nested/.gitkeep");
    project.git(["init", "-q"], join(project.top, "nested"));
    project.write("nested/.git/info/exclude", "/secret\n");
    for (const name of ["x.o", "secret", "sub/secret", "x.swp"]) project.write(`nested/${name}`);
    project.write("empty/.git/nothing");
    project.write("empty/x.o");
    const workspace = await project.init();
    const found = await expectAsGit(project, workspace);
    expect(found).toEqual(expect.arrayContaining(["vendor/lib/x.o", "nested/x.o", "nested/sub/secret"]));
    expect(found).not.toContain("empty/x.o");
  });

  test("with core.ignoreCase, rules and tracked paths match whatever the case of their letters", async () => {
    await using project = new GitProject();
    project.git(["config", "core.ignoreCase", "true"]);
    project.write(".gitignore", "BUILD/\n*.LOG\n[A-C]*.tmp\nDoc/Old\n[x]Y\n\\Z\n");
    for (const path of [
      "build/Kept",
      "Build2/x",
      "a.log",
      "A.Log",
      "b.tmp",
      "D.tmp",
      "doc/old/x",
      "Xy",
      "xy",
      "z",
      "Z",
    ])
      project.write(path);
    project.git(["add", "-f", "build/Kept"]);
    project.write("build/other");
    await expectAsGit(project, await project.init());
  });

  test("rules match names as bytes, also if these are not UTF-8, and a restore removes no file that they left out", async () => {
    await using project = new GitProject();
    project.write("sub\udce9/.gitignore", "k\udce9pt*\n");
    project.write(".gitignore", "caf\udce9*\n*.\udcff\n/d\u00e9j\u00e0\n");
    for (const path of [
      "caf\udce9.txt",
      "cafe.txt",
      "x.\udcff",
      "x.\udcfe",
      "d\u00e9j\u00e0",
      "sub\udce9/k\udce9pt1",
      "sub\udce9/kept",
    ])
      project.write(path);
    const workspace = await project.init();
    await expectAsGit(project, workspace);
    // The recorded rules match the same bytes. A file that they left out may have existed, so a restore keeps it.
    rmSync(join(project.top, ".gitignore"));
    await workspace.snapshot();
    const undone = await workspace.restore("0");
    expect(existsSync(Buffer.from(`${project.top}/caf\u00e9.txt`, "latin1"))).toBe(true);
    expect(undone.skipped.length).toBeGreaterThan(0);
  });

  test("a file that git tracks is found in a SHA-256 repository in the middle of a merge", async () => {
    await using project = new GitProject(["--object-format=sha256"]);
    project.write(".gitignore", "kept*\n");
    project.write("kept", "base\n");
    project.git(["add", "-f", "."]);
    project.git(["commit", "-qm", "one"]);
    project.git(["checkout", "-qb", "other"]);
    project.write("kept", "theirs\n");
    project.git(["commit", "-qam", "two"]);
    project.git(["checkout", "-q", "-"]);
    project.write("kept", "ours\n");
    project.git(["commit", "-qam", "three"]);
    expect(() => project.git(["merge", "-q", "other"])).toThrow("Command failed");
    project.write("kept-not");
    expect(await expectAsGit(project, await project.init())).toContain("kept");
  });
});

describe.skipIf(!hasGit)("Truth 38: rules not applied are reported (skipped where git is not installed)", () => {
  /** Returns what a new workspace reports of rules that are not applied. */
  async function unapplied(project: GitProject, folder = ""): Promise<string[]> {
    const workspace = await project.init(folder);
    const { coverage } = await workspace.status();
    return (coverage.unapplied ?? []).map(({ source, detail }) => `${source}: ${detail}`);
  }

  test("a split index, a sparse index and a damaged index are reported", async () => {
    for (const [how, said] of [
      [["update-index", "--split-index"], "it is split"],
      [["update-index", "--index-version", "2"], undefined],
    ] as const) {
      await using project = new GitProject();
      project.write("a");
      project.git(["add", "."]);
      project.git(how);
      const found = await unapplied(project);
      if (said === undefined) expect(found).toEqual([]);
      else expect(found).toEqual([expect.stringContaining(said)]);
    }
    await using sparse = new GitProject();
    for (const path of ["a/x", "b/y", "c"]) sparse.write(path);
    sparse.git(["add", "."]);
    sparse.git(["commit", "-qm", "one"]);
    sparse.git(["sparse-checkout", "set", "--cone", "--sparse-index", "a"]);
    expect(await unapplied(sparse)).toEqual([expect.stringContaining("sparse")]);
    await using damaged = new GitProject();
    damaged.write("a");
    damaged.git(["add", "."]);
    const index = readFileSync(join(damaged.top, ".git/index"));
    writeFileSync(join(damaged.top, ".git/index"), index.subarray(0, index.length - 30));
    expect(await unapplied(damaged)).toEqual([expect.stringContaining("damaged")]);
  });

  test("rule files over 1 MiB, irregular ones, and one outside that the repository's configuration names are reported", async () => {
    await using project = new GitProject();
    const secret = join(project.home, "secret");
    project.write(secret, "*.key\n");
    project.write(".gitignore", `${"# long\n".repeat(160_000)}*.big\n`);
    project.git(["config", "core.excludesFile", secret]);
    rmSync(join(project.top, ".git/info/exclude"), { force: true });
    symlinkSync(secret, join(project.top, ".git/info/exclude"));
    spawnSync("mkfifo", [join(project.config, "git-fifo")]);
    project.write(join(project.home, ".gitconfig"), `[include]\n\tpath = ${join(project.config, "git-fifo")}\n`);
    for (const path of ["a.big", "b.key"]) project.write(path);
    const found = await unapplied(project);
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringContaining(".gitignore: larger than 1048576 bytes"),
        expect.stringContaining(`core.excludesFile = ${secret}: the repository's own configuration`),
        expect.stringContaining("no regular file"),
      ]),
    );
  });

  test("a repository that leaves the folder out itself, and a .git file that leads nowhere, are reported", async () => {
    await using project = new GitProject();
    project.write(".gitignore", "scratch/\n*.log\n");
    project.write("scratch/part/a.log");
    const found = await unapplied(project, "scratch/part");
    expect(found).toEqual([expect.stringContaining("leaves out this folder itself")]);
    await using gone = new GitProject();
    rmSync(join(gone.top, ".git"), { recursive: true });
    gone.write(".git", "gitdir: /nowhere/at/all\n");
    gone.write("a");
    expect(await unapplied(gone)).toEqual([expect.stringContaining("leads to no git repository")]);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "a parent repository of another user is reported, and applies once it is a safe.directory (needs root)",
    async () => {
      await using project = new GitProject();
      project.write(".gitignore", "*.log\n");
      project.write("mine/a");
      for (const path of [project.top, join(project.top, ".git")]) chownSync(path, 4711, 4711);
      const found = await unapplied(project, "mine");
      expect(found).toEqual([expect.stringContaining("belongs to another user")]);
      project.git(["config", "--global", "safe.directory", project.top], project.home);
      const ours = await project.store();
      const workspace = await ours.open({ folder: join(project.top, "mine") });
      project.write("mine/b");
      project.write("mine/b.log");
      expect(await recorded(workspace)).toEqual(["a", "b"]);
      await workspace.close();
    },
  );
});

describe.skipIf(!hasGit)(
  "Truth 38: captures and restores under rules from outside the folder (skipped where git is not installed)",
  () => {
    test("a restore keeps a file that a rule above the folder had left out, although that rule is gone by now", async () => {
      await using project = new GitProject();
      project.write(".gitignore", ".env\n");
      project.write("packages/x/a", "1");
      project.write("packages/x/.env", "SECRET=1");
      const workspace = await project.init("packages/x");
      rmSync(join(project.top, ".gitignore"));
      project.write("packages/x/a", "2");
      expect((await workspace.snapshot()).changed).toBe(2);
      const back = await workspace.restore("0");
      expect(back.skipped).toMatchObject([{ path: ".env" }]);
      expect(existsSync(join(project.top, "packages/x/.env"))).toBe(true);
    });

    test("a restore removes a tracked file that was missing at that moment, although a rule names it", async () => {
      await using project = new GitProject();
      project.write(".gitignore", "build/\n");
      project.write("build/kept");
      project.write("a");
      project.git(["add", "-f", "."]);
      rmSync(join(project.top, "build"), { recursive: true });
      const workspace = await project.init();
      project.write("build/kept", "made later");
      project.write("build/not");
      expect((await workspace.snapshot()).changed).toBe(2);
      const back = await workspace.restore("0");
      expect(existsSync(join(project.top, "build/kept"))).toBe(false);
      expect(existsSync(join(project.top, "build/not"))).toBe(true);
      expect(back.skipped.map(({ path }) => path)).toEqual(["build"]);
    });

    test("a file that a run hides by a rule outside of the folder is named among the omitted changes", async () => {
      await using project = new GitProject();
      project.write("packages/x/a");
      const workspace = await project.init("packages/x");
      const ran = await workspace.run({
        command: ["sh", "-c", "echo planted >> ../../.gitignore; echo x > planted; echo y > seen"],
      });
      expect(ran.changes.map(({ path }) => path)).toEqual(["seen"]);
      expect(ran.session.omitted_changes?.map(({ path }) => path)).toEqual(["planted"]);
    });

    test("a followed workspace notices changes of rules and of tracked files that no watcher reports", async () => {
      await using project = new GitProject();
      project.write(".gitignore", "out/\n");
      project.write("sub/out/a");
      project.write("sub/b");
      const workspace = await project.init("sub");
      await workspace.follow();
      expect(await recorded(workspace)).toEqual(["b"]);
      project.git(["add", "-f", "sub/out/a"]);
      expect(await recorded(workspace)).toEqual(["b", "out/a"]);
      project.write("sub/out/a", "edited");
      expect((await workspace.status()).changes.map(({ path }) => path)).toEqual(["out/a"]);
      project.write("sub/out/c");
      project.write(".gitignore", "nothing\n");
      expect(await recorded(workspace)).toEqual(["b", "out/a", "out/c"]);
      project.write("sub/out/c", "edited");
      expect((await workspace.status()).changes.map(({ path }) => path)).toEqual(["out/c"]);
    });

    test("several roots have the rules of their own repositories, and a root that is one file has none", async () => {
      await using project = new GitProject();
      await using other = new GitProject();
      project.write(".gitignore", "*.log\n");
      other.write(".gitignore", "*.tmp\n");
      for (const path of ["x/a.log", "x/a.tmp", "y.log"]) project.write(path);
      for (const path of ["z/a.log", "z/a.tmp"]) other.write(path);
      const roots = [join(project.top, "x"), join(other.top, "z"), join(project.top, "y.log")];
      const workspace = await project.init("", { roots });
      expect(await recorded(workspace)).toEqual(["@y-log:y.log", "@z:a.log", "a.tmp"]);
    });
  },
);

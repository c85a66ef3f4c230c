import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, readlinkSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { encodeAside, isKeptAt } from "../../src/core/records/aside.ts";
import type { LogEvent } from "../../src/core/values/event.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { contentsOf } from "../../src/replication/replica/event-contents.ts";
import { Project } from "../helpers/project.ts";
import { Sandbox } from "../cli/sandbox.ts";

/** A project with a repository's folder, an ignored file, an ignored folder and a file that is too large to keep aside. */
function projectWithSecrets(): Sandbox {
  const box = new Sandbox();
  box.write(".gitignore", ".env\nnode_modules/\n*.db\n*.log\n");
  box.write(".env", "KEY=1");
  box.write(".git/HEAD", "ref: refs/heads/main\n");
  box.write("node_modules/dep/index.js", "dep");
  box.write("big.db", "");
  truncateSync(join(box.project, "big.db"), 2 * 1024 * 1024);
  box.write("a.txt", "a");
  box.run(["init"]);
  return box;
}

function run(box: Sandbox, script: string): { code: number | null; stderr: string; shape: Shape } {
  const { code, stderr } = box.run(["--json", "run", "--", "sh", "-c", script]);
  return { code, stderr, shape: JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") as Shape };
}

interface Shape {
  readonly session: {
    readonly session_id: string;
    readonly omitted_changes?: readonly {
      readonly path: string;
      readonly change_type: string;
      readonly kept: boolean;
      readonly lost: boolean;
    }[];
  };
}

function named({ session }: Shape): string[] {
  return (session.omitted_changes ?? []).map(
    ({ path, change_type, kept, lost }) => `${change_type} ${path}${kept ? " kept" : ""}${lost ? " lost" : ""}`,
  );
}

describe("Truth 6: omitted paths that a command removes or overwrites are named", () => {
  test("removed paths that were not kept aside are named in the summary, status and show; the exit code is 1", () => {
    using box = projectWithSecrets();
    const ran = run(box, "rm -rf $(echo .git) big.db");
    expect(named(ran.shape)).toEqual(["deleted .git lost", "deleted big.db lost"]);
    expect(ran.code).toBe(1);
    const { session_id } = ran.shape.session;
    for (const words of [["status"], ["show"], ["show", session_id]]) {
      const { stdout } = box.run(words);
      expect(stdout).toContain(".git");
      expect(stdout).toContain("big.db");
      expect(stdout).toContain("cannot be brought back");
    }
  });

  test("the summary of a run in words names the removed paths", () => {
    using box = projectWithSecrets();
    const ran = box.run(["run", "--", "sh", "-c", "rm -rf $(echo .git) big.db"]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(
      "2 paths that the rules leave out were removed and cannot be brought back: .git, big.db",
    );
  });

  test("undo of the run names what cannot be brought back", () => {
    using box = projectWithSecrets();
    box.run(["run", "--", "sh", "-c", "rm -rf $(echo .git) big.db; echo x > made"]);
    for (const args of [["--dry-run"], ["--json"]]) {
      expect(box.run(["undo", ...args]).stdout).toContain("cannot be brought back: .git, big.db");
    }
  });

  test("the command's own exit code wins", () => {
    using box = projectWithSecrets();
    expect(run(box, "rm -rf .git; exit 7").code).toBe(7);
  });

  test("the removal of an ignored folder is named; changes in it are not", () => {
    using box = projectWithSecrets();
    const inside = run(box, "rm node_modules/dep/index.js; echo x > node_modules/new");
    expect([inside.code, named(inside.shape)]).toEqual([0, []]);
    const gone = run(box, "rm -rf node_modules");
    expect([gone.code, named(gone.shape)]).toEqual([1, ["deleted node_modules lost"]]);
  });

  test("an overwritten file is named as lost; a file that only grew is not lost", () => {
    using box = projectWithSecrets();
    const overwritten = run(box, "echo other > big.db");
    expect([overwritten.code, named(overwritten.shape)]).toEqual([1, ["modified big.db lost"]]);
    box.sh("head -c 2000000 /dev/zero > big.log");
    const grown = run(box, "echo line >> big.log");
    expect([grown.code, named(grown.shape)]).toEqual([0, ["modified big.log"]]);
  });

  test("a pipe and an ignored file are named when the folder above them is removed", () => {
    using box = projectWithSecrets();
    box.sh("mkdir sub; echo s > sub/tracked; mkfifo sub/pipe; head -c 2000000 /dev/zero > sub/x.db");
    const ran = run(box, "rm -rf sub");
    expect(named(ran.shape)).toEqual(["deleted sub/pipe lost", "deleted sub/x.db lost"]);
    expect(ran.code).toBe(1);
  });

  test("a path that is unchanged, or there again, is not named", () => {
    using box = projectWithSecrets();
    const ran = run(box, "mv .git g; mv g .git; chmod 600 big.db; cat big.db > /dev/null");
    expect([ran.code, named(ran.shape)]).toEqual([0, []]);
    const moved = run(box, "rm -rf $(echo .git)");
    expect(moved.code).toBe(1);
    box.write(".git/HEAD", "ref");
    expect(box.run(["status"]).stdout).not.toContain("cannot be brought back");
    expect(existsSync(join(box.project, ".git"))).toBe(true);
    expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("a");
  });
});

test("Truth 6: a path that could not be recorded is not said to be left out by a rule", async () => {
  using box = new Sandbox();
  box.write("big", "x".repeat(5_000));
  box.write(".gitignore", "*.log\n");
  box.write("a.log", "ignored\n");
  box.run(["init", "--max-file-size", "1k"]);
  const { stderr } = box.run(["run", "--", "sh", "-c", "echo more >> big; echo 2 > a.log"]);
  expect(stderr).toContain("1 path that could not be recorded before was changed; undo leaves it as it is: big\n");
  expect(stderr).toContain("1 path that the rules leave out was changed; undo brings the content before back: a.log\n");
  const removed = box.run(["run", "--", "rm", "big"]);
  expect([removed.code, removed.stderr]).toEqual([
    1,
    expect.stringContaining("1 path that could not be recorded before was removed and cannot be brought back: big"),
  ]);
});

test("Truth 6: a removed pipe is not said to be left out by a rule", async () => {
  using box = new Sandbox();
  box.write(".gitignore", "*.db\n");
  box.write("a.txt", "a");
  box.write("b.db", "b");
  truncateSync(join(box.project, "b.db"), 2 * 1024 * 1024);
  box.sh("mkfifo p");
  box.run(["init"]);
  const { code, stderr } = box.run(["run", "--", "sh", "-c", "rm p b.db; echo x > made"]);
  expect(code).toBe(1);
  expect(stderr).toContain("1 path that the rules leave out was removed and cannot be brought back: b.db\n");
  expect(stderr).toContain("1 path left out on purpose was removed and cannot be brought back: p (special)\n");
  const lost = "removed or overwrote paths that were not recorded, so they cannot be brought back: b.db, p";
  expect(box.run(["status"]).stdout).toContain(lost);
  expect(box.run(["undo", "--dry-run"]).stdout).toContain(
    "these paths were not recorded before they were removed or overwritten, so they cannot be brought back: b.db, p",
  );
});

describe("Truth 6: small ignored files are kept aside before a run, and come back", () => {
  function contents(box: Sandbox, path: string): string {
    return readFileSync(join(box.project, path), "utf8");
  }

  test("undo brings back an ignored .env that git clean -fdx removed, with its mode; redo removes it again", async () => {
    using box = new Sandbox();
    box.write(".gitignore", ".env\n*.log\n");
    box.write("a.txt", "a");
    box.sh("git init -q . && git -c user.name=t -c user.email=t@t add a.txt .gitignore");
    box.write(".env", "KEY=1");
    box.write("sub/deep/.env", "KEY=2");
    box.sh("chmod 600 .env; ln -s /nowhere x.log");
    box.run(["init"]);
    const ran = run(box, "git clean -qfdx");
    expect(named(ran.shape)).toEqual(["deleted .env kept", "deleted sub/deep/.env kept", "deleted x.log kept"]);
    expect(ran.code).toBe(0);
    expect(ran.shape).toMatchObject({ undo_id: ran.shape.session.session_id });
    const dry = await box.must(["undo", "--dry-run"]);
    expect(dry.stdout + dry.stderr).toContain(".env");
    expect(existsSync(join(box.project, ".env"))).toBe(false);
    const undone = await box.must(["undo"]);
    expect(undone.stdout + undone.stderr).toContain(".env");
    expect([contents(box, ".env"), contents(box, "sub/deep/.env")]).toEqual(["KEY=1", "KEY=2"]);
    expect([statSync(join(box.project, ".env")).mode & 0o777, readlinkSync(join(box.project, "x.log"))]).toEqual([
      0o600,
      "/nowhere",
    ]);
    // The file is still not tracked.
    expect((await box.json(["status"])).value).toMatchObject({ changes: [] });
    expect((await box.must(["explain", ".env"])).stdout).toContain("not tracked");
    const redone = await box.must(["redo"]);
    const told = redone.stdout + redone.stderr;
    expect(told).toMatch(/new paths that the rules leave out were removed: .*\.env/);
    expect(told).not.toContain("put back");
    expect(existsSync(join(box.project, ".env"))).toBe(false);
    await box.must(["undo"]);
    expect(contents(box, ".env")).toBe("KEY=1");
    await box.must(["verify"]);
  });

  test("a run that only removed an ignored file can be undone; an edit made since is left alone", async () => {
    using box = projectWithSecrets();
    expect(named(run(box, "rm .env").shape)).toEqual(["deleted .env kept"]);
    await box.must(["undo"]);
    expect(contents(box, ".env")).toBe("KEY=1");
    expect(named(run(box, "echo KEY=2 > .env").shape)).toEqual(["modified .env kept"]);
    box.write(".env", "KEY=mine");
    const left = await box.call(["undo", "--json"]);
    expect(JSON.parse(left.stdout)).toMatchObject({ skipped: [{ path: ".env", detail: "it was edited since" }] });
    expect(contents(box, ".env")).toBe("KEY=mine");
  });

  test("undo brings back an overwritten ignored file; the rollback of a failed run does so, too", async () => {
    using box = projectWithSecrets();
    const ran = run(box, "echo KEY=2 > .env; echo b > a.txt");
    expect([ran.code, named(ran.shape)]).toEqual([0, ["modified .env kept"]]);
    await box.must(["undo"]);
    expect([contents(box, ".env"), contents(box, "a.txt")]).toEqual(["KEY=1", "a"]);
    const failed = box.run(["run", "--rollback-on-failure", "--", "sh", "-c", "rm .env a.txt; exit 3"]);
    expect(failed.code).toBe(3);
    expect(failed.stderr).toContain("1 path that the rules leave out was put back: .env");
    expect(failed.stderr).not.toContain("undo brings it back");
    expect([contents(box, ".env"), contents(box, "a.txt")]).toEqual(["KEY=1", "a"]);
    const only = box.run(["run", "--rollback-on-failure", "--", "sh", "-c", "rm .env; exit 3"]);
    expect(only.stderr).toContain("the command failed: what it changed was taken back. Bring back: chronicle redo");
    expect([only.code, contents(box, ".env")]).toEqual([3, "KEY=1"]);
  });

  test("a path that a person excluded is named as lost; so is any ignored file if keepAside is off", async () => {
    using box = projectWithSecrets();
    await box.must(["config", "excludePatterns", ".env"]);
    const excluded = run(box, "rm .env");
    expect([excluded.code, named(excluded.shape)]).toEqual([1, ["deleted .env lost"]]);
    box.write(".env", "KEY=1");
    await box.must(["config", "excludePatterns", "--clear"]);
    await box.must(["config", "keepAside", "false"]);
    const off = run(box, "rm .env");
    expect([off.code, named(off.shape)]).toEqual([1, ["deleted .env lost"]]);
    await box.must(["verify"]);
  });

  test("log, show, list and undo --dry-run tell neither the content nor the hash of a file kept aside", async () => {
    using box = projectWithSecrets();
    const secret = "KEY=a-secret-of-the-test";
    box.write(".env", secret);
    run(box, "rm .env; echo b > a.txt");
    const hash = createHash("sha256").update(secret).digest("hex");
    for (const words of [
      ["log", "--json"],
      ["show", "--json"],
      ["list", "--json"],
      ["undo", "--dry-run", "--json"],
    ]) {
      const { stdout } = await box.call(words);
      expect(stdout).not.toContain(hash);
      expect(stdout).not.toContain("a-secret");
    }
    expect((await box.call(["cat", ".env"])).code).not.toBe(0);
  });

  test("no replica asks for the contents kept aside", () => {
    const aside = encodeAside({ plan: sha256("plan"), until: "2026-01-08T00:00:00.000Z" });
    const event = { recordId: "session:s", record: { aside }, op: "upsert", seq: 2 } as unknown as LogEvent;
    expect(contentsOf(event)).toEqual([]);
  });

  test("contents kept aside expire, and do not come back after gc with keepAside off; verify finds nothing missing", async () => {
    using box = projectWithSecrets();
    const secret = randomBytes(4096).toString("hex");
    box.write(".env", secret);
    run(box, "rm .env; echo b > a.txt");
    await box.must(["gc"]);
    await box.must(["undo", "--dry-run"]);
    await box.must(["config", "keepAside", "false"]);
    expect((await box.json(["gc"])).value).toMatchObject({ freed_blobs: expect.any(Number) });
    await box.must(["verify"]);
    await box.call(["undo"]);
    expect([existsSync(join(box.project, ".env")), contents(box, "a.txt")]).toEqual([false, "a"]);
    expect(isKeptAt({ plan: sha256(secret), until: "2026-01-08T00:00:00.000Z" }, Date.UTC(2026, 0, 8))).toBe(false);
  });
});

describe("Truth 6: what a hook's command destroys among omitted paths", () => {
  function projectWithData(): Project {
    const project = new Project();
    project.write(".gitignore", ".env\n*.db\nout/\n");
    project.write(".git/HEAD", "ref");
    project.write("data.db", new Uint8Array(2 * 1024 * 1024));
    project.write("out/made", "m");
    project.write("a", "a");
    return project;
  }

  test("is named at the end of its action, whichever process finishes it, and in status", async () => {
    await using project = projectWithData();
    const first = await project.init();
    const action = await first.snapshotAction({ type: "run_command", payload: { command: "make pristine" } });
    for (const path of [".git", "data.db", "out", "a"]) project.remove(path);
    await first.close();
    const workspace = await project.open();
    const { action: ended } = await workspace.finishAction(action?.id ?? "");
    const lost = (ended.omitted_changes ?? []).map((one) => [one.path, one.change_type, one.lost]);
    expect(lost).toEqual([".git", "data.db", "out"].map((path) => [path, "deleted", true]));
    expect((await workspace.status()).notes.join("\n")).toContain("cannot be brought back: .git, data.db, out");
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("is not named if nothing happened, and is named as kept if it was kept aside before a sweep", async () => {
    await using project = projectWithData();
    project.write(".env", "KEY=1");
    const workspace = await project.init();
    const idle = await workspace.snapshotAction({ type: "run_command", payload: { command: "make pristine" } });
    expect((await workspace.finishAction(idle?.id ?? "")).action.omitted_changes).toBeUndefined();
    const swept = await workspace.snapshotAction({ type: "run_command", payload: { command: "rm -f .env" } });
    project.remove(".env");
    const end = await workspace.finishAction(swept?.id ?? "");
    const gone = { path: ".env", change_type: "deleted", kept: true, lost: false };
    expect([end.changes, end.action.omitted_changes]).toMatchObject([[], [gone]]);
  });

  test("is found by a list of omitted paths that survives gc while the action is open and goes to no replica", async () => {
    await using project = projectWithData();
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command: "make pristine" } });
    await workspace.gc();
    project.remove(".git");
    const { action: ended } = await workspace.finishAction(action?.id ?? "");
    expect(ended.omitted_changes).toMatchObject([{ path: ".git", lost: true }]);
    const record = { omitted_before: sha256("list"), state: "open" };
    expect(contentsOf({ recordId: "action:a", record, op: "upsert", seq: 2 } as unknown as LogEvent)).toEqual([]);
  });
});

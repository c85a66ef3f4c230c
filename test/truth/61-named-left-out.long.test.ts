import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ActionRequest } from "../../src/api/action-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { claude } from "../../src/hooks/claude.ts";
import { openStore } from "../../src/open.ts";
import { Project } from "../helpers/project.ts";
import { TwoSides } from "../helpers/two-sides.ts";
import { Agent, quiet } from "../hooks/hooked-agent.ts";
import { Serving } from "../server/serving.ts";

/**
 * An action that names files that the rules keep out records nothing of them, whatever the action does. Files that
 * git ignores are kept aside for its undo.
 */

const SECRETS = {
  "private.txt": "SECRET of a person\n",
  "hid/x": "SECRET in a person's folder\n",
  "local.env": "SECRET that git ignores\n",
  "modules/dep/a.js": "SECRET in an ignored folder\n",
  "src/deep/local.env": "SECRET in a tracked folder\n",
};
const RULES = { excludePatterns: ["private.txt", "hid"] };

class Kept extends Project {
  async live(): Promise<WorkspaceApi> {
    this.write(".gitignore", "*.env\nmodules/\n");
    for (const [path, content] of Object.entries(SECRETS)) this.write(path, content);
    this.write("src/a.txt", "a\n");
    return this.init(RULES);
  }
}

const bash = (command: string): ActionRequest => ({ type: "run_command", payload: { command } });
const file = (type: string, path: string): ActionRequest => ({ type, payload: { path } });

/** Actions that name files that are kept out, in each way. */
const BAIT: readonly ActionRequest[] = [
  ...["private.txt", "hid/x", "local.env", "modules/dep/a.js", "src/deep/local.env"].flatMap((path) => [
    file("delete_file", path),
    file("write_file", path),
    file("any_tool", path),
    bash(`rm -f ${path}`),
  ]),
  ...["hid", "modules", "modules/dep", "src"].flatMap((path) => [
    file("delete_directory", path),
    bash(`rm -rf ${path}`),
  ]),
  { type: "move_file", payload: { source: "local.env", destination: "src/b.txt" } },
  { type: "move_directory", payload: { source: "modules", destination: "old" } },
  bash("git clean -fdx"),
  bash("rm -rf * .env"),
  bash("echo x > local.env; echo y > hid/x"),
];
const ENDS: Readonly<Record<string, (workspace: WorkspaceApi, id: string) => Promise<unknown>>> = {
  denied: (on, id) => on.finishAction(id, { outcome: "denied", reason: "never meant" }),
  abandoned: (on) => on.abandonActions({ session: "s", unsure: true }),
  "ended with its session": (on) => on.endSession("s"),
  "done, with nothing changed": (on, id) => on.finishAction(id),
  failed: (on, id) => on.finishAction(id, { outcome: "failed" }),
};

async function recorded(workspace: WorkspaceApi): Promise<readonly string[]> {
  return (await workspace.files({ limit: 10_000 })).files.map(({ path }) => path);
}

async function saysNothing(workspace: WorkspaceApi): Promise<void> {
  const log = JSON.stringify(await workspace.log());
  for (const [path, content] of Object.entries(SECRETS)) {
    expect([path, log.includes(sha256(content))]).toEqual([path, false]);
    await expect(workspace.file(path), path).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
}

describe("Truth 61: an action that names files that the rules keep out", () => {
  test.each(Object.entries(ENDS))("%s: records nothing of them, now or later", async (_, end) => {
    await using project = new Kept();
    const workspace = await project.live();
    const before = await recorded(workspace);
    for (const request of BAIT) {
      const action = await workspace.snapshotAction({ ...request, session: "s", turn: "t" });
      expect([request, action?.coverage.complete]).toEqual([request, true]);
      await end(workspace, action?.id ?? "");
      expect([request, await recorded(workspace)]).toEqual([request, before]);
    }
    project.write("private.txt", "SECRET 2\n");
    project.write("local.env", "SECRET 3\n");
    await workspace.snapshot();
    expect(await recorded(workspace)).toEqual(before);
    project.write("private.txt", SECRETS["private.txt"]);
    await saysNothing(workspace);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("does not record their owner's edits while it is open either", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    const before = await recorded(workspace);
    for (const path of ["private.txt", "local.env", "hid/x", "modules/dep/a.js"]) {
      const action = await workspace.snapshotAction(file("write_file", path));
      project.write(path, "SECRET, edited\n");
      const { changes } = await workspace.finishAction(action?.id ?? "");
      expect([path, changes, await recorded(workspace)]).toEqual([path, [], before]);
      expect((await workspace.diff(action?.id ?? "")).changes).toEqual([]);
    }
    expect(JSON.stringify(await workspace.log())).not.toContain(sha256("SECRET, edited\n"));
  });

  test("still records what was recorded before a rule came", async () => {
    await using project = new Kept();
    project.write("old/kept.env", "recorded");
    const workspace = await project.init({ useGitignore: true });
    project.write(".gitignore", "*.env\nold/\n");
    const action = await workspace.snapshotAction(file("delete_directory", "old"));
    project.remove("old");
    const { changes } = await workspace.finishAction(action?.id ?? "");
    expect(changes.map(({ path }) => path)).toEqual(["old", "old/kept.env"]);
    await workspace.undo();
    expect(project.read("old/kept.env")).toBe("recorded");
  });
});

describe("Truth 61: readers, replicas and agents", () => {
  test("over HTTP, an agent's call that names a kept-out file shows it to no reader and no agent", async () => {
    await using serving = await Serving.start({
      before: async (store, base) => {
        const root = join(base, "project");
        writeFileSync(join(root, ".gitignore"), "*.env\n");
        for (const name of ["private.txt", "local.env", "open.txt"]) writeFileSync(join(root, name), `${name}\n`);
        await (await store.init({ roots: [root], ...RULES })).workspace.close();
      },
    });
    const workspace = (await serving.store.workspaces())[0]?.id ?? "";
    const [agent, reader] = [serving.token("agent", [workspace]), serving.token("reader", [workspace])];
    for (const path of ["private.txt", "local.env"]) {
      for (const end of [{ outcome: "denied" }, {}]) {
        const begun = await serving.send(`/v1/workspaces/${workspace}/actions`, file("delete_file", path), {
          token: agent,
        });
        const { id } = begun.json<{ id: string }>();
        await serving.send(`/v1/workspaces/${workspace}/actions/${id}/finish`, end, { token: agent });
        for (const token of [reader, agent])
          expect([path, (await serving.read(workspace, path, { token })).status]).toEqual([path, 404]);
      }
    }
    expect((await serving.read(workspace, "open.txt", { token: reader })).status).toBe(200);
  });

  test("over HTTP, an agent's undo reports the kept file as put back, and readers still do not see it", async () => {
    await using serving = await Serving.start({ folder: true });
    const client = createClient({ url: `http://127.0.0.1:${serving.port}`, token: serving.token("agent") });
    const { default_workspace: id } = await client.me();
    const workspace = await client.store.openById(id ?? "");
    const root = join(serving.base, "project");
    writeFileSync(join(root, ".gitignore"), "*.env\n");
    writeFileSync(join(root, "local.env"), "KEY=1\n");
    const action = await workspace.snapshotAction(file("write_file", "local.env"));
    expect(action?.files_backed_up).toEqual(["local.env"]);
    writeFileSync(join(root, "local.env"), "KEY=2\n");
    const { action: ended } = await workspace.finishAction(action?.id ?? "");
    expect(ended.omitted_changes).toMatchObject([{ path: "local.env", change_type: "modified", kept: true }]);
    const { kept_aside: back } = await workspace.undo({ action: ended.id });
    expect(back).toMatchObject([{ path: "local.env" }]);
    const token = serving.token("reader");
    expect((await serving.read(id ?? "", "local.env", { token })).status).toBe(404);
  });

  test("a replica's folder gets none of the files that are kept out", async () => {
    await using sides = new TwoSides();
    for (const [path, content] of Object.entries(SECRETS)) sides.write("origin", path, content);
    sides.write("origin", ".gitignore", "*.env\nmodules/\n");
    sides.write("origin", "a.txt", "a\n");
    const home = join(sides.base, "origin-home");
    const places = { home: join(home, "store"), configFolder: join(home, "config/chronicle") };
    const store = await openStore(places);
    const { workspace } = await store.init({ roots: [sides.path("origin", "")], ...RULES });
    await sides.follow();
    await sides.becomes("desk", "a.txt", "a\n");
    for (const request of BAIT) {
      const action = await workspace.snapshotAction(request);
      await workspace.finishAction(action?.id ?? "", { outcome: "denied" });
    }
    sides.write("origin", "last.txt", "last\n");
    await sides.becomes("desk", "last.txt", "last\n");
    await store.close();
    for (const path of Object.keys(SECRETS)) expect([path, sides.read("desk", path)]).toEqual([path, undefined]);
  });

  test("an agent's hooks record nothing of the files, whether its calls are denied or done", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    const before = await recorded(workspace);
    const agent = new Agent(claude, project);
    const call = (id: string, name: string, input: object) =>
      agent.hears("PreToolUse", { tool_name: name, tool_input: input, tool_use_id: id, prompt_id: "t1" });
    quiet(await call("c1", "Bash", { command: "rm -rf modules" }));
    quiet(await call("c2", "Write", { file_path: project.at("private.txt"), content: "x" }));
    quiet(await call("c3", "Bash", { command: "rm -rf hid local.env" }));
    quiet(await agent.hears("UserPromptSubmit", { prompt: "no" }));
    expect(await recorded(workspace)).toEqual(before);
    const tree = project.tree();
    await agent.runs(
      "rm -rf modules local.env",
      () => ["modules", "local.env"].map((one) => project.remove(one)),
      "c4",
    );
    await agent.writes("src/deep/local.env", "by the agent\n", "c5");
    expect(await recorded(workspace)).toEqual(before);
    await workspace.undo({ session: "s1" });
    expect(project.tree()).toEqual(tree);
    await saysNothing(workspace);
  });
});

describe("Truth 61: files that git ignores come back with the action that named them", () => {
  /** A request, and what its tool does. */
  const WORK: readonly (readonly [string, ActionRequest, (project: Project) => void])[] = [
    ["a file is removed", file("delete_file", "local.env"), (on) => on.remove("local.env")],
    ["a file is overwritten", file("write_file", "local.env"), (on) => on.write("local.env", "new\n")],
    ["a file is made", file("write_file", "made.env"), (on) => on.write("made.env", "new\n")],
    ["a file is made in new folders", file("write_file", "n/m/made.env"), (on) => on.write("n/m/made.env", "new\n")],
    ["a file is made in an ignored folder", file("write_file", "modules/b"), (on) => on.write("modules/b", "new\n")],
    [
      "a file is made in a new folder of an ignored one",
      file("write_file", "modules/n/m/b"),
      (on) => on.write("modules/n/m/b", "new\n"),
    ],
    ["an ignored folder is made", file("write_file", "src/modules/b"), (on) => on.write("src/modules/b", "new\n")],
    [
      "a file in an ignored folder is overwritten",
      file("write_file", "modules/dep/a.js"),
      (on) => on.write("modules/dep/a.js", "new\n"),
    ],
    ["a folder is removed", file("delete_directory", "modules"), (on) => on.remove("modules")],
    ["a tracked folder with ignored files is removed", file("delete_directory", "src"), (on) => on.remove("src")],
    ["a command removes a folder", bash("rm -rf modules"), (on) => on.remove("modules")],
    [
      "a command removes a file in an ignored folder",
      bash("rm modules/dep/a.js"),
      (on) => on.remove("modules/dep/a.js"),
    ],
    ["a command removes a tracked folder", bash("rm -rf src"), (on) => on.remove("src")],
    [
      "a command writes an ignored file and a recorded one",
      bash("echo x > local.env; echo y > src/a.txt"),
      (on) => {
        on.write("local.env", "x\n");
        on.write("src/a.txt", "y\n");
      },
    ],
    [
      "a command sweeps all",
      bash("git clean -fdx"),
      (on) => ["local.env", "modules", "src/deep/local.env"].forEach((one) => on.remove(one)),
    ],
    ["a large file is removed", file("delete_file", "large.env"), (on) => on.remove("large.env")],
    [
      "a file is moved to where it is recorded",
      { type: "move_file", payload: { source: "local.env", destination: "src/b.txt" } },
      (on) => {
        on.write("src/b.txt", on.read("local.env"));
        on.remove("local.env");
      },
    ],
  ];

  test.each(WORK)("%s", async (_, request, work) => {
    await using project = new Kept();
    project.write("large.env", Buffer.alloc(3 * 1024 * 1024, 7));
    const workspace = await project.live();
    const [before, known] = [project.tree(), await recorded(workspace)];
    const act = async (): Promise<string> => {
      const action = await workspace.snapshotAction({ ...request, session: "s", turn: "t" });
      work(project);
      const { action: ended } = await workspace.finishAction(action?.id ?? "");
      expect(ended.omitted_changes?.every((one) => one.kept && !one.lost)).toBe(true);
      expect(ended.omitted_changes?.length).toBeGreaterThan(0);
      return ended.id;
    };
    const id = await act();
    const after = project.tree();
    for (const way of [{ action: id }, { turn: "t" }]) {
      await workspace.undo(way);
      expect([way, project.tree()]).toEqual([way, before]);
      await workspace.redo();
      expect([way, project.tree()]).toEqual([way, after]);
    }
    await workspace.rollback(id);
    expect(project.tree()).toEqual(before);
    const { id: transaction } = await workspace.beginTransaction();
    await act();
    await workspace.gc();
    await workspace.rollbackTransaction(transaction);
    expect(project.tree()).toEqual(before);
    expect((await recorded(workspace)).filter((path) => path !== "src/b.txt")).toEqual(known);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("a person's file in a folder that the action made stays", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    const action = await workspace.snapshotAction(file("write_file", "modules/n/m/b"));
    project.write("modules/n/m/b", "the agent's");
    project.write("modules/n/c", "a person's");
    await workspace.finishAction(action?.id ?? "");
    await workspace.undo();
    expect(Object.keys(project.tree()).filter((path) => path.startsWith("modules/n"))).toEqual([
      "modules/n",
      "modules/n/c",
    ]);
  });

  test("a file that somebody has edited since is left alone", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    const action = await workspace.snapshotAction(file("write_file", "local.env"));
    project.write("local.env", "the agent's\n");
    await workspace.finishAction(action?.id ?? "");
    project.write("local.env", "a person's\n");
    const undone = workspace.undo({ action: action?.id ?? "" });
    await undone.then(
      ({ skipped }) => expect(skipped).toMatchObject([{ path: "local.env", reason: "changed" }]),
      (error: unknown) => expect(error).toMatchObject({ code: "REFUSED" }),
    );
    expect(project.read("local.env")).toBe("a person's\n");
  });
});

describe("Truth 61: files that a person excluded are named, and never stored", () => {
  test.each([
    ["private.txt", file("delete_file", "private.txt")],
    ["private.txt", bash("rm private.txt")],
    ["hid", file("delete_directory", "hid")],
    ["hid", bash("rm -rf hid")],
    ["hid/x", file("delete_file", "hid/x")],
  ])("%s, once removed, is reported as lost, and an undo does not bring it back", async (path, request) => {
    await using project = new Kept();
    const workspace = await project.live();
    const action = await workspace.snapshotAction(request);
    expect(action?.files_backed_up).toEqual([]);
    expect(action?.coverage.omitted).toMatchObject([{ path, reason: "excluded" }]);
    project.remove(path);
    const { action: ended } = await workspace.finishAction(action?.id ?? "");
    const gone = { path, change_type: "deleted", kept: false, lost: true };
    expect(ended.omitted_changes).toContainEqual(expect.objectContaining(gone));
    await workspace.undo({ action: ended.id }).catch(() => undefined);
    expect(Object.keys(project.tree())).not.toContain(path);
  });

  test("an excluded file in a folder that git ignores is lost as well, and an undo does not bring it back", async () => {
    for (const request of [file("delete_directory", "modules"), file("delete_file", "modules/dep/private.txt")]) {
      await using project = new Kept();
      for (const path of ["modules/dep/private.txt", "modules/hid/x"]) project.write(path, "SECRET 4\n");
      const workspace = await project.live();
      const action = await workspace.snapshotAction(request);
      const path = request.payload?.path ?? "";
      expect(action?.coverage.omitted.map((one) => one.path)).toContain("modules/dep/private.txt");
      project.remove(path);
      const { action: ended } = await workspace.finishAction(action?.id ?? "");
      expect(ended.omitted_changes).toContainEqual(
        expect.objectContaining({ path: "modules/dep/private.txt", change_type: "deleted", kept: false, lost: true }),
      );
      await workspace.undo({ action: ended.id }).catch(() => undefined);
      expect(Object.keys(project.tree())).not.toContain("modules/dep/private.txt");
      expect(project.read("modules/dep/a.js")).toBe(SECRETS["modules/dep/a.js"]);
    }
  });

  test("an excluded file that a tool makes is reported as created and not kept", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    project.remove("private.txt");
    for (const path of ["private.txt", "modules/new/private.txt"]) {
      const action = await workspace.snapshotAction(file("write_file", path));
      expect(action?.files_backed_up).toEqual([path]);
      project.write(path, "SECRET 2\n");
      const { action: ended, changes } = await workspace.finishAction(action?.id ?? "");
      expect(changes).toEqual([]);
      expect(ended.omitted_changes).toMatchObject([{ path, change_type: "created", kept: false }]);
      expect(await recorded(workspace)).not.toContain(path);
    }
  });

  test("with keepAside off, an ignored file that an action removes is reported as lost", async () => {
    await using project = new Kept();
    const workspace = await project.live();
    await workspace.configure({ keepAside: false });
    const action = await workspace.snapshotAction(file("delete_file", "local.env"));
    expect([action?.files_backed_up, action?.coverage.omitted.map((one) => one.path)]).toEqual([[], ["local.env"]]);
    project.remove("local.env");
    const { action: ended } = await workspace.finishAction(action?.id ?? "");
    expect(ended.omitted_changes).toMatchObject([{ path: "local.env", kept: false, lost: true }]);
  });

  test("an action whose kept files exceed the quota is refused, or begins with incomplete coverage if it only warns", async () => {
    await using project = new Kept();
    await (await project.live()).close();
    project.write("modules/large", Buffer.alloc(64 * 1024, 1));
    const store = await project.store({ retention: { max_store_bytes: 1 } });
    const workspace = await store.open({ folder: project.folder });
    const request = file("delete_directory", "modules");
    await expect(workspace.snapshotAction(request)).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    const warned = await workspace.snapshotAction({ ...request, onFailure: "warn" });
    expect(warned).toMatchObject({ files_backed_up: [], coverage: { complete: false } });
  });
});

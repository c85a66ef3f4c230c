import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { InitShape } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { copilot } from "../../src/hooks/copilot.ts";
import { Project } from "../helpers/project.ts";
import { Agent, quiet } from "../hooks/hooked-agent.ts";

/** Two processes that both find no workspace in a folder begin one workspace, not two. */

it("two stores that begin the workspace of one folder at the same time have the same workspace", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  const stores = [await project.store(), await project.store()];
  const opened = await Promise.all(stores.map((store) => store.open({ folder: project.folder, create: true })));
  expect(new Set(opened.map(({ id }) => id)).size).toBe(1);
  for (const workspace of opened) await workspace.close();
  const listed = await (await project.store()).workspaces();
  expect(listed.map(({ path }) => path)).toEqual([project.folder]);
});

it("of two `init` at the same time, one says that it has begun the workspace, and both name the same baseline", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  const results: InitShape[] = [];
  const init = async (): Promise<void> => {
    const { workspace, result } = await (await project.store()).init({ roots: [project.folder] });
    results.push(result);
    await workspace.close();
  };
  await Promise.all([init(), init()]);
  expect(results.map(({ created }) => created).toSorted((a, b) => Number(a) - Number(b))).toEqual([false, true]);
  expect(new Set(results.map(({ workspace }) => workspace)).size).toBe(1);
  expect(new Set(results.map(({ snapshot }) => snapshot.id)).size).toBe(1);
});

it("an agent that calls the hooks for its session and for the prompt at the same time keeps both", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  const open = () => project.open({ create: true, role: "agent" });
  const agent = new Agent(copilot, project, { open });
  const [began, prompted] = await Promise.all([
    agent.hears("SessionStart", { timestamp: "2030-01-01T00:00:00.000Z", source: "new" }),
    agent.hears("UserPromptSubmit", { timestamp: "2030-01-01T00:00:00.100Z", prompt: "Make it two." }),
  ]);
  quiet(began);
  quiet(prompted);
  const call = { tool_name: "Write", tool_input: { path: project.at("a.txt"), file_text: "two\n" } };
  quiet(await agent.hears("PreToolUse", { timestamp: "2030-01-01T00:00:01.000Z", ...call }));
  project.write("a.txt", "two\n");
  quiet(await agent.hears("PostToolUse", { timestamp: "2030-01-01T00:00:02.000Z", ...call }));
  const workspace = await project.open();
  expect(await workspace.turns()).toMatchObject([{ prompt: "Make it two.", actions: 1, paths: ["a.txt"] }]);
  expect(await (await project.store()).workspaces()).toHaveLength(1);
});

it("a hook for the start of a session that takes long does not end the turn that began in the meantime", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  let isFirst = true;
  const prompted = Promise.withResolvers<void>();
  const open = async () => {
    const isStart = isFirst;
    isFirst = false;
    if (isStart) await prompted.promise;
    return project.open({ create: true, role: "agent" });
  };
  const agent = new Agent(copilot, project, { open });
  const starting = agent.hears("SessionStart", { timestamp: "2030-01-01T00:00:00.000Z", source: "new" });
  quiet(await agent.hears("UserPromptSubmit", { timestamp: "2030-01-01T00:00:00.100Z", prompt: "Make it two." }));
  project.write("b.txt", "by a person\n");
  await (await project.open()).snapshot();
  prompted.resolve();
  quiet(await starting);
  const call = { tool_name: "Write", tool_input: { path: project.at("a.txt"), file_text: "two\n" } };
  quiet(await agent.hears("PreToolUse", { timestamp: "2030-01-01T00:00:01.000Z", ...call }));
  project.write("a.txt", "two\n");
  quiet(await agent.hears("PostToolUse", { timestamp: "2030-01-01T00:00:02.000Z", ...call }));
  expect(await (await project.open()).turns()).toMatchObject([{ prompt: "Make it two.", actions: 1 }]);
});

it("a session whose workspace was forgotten begins a new turn in the new workspace of the folder", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  const opened: WorkspaceApi[] = [];
  const open = async (_folder: string, create: boolean) => {
    const workspace = await project.open({ create, role: "agent" });
    opened.push(workspace);
    return workspace;
  };
  const agent = new Agent(copilot, project, { open });
  quiet(await agent.hears("SessionStart", { timestamp: "2030-01-01T00:00:00.000Z", source: "new" }));
  quiet(await agent.hears("UserPromptSubmit", { timestamp: "2030-01-01T00:00:00.100Z", prompt: "Make it two." }));
  const before = agent.notes.get("s1")?.turn;
  const [first] = opened;
  for (const one of opened) await one.close();
  await (await project.store()).forget(first?.id ?? "");
  const call = { tool_name: "Write", tool_input: { path: project.at("a.txt"), file_text: "two\n" } };
  quiet(await agent.hears("PreToolUse", { timestamp: "2030-01-01T00:00:01.000Z", ...call }));
  expect(opened.at(-1)?.id).not.toBe(first?.id);
  const after = agent.notes.get("s1")?.turn;
  expect([typeof before, typeof after, after === before]).toEqual(["string", "string", false]);
});

it("doctor names the workspaces of a folder that has several", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  const aside = join(project.base, "aside");
  const { id: first } = await project.init();
  renameSync(join(project.home, "workspaces", first), aside);
  rmSync(join(project.home, "cache", "roots.json"));
  const { id: second } = await project.init();
  renameSync(aside, join(project.home, "workspaces", first));
  const store = await project.store();
  const { id: used } = await store.open({ folder: project.folder });
  const unused = used === first ? second : first;
  const twice = async () => (await store.doctor()).checks.filter(({ name }) => name === "folder with two workspaces");
  const [check, ...others] = await twice();
  expect(others).toEqual([]);
  expect(check).toMatchObject({ ok: false, workspace: unused });
  expect(check?.detail).toBe(
    `${project.folder} belongs to two workspaces: commands there use ${used}, and not ${unused}`,
  );
  expect(check?.hint).toContain(`chronicle forget ${unused}`);
  await store.forget(unused);
  expect(await twice()).toEqual([]);
});

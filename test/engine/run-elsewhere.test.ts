import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import type { CommandEnd, CommandRunner, WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { Project } from "../helpers/project.ts";

/** A run whose command another process starts, or whose end is recorded later. */

const END: CommandEnd = { exitCode: 3, signal: null, code: 3 };

/** A runner whose command ends when the test says so. */
class Runner implements CommandRunner {
  readonly pid: number = process.pid;
  readonly session = Promise.withResolvers<string>();
  readonly end = Promise.withResolvers<CommandEnd>();

  run(_command: readonly string[], { moreEnv = {} }: Parameters<CommandRunner["run"]>[1]): Promise<CommandEnd> {
    this.session.resolve(moreEnv["CHRONICLE_RUN"] ?? "");
    return this.end.promise;
  }
}

async function begun(workspace: WorkspaceApi, more: { rollbackOnFailure?: boolean } = {}) {
  const runner = new Runner();
  const result = workspace.run({ command: ["edit", "f"], runner, ...more });
  result.catch(() => undefined);
  return { runner, result, id: await runner.session.promise };
}

it("a run does not make other operations wait for its command", async () => {
  await using project = new Project();
  project.write("f", "one\n");
  const workspace = await project.init();
  const { runner, result, id } = await begun(workspace);
  project.write("f", "two\n");
  expect((await workspace.snapshot({ name: "during" })).changed).toBe(1);
  project.write("f", "three\n");
  runner.end.resolve(END);
  const done = await result;
  expect([done.exit_code, done.session.session_id, done.session.changed]).toEqual([3, id, 1]);
  await workspace.restore("during");
  expect(project.read("f")).toBe("two\n");
  await workspace.undo();
  await workspace.undo({ session: id });
  expect(project.read("f")).toBe("one\n");
});

it.each([false, true])(
  "a run whose end is unknown stays open, and can be ended later (rolled back: %s)",
  async (rollbackOnFailure) => {
    await using project = new Project();
    project.write("f", "one\n");
    const workspace = await project.init();
    const { runner, result, id } = await begun(workspace, { rollbackOnFailure });
    project.write("f", "two\n");
    runner.end.reject(new ChronicleError("UNAVAILABLE", "nobody knows"));
    await expect(result).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect((await workspace.sessions()).at(-1)).toMatchObject({ session_id: id, state: "running" });
    project.write("g", "new\n");
    const ended = { ...END, session: id };
    const done = await workspace.run({ command: ["edit", "f"], ended });
    expect(done).toMatchObject({ exit_code: 3, rolled_back: rollbackOnFailure });
    expect(done.changes.map(({ path }) => path)).toEqual(["f", "g"]);
    expect([project.read("f"), existsSync(project.at("g"))]).toEqual(
      rollbackOnFailure ? ["one\n", false] : ["two\n", true],
    );
    // A second report of the end changes nothing.
    const { seq } = await workspace.head();
    expect(await workspace.run({ command: ["edit", "f"], ended })).toMatchObject({ exit_code: 3 });
    expect((await workspace.head()).seq).toBe(seq);
  },
);

it("the end of a run is refused from a process that did not begin it", async () => {
  await using project = new Project();
  project.write("f", "one\n");
  const workspace = await project.init();
  const other = spawn("sleep", ["60"]);
  const runner = Object.assign(new Runner(), { pid: other.pid ?? 0 });
  const result = workspace.run({ command: ["edit"], runner });
  const session = await runner.session.promise;
  const late = workspace.run({ command: ["edit"], ended: { ...END, session } });
  await expect(late).rejects.toMatchObject({ code: "USAGE" });
  runner.end.resolve(END);
  expect((await result).session.state).toBe("ended");
  const again = workspace.run({ command: ["edit"], ended: { ...END, session } });
  await expect(again).rejects.toMatchObject({ code: "USAGE" });
  other.kill();
});

it("one request is one run, even if another process sends the request again", async () => {
  await using project = new Project();
  project.write("f", "one\n");
  const workspace = await project.init();
  const second = await project.open();
  const { runner, result, id } = await begun(workspace.as({ requestId: "r" }), { rollbackOnFailure: true });
  runner.end.reject(new ChronicleError("UNAVAILABLE", "nobody knows"));
  await expect(result).rejects.toMatchObject({ code: "UNAVAILABLE" });
  const command = ["sh", "-c", "echo two > f"];
  const done = await second.as({ requestId: "r" }).run({ command, rollbackOnFailure: true });
  expect([done.exit_code, done.session.session_id, done.ambiguous]).toEqual([0, id, []]);
  const again = await second.as({ requestId: "r" }).run({ command: ["sh", "-c", "echo three > f"] });
  expect([again.exit_code, again.session.session_id, project.read("f")]).toEqual([0, id, "two\n"]);
  expect((await second.transactions()).map(({ status }) => status)).toEqual(["committed"]);
  expect((await second.sessions()).map(({ state }) => state)).toEqual(["ended"]);
});

it("a second report of a run's end returns the same exit code and signal", async () => {
  await using project = new Project();
  project.write("f", "one\n");
  const workspace = await project.init();
  const { runner, result, id } = await begun(workspace);
  const end = { exitCode: null, signal: "SIGTERM", code: 143 };
  runner.end.resolve(end);
  expect((await result).exit_code).toBe(143);
  const late = await workspace.run({ command: ["edit"], ended: { ...end, session: id } });
  expect([late.exit_code, late.signal]).toEqual([143, "SIGTERM"]);
});

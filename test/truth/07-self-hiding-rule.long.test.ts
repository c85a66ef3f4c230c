import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ActionRequest } from "../../src/api/action-api.ts";
import type { ActionEndShape } from "../../src/api/action-shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

interface Shape {
  readonly changes: readonly { readonly path: string }[];
  readonly session: {
    readonly omitted_changes?: readonly {
      readonly path: string;
      readonly change_type: string;
      readonly kept: boolean;
    }[];
  };
}

function run(box: Sandbox, script: string): { code: number | null; shape: Shape } {
  const { code, stderr } = box.run(["--json", "run", "--", "sh", "-c", script]);
  return { code, shape: JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") as Shape };
}

describe("Truth 7: paths that rules from the same run hide", () => {
  test("a rule that hides itself is recorded, the other paths that it hides are named, and undo removes both", async () => {
    using box = new Sandbox();
    box.write("a", "a");
    box.run(["init"]);
    const { code, shape } = run(box, "echo '*' > .gitignore; echo x > planted; mkdir -p out; echo y > out/made");
    expect(code).toBe(0);
    expect(shape.changes.map(({ path }) => path)).toEqual([".gitignore"]);
    expect(shape.session.omitted_changes).toMatchObject([
      { path: "out", change_type: "created", kept: false },
      { path: "planted", change_type: "created", kept: true },
    ]);
    await box.must(["undo"]);
    expect([existsSync(join(box.project, ".gitignore")), existsSync(join(box.project, "planted"))]).toEqual([
      false,
      false,
    ]);
    await box.must(["redo"]);
    expect([existsSync(join(box.project, ".gitignore")), existsSync(join(box.project, "planted"))]).toEqual([
      true,
      true,
    ]);
    await box.must(["verify"]);
  });

  test("the summary in words names a path that a rule in a new folder hides, and undo removes the folder", async () => {
    using box = new Sandbox();
    box.write("a", "a");
    box.run(["init"]);
    const ran = box.run(["run", "--", "sh", "-c", "mkdir d; echo '*' > d/.gitignore; echo x > d/planted"]);
    expect(ran.stderr).toContain("2 changes");
    expect(ran.stderr).toContain("1 path that the rules leave out was created under rules of its own");
    expect(ran.stderr).toContain("d/planted");
    await box.must(["undo"]);
    expect(existsSync(join(box.project, "d"))).toBe(false);
  });

  test("paths that earlier rules leave out are not named", () => {
    using box = new Sandbox();
    box.write(".gitignore", "out/\n*.o\n");
    box.run(["init"]);
    const { shape } = run(box, "mkdir out; echo x > out/x; echo x > x.o; echo '*.o' >> .gitignore");
    expect(shape.changes.map(({ path }) => path)).toEqual([".gitignore"]);
    expect(shape.session.omitted_changes).toBeUndefined();
  });
});

/** An agent's tool calls, as its hooks record them. */
class Tools {
  readonly #project: Project;
  readonly #workspace: WorkspaceApi;

  constructor(project: Project, workspace: WorkspaceApi) {
    this.#project = project;
    this.#workspace = workspace;
  }

  /** A command whose words do not name what it does. */
  async bash(script: string): Promise<ActionEndShape> {
    return this.call({ type: "run_command", payload: { command: "make" } }, () => {
      execFileSync("sh", ["-ec", script], { cwd: this.#project.folder });
    });
  }

  async write(path: string, content: string): Promise<ActionEndShape> {
    return this.call({ type: "write_file", payload: { path } }, () => this.#project.write(path, content));
  }

  async call(request: ActionRequest, tool: () => void): Promise<ActionEndShape> {
    const action = await this.#workspace.snapshotAction({ ...request, session: "s", turn: "t", actor: "claude" });
    tool();
    return this.#workspace.finishAction(action?.id ?? "");
  }
}

function hidden({ action }: ActionEndShape): unknown[] {
  return (action.omitted_changes ?? []).map((one) => [one.path, one.change_type, one.kept]);
}

describe("Truth 7: paths that rules from the same session of an agent hide", () => {
  test("a command's rule that hides itself is recorded, the other hidden paths are named, and undo removes both", async () => {
    await using project = new Project();
    project.write("a", "a");
    const workspace = await project.init();
    const end = await new Tools(project, workspace).bash(
      "echo '*' > .gitignore; echo x > planted; mkdir out; echo y > out/made; echo b > a",
    );
    expect(end.changes.map(({ path }) => path)).toEqual([".gitignore", "a"]);
    expect(hidden(end)).toEqual([
      ["out", "created", false],
      ["planted", "created", true],
    ]);
    expect(end.action.changed).toBe(2);
    await workspace.undo();
    expect(project.read("a")).toBe("a");
    expect(Object.keys(project.tree())).not.toContain(".gitignore");
    expect(Object.keys(project.tree())).not.toContain("planted");
    await workspace.redo();
    expect([project.read("a"), project.read("planted")]).toEqual(["b\n", "x\n"]);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("paths that a rule from an earlier tool call of the session hides are named", async () => {
    await using project = new Project();
    project.write(".gitignore", "*.o\n");
    project.write("a", "a");
    const workspace = await project.init();
    await workspace.startSession({ id: "s", actor: "claude" });
    const tools = new Tools(project, workspace);
    await tools.write(".gitignore", "*\n");
    const end = await tools.bash("echo x > planted; echo x > x.o");
    expect(hidden(end)).toEqual([["planted", "created", true]]);
    await workspace.undo({ session: "s" });
    expect([project.read(".gitignore"), project.read("x.o")]).toEqual(["*.o\n", "x\n"]);
    expect(Object.keys(project.tree())).not.toContain("planted");
  });

  test("an action whose end was not reported names the hidden paths once it is abandoned", async () => {
    await using project = new Project();
    project.write("a", "a");
    const workspace = await project.init();
    const action = await workspace.snapshotAction({
      type: "run_command",
      payload: { command: "make" },
      session: "s",
      turn: "t",
    });
    project.write(".gitignore", "*\n");
    project.write("planted", "x");
    await workspace.abandonActions({ session: "s" });
    const now = (await workspace.list()).find((one) => one.id === action?.id);
    expect(now?.omitted_changes).toMatchObject([{ path: "planted", change_type: "created" }]);
    expect((await workspace.history(".gitignore")).length).toBe(1);
  });

  test("files that putFile writes are recorded whatever rules came before them", async () => {
    await using project = new Project();
    project.write("a", "a");
    const workspace = await project.init();
    await workspace.putFile(".gitignore", Buffer.from("*\n"));
    await workspace.putFile("planted", Buffer.from("x"));
    expect((await workspace.history("planted")).length).toBe(1);
    expect((await workspace.history(".gitignore")).length).toBe(1);
  });
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";
import { OPERATOR, Serving } from "../server/serving.ts";

/** Whoever bears an agent's token learns nothing of where a folder lies by naming paths that lead out of it. */

interface Told {
  readonly id: string;
  readonly outside: string[];
  readonly coverage: { readonly omitted: { readonly path: string }[] };
}

/** Paths that lead out, as a tool would give them, and how they are told. */
const OUT: readonly (readonly [string, object, string])[] = [
  ["a file beside", { type: "write_file", payload: { path: "../x" } }, "@outside:x"],
  ["a file further up", { type: "write_file", payload: { path: "a/../../../y/x" } }, "@outside:y/x"],
  ["an absolute path", { type: "write_file", payload: { path: "/etc/x" } }, "@outside:etc/x"],
  ["a folder beside", { type: "delete_directory", payload: { path: "../x" } }, "@outside:x"],
  ["a command's path", { type: "run_command", payload: { command: "rm ../x" } }, "@outside:x"],
  ["a command's folder", { type: "run_command", payload: { command: "rm x", cwd: ".." } }, "@outside:x"],
];

describe("Truth: a path that leads out of the workspace is told as it was given", () => {
  it("in the answer, in the refusal, in the list and in the log", async () => {
    await using serving = await Serving.start({ folder: true });
    writeFileSync(join(serving.base, "project", "a.txt"), "one\n");
    const { default_workspace: id } = (await serving.ask("/v1/me")).json<{ default_workspace: string }>();
    const [base, token] = [`/v1/workspaces/${id}`, serving.token("agent")];
    const silent = (text: string): boolean => !text.includes(serving.base.slice(1));
    for (const [what, asked, path] of OUT) {
      const refused = await serving.send(`${base}/actions`, asked, { token });
      expect([what, refused.status, silent(refused.text)]).toEqual([what, 409, true]);
      const begun = await serving.send(`${base}/actions`, { ...asked, on_failure: "warn" }, { token });
      const told = begun.json<Told>();
      expect([what, begun.status, silent(begun.text), told.outside]).toEqual([what, 201, true, []]);
      expect(told.coverage.omitted.map((one) => one.path)).toContain(path);
      const end = await serving.send(`${base}/actions/${told.id}/finish`, {}, { token });
      expect([what, silent(end.text)]).toEqual([what, true]);
    }
    for (const path of ["/actions", "/log?prefix=action:", "/log?prefix=outside", "/recent"])
      expect([path, silent((await serving.ask(`${base}${path}`, { token })).text)]).toEqual([path, true]);
  });

  it("is not looked at by whoever finishes the action", async () => {
    await using serving = await Serving.start({ folder: true });
    const { default_workspace: id } = (await serving.ask("/v1/me")).json<{ default_workspace: string }>();
    const base = `/v1/workspaces/${id}`;
    const secret = join(serving.base, "secret.txt");
    writeFileSync(secret, "before\n");
    const asked = { type: "write_file", payload: { path: secret }, on_failure: "warn" };
    const begun = await serving.send(`${base}/actions`, asked, { token: serving.token("agent") });
    writeFileSync(secret, "after\n");
    const { id: action } = begun.json<Told>();
    expect((await serving.send(`${base}/actions/${action}/finish`, {}, { token: OPERATOR })).status).toBe(200);
    expect((await serving.ask(`${base}/log?prefix=outside`)).json()["items"]).toEqual([]);
  });

  it("while paths of the workspace are kept however they are given, also over its roots", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    project.write("../other/b.txt", "one\n");
    const person = await project.init({ roots: [project.folder, join(project.base, "other")] });
    const agent = person.as({ role: "agent", onlyInside: true });
    for (const path of ["a.txt", "../project/a.txt", project.at("a.txt")]) {
      const action = await agent.snapshotAction({ type: "write_file", payload: { path } });
      expect([path, action?.files_backed_up]).toEqual([path, ["a.txt"]]);
    }
    for (const path of ["../other/b.txt", join(project.base, "other", "b.txt")]) {
      const action = await agent.snapshotAction({ type: "write_file", payload: { path } });
      expect([path, action?.files_backed_up]).toEqual([path, [expect.stringMatching(/^@.+:b\.txt$/)]]);
    }
    const homely = await project.store({ userHome: join(project.base, "home") });
    const agentThere = (await homely.open({ folder: project.folder })).as({ role: "agent", onlyInside: true });
    const payload = { command: "rm ~/x ../y" };
    const gone = await agentThere.snapshotAction({ type: "run_command", payload, onFailure: "warn" });
    expect(gone?.coverage.omitted.map((one) => one.path).toSorted()).toEqual(["@outside:y", "@outside:~/x"]);
    const all = await agent.snapshotAction({ type: "delete_directory", payload: { path: ".." }, onFailure: "warn" });
    expect(all?.scope).toBe("workspace");
  });
});

import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { holding } from "../helpers/holding.ts";
import { Project } from "../helpers/project.ts";
import { OPERATOR, Serving } from "../server/serving.ts";

/** The bearer of an agent's token learns nothing of where a folder lies by naming paths that lead out of it. */

interface Told {
  readonly id: string;
  readonly outside: string[];
  readonly coverage: { readonly omitted: { readonly path: string }[] };
}

/** Paths that lead out, as a tool would give them, and the form in which they are reported. */
const OUT: readonly (readonly [string, object, string])[] = [
  ["a file beside", { type: "write_file", payload: { path: "../x" } }, "@outside:x"],
  ["a file further up", { type: "write_file", payload: { path: "a/../../../y/x" } }, "@outside:y/x"],
  ["an absolute path", { type: "write_file", payload: { path: "/etc/x" } }, "@outside:etc/x"],
  ["a folder beside", { type: "delete_directory", payload: { path: "../x" } }, "@outside:x"],
  ["a command's path", { type: "run_command", payload: { command: "rm ../x" } }, "@outside:x"],
  ["a command's folder", { type: "run_command", payload: { command: "rm x", cwd: ".." } }, "@outside:x"],
];

describe("Truth: a path that leads out of the workspace", () => {
  it("is reported as it was given, in the answer, the refusal, the list and the log", async () => {
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

  it("is not recorded either if an operator finishes the action", async () => {
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

  it("does not include paths of the workspace, which are kept however they are given, also in further roots", async () => {
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

/** Paths around a single file that is tracked. All of them are outside, the store's own keys as well. */
const AROUND: readonly (readonly [string, (at: (path: string) => string) => object])[] = [
  ["a file beside", () => ({ type: "write_file", payload: { path: "secret" } })],
  ["its absolute path", (at) => ({ type: "write_file", payload: { path: at("secret") } })],
  ["a folder beside", (at) => ({ type: "delete_directory", payload: { path: at("deep") } })],
  ["the folder itself", (at) => ({ type: "delete_directory", payload: { path: at(".") } })],
  ["a command", () => ({ type: "run_command", payload: { command: "rm -rf secret deep" } })],
  ["a tool that nobody knows", (at) => ({ type: "other", payload: { paths: [at("secret"), at("deep")] } })],
  ["what a link beside leads to", () => ({ type: "write_file", payload: { path: "link" } })],
  ["what the tracked name has become", () => ({ type: "write_file", payload: { path: "notes.md" } })],
  ["the store", (at) => ({ type: "delete_directory", payload: { path: at("store") } })],
  ["a key of the store", (at) => ({ type: "write_file", payload: { path: at("config/operator.token") } })],
];

describe("Truth: nothing around a single file that is tracked is read for the bearer of a token", () => {
  it.each(AROUND)("%s", async (what, asked) => {
    await using serving = await Serving.start();
    const at = (path: string): string => join(serving.base, path);
    const [secret, deeper] = [Buffer.from("KEY=secret\n"), Buffer.from("KEY=deeper\n")];
    mkdirSync(at("deep"));
    writeFileSync(at("notes.md"), "one\n");
    writeFileSync(at("secret"), secret);
    writeFileSync(at("deep/secret"), deeper);
    symlinkSync("deep/secret", at("link"));
    const { workspace } = await serving.store.init({ roots: [at("notes.md")] });
    const served = (await serving.store.workspaces())[0]?.id ?? "";
    const base = `/v1/workspaces/${served}`;
    await workspace.close();
    writeFileSync(at("config/operator.token"), secret);
    if (what.startsWith("what the tracked")) {
      rmSync(at("notes.md"));
      symlinkSync("secret", at("notes.md"));
    }
    for (const token of [serving.token("agent"), serving.token("operator", [served])]) {
      const begun = await serving.send(`${base}/actions`, { ...asked(at), on_failure: "warn" }, { token });
      const { id, outside } = begun.json<Told>();
      expect([begun.status, outside]).toEqual([201, []]);
      expect((await serving.send(`${base}/actions/${id}/finish`, {}, { token })).status).toBe(200);
      expect((await serving.ask(`${base}/log?prefix=outside`, { token })).json()["items"]).toEqual([]);
    }
    for (const bytes of [secret, deeper]) expect(holding(join(serving.base, "store"), bytes)).toEqual([]);
  });

  it("and the name of the folder is not reported", async () => {
    await using project = new Project();
    project.write("notes.md", "one\n");
    const person = await project.init({ roots: [project.at("notes.md")] });
    const agent = person.as({ role: "agent", onlyInside: true });
    const kept = await agent.snapshotAction({ type: "write_file", payload: { path: "notes.md" } });
    expect(kept?.files_backed_up).toEqual(["notes.md"]);
    for (const path of ["secret", "../secret"]) {
      const gone = await agent.snapshotAction({ type: "write_file", payload: { path }, onFailure: "warn" });
      expect(gone?.coverage.omitted.map((one) => one.path)).toEqual(["@outside:secret"]);
    }
  });
});

describe("Truth: the configuration folder within a repository's own state", () => {
  it("is not kept aside when an action removes that state", async () => {
    await using project = new Project({ storeInside: true, config: "project/.git/chronicle" });
    project.write("a.txt", "one\n");
    project.write(".git/HEAD", "ref: refs/heads/main\n");
    const secret = Buffer.from("the operator's token\n");
    project.write(".git/chronicle/operator.token", secret);
    const person = await project.init();
    for (const agent of [person, person.as({ role: "agent", onlyInside: true })]) {
      for (const command of ["rm -rf .git", "rm -rf .git/chronicle", "rm -f .git/chronicle/operator.token"]) {
        await agent.snapshotAction({ type: "run_command", payload: { command }, onFailure: "warn" });
        expect([command, holding(project.home, secret)]).toEqual([command, []]);
      }
    }
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ActionRequest } from "../../src/api/action-api.ts";
import type { TransactionShape } from "../../src/api/action-shapes.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { McpClient } from "../helpers/mcp-client.ts";
import { McpProject, type StartMcp } from "../helpers/mcp-project.ts";
import { Project } from "../helpers/project.ts";
import { ServedStore } from "../helpers/served-store.ts";

/** Does what the hooks of an agent do: records the agent's session, and each of its edits as an action. */
async function agentEdits(project: Project, session: string, files: Readonly<Record<string, string>>): Promise<void> {
  const workspace = await project.open();
  await workspace.startSession({ id: session, actor: "claude", pid: null });
  for (const [path, content] of Object.entries(files)) {
    const request: ActionRequest = { type: "write_file", payload: { path }, session, actor: "claude", pid: null };
    await workspace.action(request, () => project.write(path, content));
  }
  await workspace.close();
}

async function begin(mcp: McpProject, args: object = {}): Promise<string> {
  const { data } = await mcp.client.call("begin_transaction", args);
  return (data["transaction"] as TransactionShape).id;
}

function suite(start: StartMcp): void {
  it("rolls back what its session's actions did, and leaves a person's edits made meanwhile", async () => {
    await using mcp = await start((project) => {
      project.write("theirs.txt", "before");
      project.write("agents.txt", "before");
    });
    await agentEdits(mcp.project, "s1", { "first.txt": "before it began" });
    const id = await begin(mcp, { name: "try it" });
    await agentEdits(mcp.project, "s1", { "agents.txt": "by the agent", "new.txt": "by the agent" });
    mcp.project.write("theirs.txt", "by a person");
    mcp.project.write("notes.txt", "by a person");
    mcp.project.remove("first.txt");
    const { text } = await mcp.client.call("rollback_transaction", { id });
    const tree = Object.keys(mcp.project.tree());
    expect(tree).toEqual(["agents.txt", "notes.txt", "theirs.txt"]);
    expect(mcp.project.read("agents.txt")).toBe("before");
    expect(mcp.project.read("theirs.txt")).toBe("by a person");
    expect(text).toMatch(/stay.*first\.txt, notes\.txt, theirs\.txt/);
  });

  it("does not roll back what another agent's session and a person's restore did meanwhile", async () => {
    await using mcp = await start((project) => project.write("a.txt", "0"));
    await agentEdits(mcp.project, "s1", { "a.txt": "1" });
    const id = await begin(mcp);
    await agentEdits(mcp.project, "s2", { "other.txt": "by the other agent" });
    const person = await mcp.project.open();
    await person.restore("baseline", { paths: ["a.txt"] });
    await person.close();
    await mcp.client.call("rollback_transaction", { id });
    expect(mcp.project.read("other.txt")).toBe("by the other agent");
    expect(mcp.project.read("a.txt")).toBe("0");
  });

  it("rolls back what its own tools did in it", async () => {
    await using mcp = await start((project) => project.write("a.txt", "0"));
    await agentEdits(mcp.project, "s1", { "a.txt": "1" });
    const id = await begin(mcp);
    await mcp.client.call("restore", { moment: "baseline" });
    expect(mcp.project.read("a.txt")).toBe("0");
    await mcp.client.call("rollback_transaction", { id });
    expect(mcp.project.read("a.txt")).toBe("1");
  });

  it("is refused without a session if several are open, and belongs to the session that is given", async () => {
    await using mcp = await start();
    await agentEdits(mcp.project, "s1", { "a.txt": "1" });
    await agentEdits(mcp.project, "s2", { "b.txt": "1" });
    const refused = await mcp.client.call("begin_transaction");
    expect(refused.isError).toBe(true);
    expect(refused.text).toMatch(/several agents' sessions are open here: s1, s2/);
    const id = await begin(mcp, { session: "s2" });
    await agentEdits(mcp.project, "s1", { "a.txt": "2" });
    await agentEdits(mcp.project, "s2", { "b.txt": "2" });
    await mcp.client.call("rollback_transaction", { id });
    expect([mcp.project.read("a.txt"), mcp.project.read("b.txt")]).toEqual(["2", "1"]);
  });

  it("is shown by the status and the list while it is open", async () => {
    await using mcp = await start((project) => project.write("a.txt", "0"));
    const id = await begin(mcp, { name: "try it" });
    const workspace = await mcp.project.open();
    const notes = (await workspace.status()).notes.join("\n");
    expect(notes).toMatch(new RegExp(`transaction ${id} \\(try it\\) is open`));
    const { items } = await workspace.recent();
    expect(items[0]).toMatchObject({
      kind: "transaction",
      short_id: id,
      summary: "try it (open)",
      back: `chronicle transaction rollback ${id}`,
    });
    const { text } = await mcp.client.call("commit_transaction", { id });
    expect(text).toContain("Nothing was changed in it.");
    expect((await workspace.status()).notes.join("\n")).not.toContain("transaction");
  });
}

describe("Truth 11: a transaction of an MCP client", () => {
  suite((prepare) => McpProject.start(prepare));
});

describe("Truth 11: a transaction of an MCP client, over a server", () => {
  suite((prepare) => McpProject.startRemote(prepare));
});

describe("Truth 11: the owner of a transaction", () => {
  it("is the MCP server: once the server is gone, the next change commits the transaction and says so", async () => {
    using box = new Sandbox();
    box.write("a.txt", "0");
    await box.must(["init"]);
    const [node = "", ...first] = box.command;
    const server = spawn(node, [...first, "mcp"], { cwd: box.project, env: box.env(), stdio: "pipe" });
    const client = new McpClient(server.stdin, server.stdout, { name: "claude-code" });
    await client.initialize();
    const { id } = (await client.call("begin_transaction")).data["transaction"] as TransactionShape;
    server.kill("SIGKILL");
    await once(server, "exit");
    box.write("a.txt", "a person's");
    const gone = /process \d+ that began (?:it|the transaction .*) is gone/;
    expect((await box.must(["status"])).stdout).toMatch(gone);
    const { stderr } = await box.must(["snapshot"]);
    expect(stderr).toMatch(gone);
    expect(stderr).toContain("the transaction was committed");
    expect(JSON.parse((await box.must(["transaction", "list", "--json"])).stdout)).toMatchObject([
      { id: expect.stringMatching(new RegExp(`^${id}-`)), status: "committed" },
    ]);
    expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("a person's");
  });
});

describe.skipIf(!existsSync("/proc/self/stat"))("Truth 11: two agents of one kind in one folder", () => {
  it("are told apart: the rollback of one undoes its own restore, and not the other agent's", async () => {
    using box = new Sandbox();
    for (const name of ["mine.txt", "theirs.txt"]) box.write(name, "0");
    await box.must(["init"]);
    for (const name of ["mine.txt", "theirs.txt"]) box.write(name, "1");
    await box.must(["snapshot"]);
    const [node = "", ...first] = box.command;
    const servers = [0, 1].map(() =>
      spawn(node, [...first, "mcp"], { cwd: box.project, env: box.env(), stdio: "pipe" }),
    );
    const [mine, theirs] = servers.map(({ stdin, stdout }) => new McpClient(stdin, stdout, { name: "claude-code" }));
    if (mine === undefined || theirs === undefined) throw new Error("there are two");
    await Promise.all([mine.initialize(), theirs.initialize()]);
    const begun = await mine.call("begin_transaction", { session: "A" });
    await theirs.call("restore", { moment: "baseline", paths: ["theirs.txt"] });
    await mine.call("restore", { moment: "baseline", paths: ["mine.txt"] });
    await mine.call("rollback_transaction", { id: (begun.data["transaction"] as TransactionShape).id });
    const now = ["mine.txt", "theirs.txt"].map((name) => readFileSync(join(box.project, name), "utf8"));
    expect(now).toEqual(["1", "0"]);
    for (const server of servers) {
      const ended = once(server, "exit");
      server.stdin.end();
      await ended;
    }
  });
});

describe("Truth 11: a transaction over HTTP", () => {
  it("rolls back the writes in it, and leaves what is edited in the folder meanwhile", async () => {
    await using project = new Project();
    project.write("a.txt", "0");
    await (await project.init()).close();
    await using served = await ServedStore.start({ places: project, folder: project.folder });
    const [shape] = await served.store.workspaces();
    const remote = served.client().workspace(shape?.id ?? "");
    const { id } = await remote.beginTransaction({ name: "over HTTP" });
    await remote.putFile("a.txt", Buffer.from("written"));
    project.write("edited.txt", "by a person");
    await remote.rollbackTransaction(id);
    expect(project.read("a.txt")).toBe("0");
    expect(project.read("edited.txt")).toBe("by a person");
  });
});

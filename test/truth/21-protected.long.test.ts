import { createHash } from "node:crypto";
import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import type { Role } from "../../src/api/routes/role.ts";
import { ROUTES } from "../../src/api/routes/table.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { COMMANDS } from "../../src/cli/table/command-table.ts";
import { TOOLS } from "../../src/mcp/make-server.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { McpProject } from "../helpers/mcp-project.ts";
import { Project } from "../helpers/project.ts";
import { answerTo, type EachRequest, requestsToAll } from "../helpers/requests-to-all.ts";
import { GatewayClient } from "../server/gateway-client.ts";
import { Serving } from "../server/serving.ts";

/**
 * Secrets by the names of their files are recorded and restored like other files. Agents, readers and diffs get no
 * byte.
 */

const NEEDLE = "s3cr3t-of-this-test";
const FIRST = `TOKEN=${NEEDLE}-first\n`;
const SECOND = `TOKEN=${NEEDLE}-second\n`;
const THIRD = `TOKEN=${NEEDLE}-third\n`;

function hashOf(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}

async function bytesOf(content: { pieces(): AsyncIterable<Uint8Array> }): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content.pieces()) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

/** Tells whether the text has the needle, as it is or in Base64 with any alignment. */
function tells(text: string): boolean {
  const middle = [0, 1, 2].map((skip) => Buffer.from(NEEDLE.slice(skip)).toString("base64").slice(0, 16));
  return [NEEDLE, ...middle].some((one) => text.includes(one));
}

async function classIn(workspace: WorkspaceApi, path: string): Promise<unknown> {
  const events = await workspace.log({ prefix: `file:${path}` });
  const last = events.findLast((one) => one.record_id === `file:${path}`);
  return (last?.record as { class?: unknown } | undefined)?.class;
}

/** A project with two secrets in its baseline, and the views of a person and of an agent. */
async function begun(project: Project): Promise<{ readonly person: WorkspaceApi; readonly agent: WorkspaceApi }> {
  project.write(".env", FIRST, 0o600);
  project.write("deep/id_rsa", FIRST, 0o400);
  project.write(".env.example", "TOKEN=\n");
  project.write("a.txt", "ordinary\n");
  const person = await project.init();
  return { person, agent: person.as({ role: "agent", actor: "claude" }) };
}

/** Every way by which a program asks for a content. */
const READS: readonly (readonly [string, (on: WorkspaceApi, path: string, content: string) => Promise<string>])[] = [
  ["file", async (on, path) => bytesOf(await on.file(path))],
  [
    "file, a part",
    async (on, path) => {
      const content = await on.file(path);
      return bytesOf({ pieces: () => content.pieces({ start: 0, end: 5 }) });
    },
  ],
  ["cat", async (on, path) => bytesOf(await on.cat(path))],
  ["cat, an iteration", async (on, path) => bytesOf(await on.cat(path, 1))],
  ["blame", async (on, path) => (await on.blame(path)).lines.map(({ text }) => text).join("\n")],
  ["blob", async (on, _path, content) => bytesOf(await on.blob(hashOf(content)))],
];

describe("Truth 21: a secret by its name", () => {
  test.each(READS)("%s: a person gets it, an agent does not", async (_, read) => {
    await using project = new Project();
    const { person, agent } = await begun(project);
    for (const path of [".env", "deep/id_rsa"]) {
      expect(FIRST).toContain(await read(person, path, FIRST));
      await expect(read(agent, path, FIRST)).rejects.toMatchObject({ code: "FORBIDDEN" });
    }
    expect("ordinary\n").toContain(await read(agent, "a.txt", "ordinary\n"));
    expect("TOKEN=\n").toContain(await read(agent, ".env.example", "TOKEN=\n"));
  });

  it("has its class in the record, and in a base, over a compaction and a rebuild", async () => {
    await using project = new Project();
    const { person, agent } = await begun(project);
    project.write(".env", SECOND);
    project.write("a.txt", "changed\n");
    await person.snapshot();
    expect([await classIn(person, ".env"), await classIn(person, "a.txt")]).toEqual(["protected", undefined]);
    await person.compact();
    await person.rebuild();
    expect((await person.verify()).problems).toEqual([]);
    for (const path of [".env", "deep/id_rsa"])
      await expect(bytesOf(await agent.file(path))).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect((await person.status()).protected).toEqual({ files: 2, first: [".env", "deep/id_rsa"] });
    project.remove(".env");
    await person.snapshot();
    expect((await person.status()).protected.files).toBe(1);
  });

  it("is undone and restored by an agent, with the bytes and the mode that it had", async () => {
    await using project = new Project();
    const { agent } = await begun(project);
    chmodSync(project.at(".env"), 0o600);
    await agent.run({ command: ["sh", "-c", "echo gone > .env; chmod 644 .env; rm -f deep/id_rsa"] });
    await agent.undo();
    expect([project.read(".env"), statSync(project.at(".env")).mode & 0o777]).toEqual([FIRST, 0o600]);
    expect([project.read("deep/id_rsa"), statSync(project.at("deep/id_rsa")).mode & 0o777]).toEqual([FIRST, 0o400]);
    project.write(".env", SECOND);
    await agent.restore("baseline");
    expect(project.read(".env")).toBe(FIRST);
    await expect(bytesOf(await agent.file(".env"))).rejects.toMatchObject({ code: "FORBIDDEN" });
  });

  it("is in no patch, even for a person; that it changed is told", async () => {
    await using project = new Project();
    const { person } = await begun(project);
    project.write(".env", SECOND);
    project.write("a.txt", "changed\n");
    const unrecorded = await person.diff("baseline", "now", { patch: true });
    await person.snapshot();
    const recorded = await person.diff("baseline", "latest", { patch: true });
    for (const { changes } of [unrecorded, recorded]) {
      expect(tells(JSON.stringify(changes))).toBe(false);
      expect(changes.find(({ path }) => path === ".env")).toMatchObject({ change_type: "modified", protected: true });
      expect(changes.find(({ path }) => path === "a.txt")?.patch).toContain("+changed");
    }
  });

  it("gets no ordinary name from an agent; a person may give it one", async () => {
    await using project = new Project();
    const { person, agent } = await begun(project);
    await expect(agent.moveFile(".env", "env.txt")).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect((await person.log({ prefix: "refused:" })).map((one) => (one.record as { what: string }).what)).toEqual([
      "moveFile",
    ]);
    await agent.moveFile(".env", ".env.production");
    await expect(bytesOf(await agent.file(".env.production"))).rejects.toMatchObject({ code: "FORBIDDEN" });
    await person.moveFile(".env.production", "env.txt");
    expect(await bytesOf(await agent.file("env.txt"))).toBe(FIRST);
    // An ordinary path has the content now, so its hash is served. The secret's own path still is not.
    expect(await bytesOf(await agent.blob(hashOf(FIRST)))).toBe(FIRST);
    await person.moveFile("env.txt", ".env");
    await expect(bytesOf(await agent.file(".env"))).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(await bytesOf(await agent.cat("env.txt"))).toBe(FIRST);
  });

  it("is one by a name that a person adds, and not by one that is taken away, in the whole history", async () => {
    await using project = new Project();
    const { person, agent } = await begun(project);
    expect(await bytesOf(await agent.file("a.txt"))).toBe("ordinary\n");
    await person.configure({ protectedNames: ["*.txt", "!id_rsa"] });
    await expect(bytesOf(await agent.file("a.txt"))).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(await bytesOf(await agent.file("deep/id_rsa"))).toBe(FIRST);
    expect((await person.status()).protected).toEqual({ files: 2, first: [".env", "a.txt"] });
    await expect(person.configure({ protectedNames: ["a/b"] })).rejects.toMatchObject({ code: "USAGE" });
    await expect(agent.configure({ protectedNames: [] })).rejects.toMatchObject({ code: "FORBIDDEN" });
  });

  it("is an ordinary file in a history that recorded it as one", async () => {
    await using project = new Project();
    const { person, agent } = await begun(project);
    await person.configure({ protectedNames: ["!.env"] });
    project.write(".env", SECOND);
    await person.snapshot();
    await person.configure({ protectedNames: [] });
    expect(await classIn(person, ".env")).toBeUndefined();
    expect(await bytesOf(await agent.cat(".env", 2))).toBe(SECOND);
    await expect(bytesOf(await agent.cat(".env", 1))).rejects.toMatchObject({ code: "FORBIDDEN" });
    project.write(".env", THIRD);
    await person.snapshot();
    await expect(bytesOf(await agent.file(".env"))).rejects.toMatchObject({ code: "FORBIDDEN" });
  });

  it("is one although the index says otherwise, in an event of its own and in a base", async () => {
    await using project = new Project();
    const { person, agent } = await begun(project);
    project.write(".env", SECOND);
    await person.snapshot();
    const index = new DatabaseSync(join(project.home, "workspaces", person.id, "index.db"));
    index.exec("UPDATE iterations SET kind = 1 WHERE kind = 4");
    index.close();
    expect((await person.verify()).problems.map(({ kind }) => kind)).toContain("index-wrong");
    for (const path of [".env", "deep/id_rsa"]) {
      await expect(bytesOf(await agent.cat(path, 1))).rejects.toMatchObject({ code: "FORBIDDEN" });
      await expect(bytesOf(await agent.file(path))).rejects.toMatchObject({ code: "FORBIDDEN" });
    }
  });

  it("is one in a fork, too, also by a name that a person has added", async () => {
    await using project = new Project();
    const { person } = await begun(project);
    await person.configure({ protectedNames: ["a.txt"] });
    const store = await project.store();
    const { workspace } = await store.create({ name: "fork", from: { workspace: person.id } });
    const agent = workspace.as({ role: "agent" });
    for (const path of [".env", "deep/id_rsa", "a.txt"])
      await expect(bytesOf(await agent.file(path))).rejects.toMatchObject({ code: "FORBIDDEN" });
    await workspace.close();
  });

  it("is reported by init and status, in one line", async () => {
    using box = new Sandbox();
    box.write(".env", FIRST);
    box.write("src/server.pem", FIRST);
    const said =
      "2 files by name (.env, src/server.pem): recorded, but left out of diffs, and not shown to agents or readers";
    const { stdout } = await box.must(["init"]);
    expect(stdout.split("\n").filter((line) => line.startsWith("secrets"))).toEqual([`secrets  ${said}`]);
    const status = await box.must(["status"]);
    expect(status.stdout.split("\n").filter((line) => line.startsWith("secrets"))).toEqual([`secrets    ${said}`]);
    expect((await box.must(["cat", ".env"])).stdout).toBe(FIRST);
    const refused = await box.call(["cat", ".env"], { env: { CHRONICLE_ROLE: "agent" } });
    expect([refused.code === 0, tells(refused.stdout + refused.stderr)]).toEqual([false, false]);
  });
});

const SECRETS = [".env", "deep/id_rsa", ".env.local"];

/** A served workspace with secrets in every place that an answer is made of. */
class Swept implements AsyncDisposable {
  readonly serving: Serving;
  readonly base: string;
  readonly ids: { readonly action: string; readonly conflict: string };

  private constructor(serving: Serving, id: string, ids: Swept["ids"]) {
    this.serving = serving;
    this.base = `/v1/workspaces/${id}`;
    this.ids = ids;
  }

  requests(): EachRequest {
    return requestsToAll({
      base: this.base,
      ids: this.ids,
      paths: SECRETS,
      hashes: [FIRST, SECOND, THIRD].map(hashOf),
    });
  }

  static async start(): Promise<Swept> {
    const serving = await Serving.start();
    const id = await serving.create("w");
    await serving.put("w", "a.txt", "ordinary\n");
    for (const path of SECRETS) await serving.put("w", path, FIRST);
    await serving.put("w", ".env?session=s1", SECOND);
    await serving.put("w", ".env", THIRD);
    const payload = { path: "deep/id_rsa" };
    const action = await serving.send(`/v1/workspaces/${id}/actions`, { type: "write_file", payload });
    await serving.put("w", "deep/id_rsa", SECOND);
    await serving.send(`/v1/workspaces/${id}/snapshots`, {});
    // Both sides of a conflict are kept, with what would merge them.
    await serving.send(`/v1/workspaces/${id}/undo`, { session: "s1" });
    const { items } = (await serving.ask(`/v1/workspaces/${id}/conflicts`)).json<{ items: { id: string }[] }>();
    const ids = { action: action.json<{ id: string }>().id, conflict: items[0]?.id ?? "" };
    return new Swept(serving, id, ids);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.serving[Symbol.asyncDispose]();
  }
}

describe("Truth 21: every answer over HTTP", () => {
  let swept: Swept;
  beforeAll(async () => {
    swept = await Swept.start();
  });
  afterAll(() => swept[Symbol.asyncDispose]());

  const offered = ROUTES.filter(({ role, on }) => role !== "operator" && on !== "syncs");

  it("is asked for by this sweep", () => {
    expect(swept.ids).toEqual({ action: expect.any(String), conflict: expect.stringMatching(/./) });
    const asked = Object.entries(swept.requests()).filter(([, requests]) => requests.length > 0);
    expect(asked.map(([operation]) => operation).toSorted()).toEqual(offered.map((row) => row.operation).toSorted());
  });

  it("can have the secrets in it, for an operator", async () => {
    const { serving, base } = swept;
    expect((await serving.ask(`${base}/files/.env.local`)).text).toBe(FIRST);
    expect((await serving.ask(`${base}/blobs/${hashOf(THIRD)}`)).text).toBe(THIRD);
  });

  it("says what is wrong if it is refused", async () => {
    const { serving, base } = swept;
    const { status, json } = await serving.ask(`${base}/files/.env.local`, { token: serving.token("reader") });
    expect([status, json()["code"]]).toEqual([403, "FORBIDDEN"]);
    const range = { token: serving.token("reader"), headers: { range: "bytes=0-5" } };
    expect((await serving.ask(`${base}/files/.env.local`, range)).status).toBe(403);
  });

  describe.each<Role>(["reader", "agent"])("for a token of the role %s", (role) => {
    it.each(offered.map((row) => [row.operation, row] as const))("has no byte of them: %s", async (operation, row) => {
      const token = swept.serving.token(role);
      for (const asked of swept.requests()[operation] ?? []) {
        const { status, text } = await answerTo(swept.serving, { ...asked, method: row.method, token });
        expect([asked.path, status < 500, tells(text)]).toEqual([asked.path, true, false]);
      }
    });
  });

  it("has no byte of them over the gateway, for any role", async () => {
    for (const role of ["reader", "agent", "operator"] as const) {
      await using client = await GatewayClient.connect(swept.serving, { token: swept.serving.token(role) });
      for (const path of SECRETS) {
        for (const question of [
          { type: "read_file", path },
          { type: "read_file", path: `${path}/at/1` },
          { type: "file_at_iteration", path, iteration: 1 },
          { type: "file_at_iteration", path, iteration: "last" },
          { type: "file_history", path },
        ]) {
          expect(tells(JSON.stringify(await client.ask({ ...question, session_id: "w" })))).toBe(false);
        }
      }
    }
  });
});

describe("Truth 21: every answer of the MCP server", () => {
  const ARGUMENTS: Readonly<Record<string, readonly object[]>> = {
    diff: [{ patch: true }, { from: "baseline", to: "latest", patch: true }],
    file_history: [{ path: ".env" }],
    read_version: [{ path: ".env" }, { path: ".env", iteration: 1 }, { path: "id_rsa", offset: 3 }],
    find_file: [{ name: ".env" }],
    blame: [{ path: ".env" }],
    grep: [{ pattern: "TOKEN" }, { pattern: "TOKEN", history: true }, { pattern: "T", fixed: true, paths: [".env"] }],
    list_history: [{}],
    list_actions: [{}],
    show_action: [{ action: "none" }],
    what_changed: [{ patch: true }, { since: "baseline", patch: true }, { file: ".env", patch: true }],
    undo: [{ dry_run: true }, {}],
    redo: [{}],
    rollback: [{ action: "none" }],
    restore: [
      { moment: "baseline", dry_run: true },
      { moment: "baseline", paths: [".env"] },
    ],
    list_conflicts: [{ patch: true, all: true }],
    resolve_conflict: [{ conflict: ".env", keep: "current" }],
    status: [{}],
    take_snapshot: [{}],
    verify: [{}],
    begin_transaction: [{}],
    commit_transaction: [{ transaction: "none" }],
    rollback_transaction: [{ transaction: "none" }],
    list_transactions: [{}],
  };

  it("has no byte of the secrets, whichever tool is called", async () => {
    expect(Object.keys(ARGUMENTS).toSorted()).toEqual(TOOLS.map(({ name }) => name).toSorted());
    await using mcp = await McpProject.start((project) => {
      project.write(".env", FIRST);
      project.write("id_rsa", FIRST);
    });
    mcp.project.write(".env", SECOND);
    await mcp.client.call("take_snapshot", {});
    mcp.project.write(".env", THIRD);
    for (const [name, calls] of Object.entries(ARGUMENTS)) {
      for (const given of calls) {
        const { text, data } = await mcp.client.call(name, given);
        expect([name, given, tells(text), tells(JSON.stringify(data))]).toEqual([name, given, false, false]);
      }
    }
    expect(tells(mcp.client.lines.join("\n"))).toBe(false);
  });
});

describe("Truth 21: every answer of the command line, for an agent", () => {
  /**
   * The lines for each command. A command that begins something else, or answers with nothing of a workspace, has none.
   */
  const LINES: Readonly<Record<string, readonly (readonly string[])[]>> = {
    run: [],
    watch: [],
    snapshot: [["snapshot"]],
    init: [["init"]],
    transaction: [["transaction", "list"]],
    list: [["list"]],
    status: [["status"]],
    diff: [["diff"], ["diff", "-p"], ["diff", "baseline", "latest", "-p"]],
    changes: [
      ["changes", "--since", "baseline", "-p"],
      ["changes", "--since", "baseline", "--format", "markdown"],
    ],
    actions: [["actions"]],
    history: [
      ["history", ".env"],
      ["history", "-p", ".env"],
    ],
    blame: [
      ["blame", ".env"],
      ["blame", "id_rsa", "--at", "baseline"],
    ],
    grep: [
      ["grep", "TOKEN"],
      ["grep", "--history", "TOKEN"],
      ["grep", "-F", "TOKEN", ".env", "--at", "baseline"],
    ],
    cat: [
      ["cat", ".env"],
      ["cat", ".env@1"],
      ["cat", "id_rsa"],
    ],
    show: [
      ["show", "1"],
      ["show", "latest"],
      ["show", ".env"],
    ],
    sessions: [["sessions"]],
    turns: [["turns"]],
    log: [["log"], ["log", "-S", "TOKEN"], ["log", "-S", "TOKEN", ".env"]],
    manifest: [["manifest"]],
    explain: [["explain", ".env"]],
    bisect: [["bisect", "-q", "--", "cat", ".env"]],
    files: [["files"]],
    put: [],
    rm: [],
    mv: [["mv", "id_rsa", "key.txt"]],
    undo: [["undo", "--dry-run"]],
    redo: [["redo", "--dry-run"]],
    rewind: [["rewind", "last", "--dry-run"]],
    rollback: [["rollback", "none"]],
    conflicts: [["conflicts", "-p"]],
    resolve: [["resolve", ".env", "--keep", "current"]],
    versions: [["versions"]],
    restore: [["restore", "baseline", "--dry-run"]],
    verify: [["verify"]],
    erase: [["erase", ".env", "--dry-run"]],
    unerase: [["unerase"]],
    head: [["head"]],
    workspaces: [["workspaces"]],
    config: [["config"]],
    du: [["du", "--by", "path"]],
    doctor: [["doctor"]],
    record: [["record", "list"]],
    export: [
      ["export", "--force", "../whole.tar"],
      ["export", "--with-protected", "secrets.tar"],
    ],
    complete: [["complete", "--", "cat", ""]],
    completion: [["completion", "bash"]],
  };
  /** Commands whose answers have no contents of a workspace, and commands that do not end. */
  const OTHERS = [
    "prune",
    "pin",
    "unpin",
    "compact",
    "gc",
    "rebuild",
    "forget",
    "unforget",
    "import",
    "agents",
    "hook",
  ];
  const ENDLESS = ["mcp", "serve", "token", "replicate", "sync", "ui"];

  it("has no byte of the secrets, whichever command is given", async () => {
    const known = [...Object.keys(LINES), ...OTHERS, ...ENDLESS];
    expect(known.toSorted()).toEqual(COMMANDS.map(({ name }) => name).toSorted());
    using box = new Sandbox();
    box.write(".env", FIRST);
    box.write("id_rsa", FIRST);
    await box.must(["init"]);
    box.write(".env", SECOND);
    await box.must(["snapshot"]);
    box.write(".env", THIRD);
    const env = { CHRONICLE_ROLE: "agent" };
    for (const line of Object.values(LINES).flat()) {
      for (const words of [line, ["--json", ...line]]) {
        const { stdout, stderr } = await box.call(words, { env });
        expect([words, tells(stdout), tells(stderr)]).toEqual([words, false, false]);
      }
    }
    const { stdout } = await box.must(["diff", "baseline", "now", "-p"]);
    expect(stdout).toContain("a secret by its name");
    expect(tells(stdout)).toBe(false);
  });
});

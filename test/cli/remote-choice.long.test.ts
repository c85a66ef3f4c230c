import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FileTokenStore } from "../../src/daemon/file-token-store.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { hashToken, newToken } from "../../src/server/callers/token.ts";
import { ServedStore } from "../helpers/served-store.ts";
import { type RunHow, Sandbox } from "./sandbox.ts";

let box: Sandbox;
let folder: string;
let server: ServedStore;

beforeAll(async () => {
  box = new Sandbox();
  folder = join(box.folder, "hosted");
  mkdirSync(join(folder, "sub"), { recursive: true });
  writeFileSync(join(folder, "a.txt"), "one\n");
  writeFileSync(join(folder, "sub", "b.txt"), "b\n");
  server = await ServedStore.start({ folder });
  const { workspace } = await server.store.create({ name: "w" });
  await workspace.putFile("in-w.txt", Buffer.from("w\n"));
  await workspace.close();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  box[Symbol.dispose]();
});

function ask(words: readonly string[], how: RunHow = {}) {
  return box.call(["--remote", server.socketUrl, ...words], how);
}

/** Makes a token that the server knows. */
function tokenOf(role: "agent" | "reader"): string {
  const book = new FileTokenStore(new NodeDisk(), join(server.base, "config"), () => Date.now());
  const token = newToken();
  const created = new Date(0).toISOString();
  book.add({
    id: hashToken(token).slice(0, 12),
    name: role,
    role,
    workspaces: null,
    hash: hashToken(token),
    created,
    expires: null,
  });
  return token;
}

describe("the workspace of a remote command", () => {
  it("is by default that of the server's folder, and paths begin at its root, whatever the current folder", async () => {
    expect(await ask(["cat", "a.txt"])).toMatchObject({ code: 0, stdout: "one\n" });
    expect(await ask(["cat", "sub/b.txt"], { cwd: "hosted/sub" })).toMatchObject({ code: 0, stdout: "b\n" });
    expect(await ask(["cat", join(folder, "sub/b.txt")])).toMatchObject({ code: 0, stdout: "b\n" });
    expect(await ask(["cat", "/etc/passwd"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("paths begin at the workspace's root"),
    });
  });

  it("is named by -w, or after # in the address; -w takes precedence", async () => {
    expect((await ask(["-w", "w", "cat", "in-w.txt"])).stdout).toBe("w\n");
    const at = ["--remote", `${server.socketUrl}#w`];
    expect((await box.call([...at, "cat", "in-w.txt"])).stdout).toBe("w\n");
    expect((await box.call([...at, "-w", "nobody", "status"])).code).toBe(3);
    const env = { CHRONICLE_REMOTE: `${server.socketUrl}#w` };
    expect((await box.call(["cat", "in-w.txt"], { env })).stdout).toBe("w\n");
    expect((await box.call(["--remote", server.socketUrl, "cat", "a.txt"], { env })).stdout).toBe("one\n");
  });

  it("is part of printed commands, as is the address of the server", async () => {
    const at = ["--remote", `${server.socketUrl}#w`];
    const { stdout } = await box.must([...at, "put", "hint.txt"], { input: "h\n" });
    expect(stdout).toContain(`take it back: chronicle --remote '${server.socketUrl}#w' undo`);
    expect((await box.must([...at, "list"])).stdout).toContain(`chronicle --remote '${server.socketUrl}#w' undo`);
  });

  it("is the only one if the server has no folder; if there are several, the error names them", async () => {
    await using other = await ServedStore.start();
    const at = ["--remote", other.socketUrl];
    expect(await box.call([...at, "status"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("the server has no workspace"),
    });
    await box.must([...at, "workspaces", "create", "first"]);
    expect((await box.must([...at, "status"])).stdout).toContain("(no folder)");
    await box.must([...at, "workspaces", "create", "second"]);
    const several = await box.call([...at, "status"]);
    expect(several).toMatchObject({ code: 2, stderr: expect.stringMatching(/name one[\s\S]*first[\s\S]*second/) });
    const { value } = await box.json([...at, "status"]);
    expect(value).toMatchObject({ error: { code: "AMBIGUOUS", data: { workspaces: ["first", "second"] } } });
    await box.must([...at, "workspaces", "archive", "second"]);
    await box.must([...at, "status"]);
  });

  it.each(["agent", "reader"] as const)(
    "is not listed as without a folder if the folder is hidden from the caller: %s",
    async (role) => {
      const env = { CHRONICLE_TOKEN: tokenOf(role) };
      for (const words of [["status"], ["workspaces"]]) {
        const { code, stdout } = await box.call(["--remote", server.url, ...words], { env });
        expect([code, stdout]).toEqual([0, expect.stringContaining("(a folder is shown to operators only)")]);
        expect(stdout).not.toContain("(no folder)");
      }
      expect((await ask(["workspaces"])).stdout).toMatch(/w +\(no folder\)/);
      expect((await ask(["status"], { env: { CHRONICLE_ROLE: "agent" } })).stdout).not.toContain("(no folder)");
    },
  );

  it("`chronicle` without a command prints no introduction if the name is wrong", async () => {
    const { code, stdout } = await ask(["-w", "nobody"]);
    expect([code, stdout]).toEqual([3, ""]);
  });
});

describe("options and commands with --remote", () => {
  it.each([
    [["run", "--", "true"], "transaction begin"],
    [["watch"], "watches the folders"],
    [["init"], "workspaces create"],
    [["serve"], "where the store is"],
    [["token", "list"], "where the store is"],
    [["agents", "status"], "where the agents work"],
    [["hook", "claude"], "where the agent works"],
    [["completion", "bash"], "leave --remote out"],
  ])("%j is refused, because it works on this machine only", async (words, hint) => {
    const { code, stdout, stderr } = await ask(words);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`${words[0]} works on this machine only`);
    expect(stderr).toContain(hint);
  });

  it("with $CHRONICLE_REMOTE, init is refused, but completion, token and commands with --store use this machine", async () => {
    const env = { CHRONICLE_REMOTE: server.socketUrl };
    const refused = await box.call(["init"], { env });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("not with CHRONICLE_REMOTE") });
    expect((await box.call(["completion", "bash"], { env })).code).toBe(0);
    expect((await box.call(["token", "list"], { env })).code).toBe(0);
    expect((await box.call(["workspaces", "--store", box.store], { env })).stderr).toContain(box.store);
    expect((await box.call(["workspaces", "--remote", ""], { env })).stderr).toContain(box.store);
  });

  it.each([
    [["--store", "x", "status"], "give one of them"],
    [["record", "list", "--folder", "x"], "--folder is on this machine"],
    [["prune", "--max-age-days", "3"], "the server has its own"],
    [["prune", "--dry-run", "--now"], "--now is about a store of this machine"],
    [["head", "--accept"], "--accept is about a store of this machine"],
    [["verify", "--repair-from", "x"], "a store is repaired on its own machine"],
    [["transaction", "begin", "--pid", "1"], "through a server, binding work to a process (`pid`) is not possible"],
    [["record", "backup", "x"], "a folder of the server's own machine"],
    [["mcp", "--create"], "a folder of this machine"],
  ])("%j is refused with a message that names the mistake", async (words, said) => {
    const { code, stderr } = await ask(words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  });

  it("the address `unix:` is the server of the default store", async () => {
    const env = { CHRONICLE_HOME: server.store.home };
    expect(await box.call(["--remote", "unix:#w", "cat", "in-w.txt"], { env })).toMatchObject({ stdout: "w\n" });
    expect((await box.call(["--remote", "unix:", "status"])).stderr).toContain("does not answer");
    mkdirSync(join(box.folder, "shared"), { mode: 0o777 });
    chmodSync(join(box.folder, "shared"), 0o777);
    mkdirSync(join(box.store, "run"), { recursive: true });
    symlinkSync(join(box.folder, "shared", "x.sock"), join(box.store, "run", "serve.sock"));
    expect(await box.call(["--remote", "unix:", "status"])).toMatchObject({ code: 6 });
  });

  it("a wrong address, and a server that does not answer, are errors", async () => {
    const told = async (address: string): Promise<string> => {
      const { code, stderr } = await box.call(["--remote", address, "status"]);
      expect(code).toBe(2);
      return stderr;
    };
    for (const address of ["example.org", "unix:relative", "#w", "ftp://h", "http://h/?x=1", "/run/x.sock"])
      expect(await told(address)).toMatch(/^chronicle: --remote.*\n.*unix: alone.*#WORKSPACE/);
    const user = await told("http://u:secret@127.0.0.1:1");
    expect(user).toContain("--token-file");
    expect(user).not.toContain("secret");
    const gone = await box.call(["--remote", `unix:${box.folder}/none.sock`, "status"]);
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining("does not answer") });
    const env = { CHRONICLE_REMOTE: `unix:${box.folder}/none.sock` };
    const offered = await box.call(["complete", "--", "show", ""], { env });
    expect(offered).toMatchObject({ code: 0, stderr: "", stdout: ":4\n" });
  });

  it("completions come from the server", async () => {
    const env = { CHRONICLE_REMOTE: server.socketUrl };
    expect((await box.must(["complete", "--", "-w", "w"], { env })).stdout).toContain("w\t");
  });
});

describe("tokens", () => {
  const at = (words: readonly string[], how: RunHow = {}) => box.call(["--remote", server.url, ...words], how);

  it("a port needs one, from $CHRONICLE_TOKEN or --token-file, which takes precedence", async () => {
    const without = await at(["cat", "a.txt"]);
    expect(without).toMatchObject({ code: 6, stderr: expect.stringContaining("--token-file") });
    const env = { CHRONICLE_TOKEN: server.token };
    expect(await at(["cat", "a.txt"], { env })).toMatchObject({ code: 0, stdout: "one\n" });
    const file = join(box.folder, "token");
    writeFileSync(file, `${server.token}\n`, { mode: 0o600 });
    const wrong = { CHRONICLE_TOKEN: "wrong-wrong-wrong-wrong-wrong" };
    expect(await at(["cat", "a.txt", "--token-file", file], { env: wrong })).toMatchObject({ code: 0 });
    expect((await at(["cat", "a.txt"], { env: wrong })).code).toBe(6);
    chmodSync(file, 0o644);
    expect(await at(["cat", "a.txt", "--token-file", file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("chmod 600"),
    });
    expect((await at(["cat", "a.txt", "--token-file", "missing"])).code).toBe(2);
  });

  it("are never printed", async () => {
    const env = { CHRONICLE_TOKEN: `${server.token}x`, CHRONICLE_DEBUG: "1" };
    const { stdout, stderr } = await at(["--json", "status"], { env });
    expect(stdout + stderr).toContain("UNAUTHENTICATED");
    expect(stdout + stderr).not.toContain(server.token);
  });

  it("of an agent: a command that an agent must not run is refused without a question or a hint at --yes", async () => {
    const agent = tokenOf("agent");
    for (const words of [["prune", "--keep-last", "0"], ["compact", "--drop-archive"], ["forget", "w"], ["gc"]]) {
      const refused = await at(["-w", "w", ...words], { env: { CHRONICLE_TOKEN: agent } });
      expect([words, refused.code]).toEqual([words, 6]);
      expect(refused.stderr).not.toMatch(/--yes|cannot be undone/);
    }
  });

  it("of a reader: the list names no commands that change something", async () => {
    const words = ["-w", "w", "list"];
    expect((await at(words, { env: { CHRONICLE_TOKEN: server.token } })).stdout).toMatch(/chronicle .*restore/);
    const { code, stdout } = await at(words, { env: { CHRONICLE_TOKEN: tokenOf("reader") } });
    expect([code, stdout]).toEqual([0, expect.stringContaining("baseline")]);
    expect(stdout).not.toMatch(/chronicle|take it back/);
  });

  it("an agent with $CHRONICLE_ROLE has the rights and the actor of an agent on the server", async () => {
    const env = { CHRONICLE_ROLE: "agent" };
    expect(await ask(["-w", "w", "config", "maxBytes", "1GiB"], { env })).toMatchObject({ code: 6 });
    expect(await ask(["-w", "w", "gc"], { env })).toMatchObject({ code: 6 });
    await box.must(["--remote", server.socketUrl, "-w", "w", "put", "by-agent"], { env, input: "x" });
    const { value } = await box.json(["--remote", server.socketUrl, "-w", "w", "history", "by-agent"]);
    expect(value).toMatchObject([{ actor: "agent" }]);
  });
});

it("put and undo change the files in the server's folder", async () => {
  await box.must(["--remote", server.socketUrl, "put", "a.txt"], { input: "two\n" });
  expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("two\n");
  await box.must(["--remote", server.socketUrl, "undo"]);
  expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("one\n");
});

describe("mcp", () => {
  it("fails at the start if the server refuses the token", async () => {
    const env = { CHRONICLE_TOKEN: "wrong-wrong-wrong-wrong-wrong" };
    const { code, stdout, stderr } = await box.call(["--remote", server.url, "mcp"], { env });
    expect([code, stdout]).toEqual([6, ""]);
    expect(stderr).toContain("--token-file");
  });

  it("tells an agent that its workspace does not exist", async () => {
    const asked = ["initialize", "tools/call"].map((method, id) => {
      const params =
        method === "initialize"
          ? { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } }
          : { name: "status", arguments: {} };
      return `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
    });
    const ran = box.run(["-w", "nobody", "mcp"], { input: asked.join("") });
    expect(ran.stdout).toContain("this server was set up for that workspace");
  });
});

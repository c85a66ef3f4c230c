import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdirSync } from "node:fs";
import { PassThrough } from "node:stream";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { MAX_MESSAGE_BYTES, serveStdio } from "../../src/mcp/serve-stdio.ts";
import { TOOLS } from "../../src/mcp/make-server.ts";
import { ended, Sandbox } from "../cli/sandbox.ts";
import { McpClient } from "../helpers/mcp-client.ts";
import { McpProject, serverParts } from "../helpers/mcp-project.ts";
import { Project } from "../helpers/project.ts";

function start(box: Sandbox, args: readonly string[] = [], cwd = box.project): ChildProcessWithoutNullStreams {
  const [node = "", ...first] = box.command;
  return spawn(node, [...first, "mcp", ...args], { cwd, env: box.env(), stdio: "pipe" });
}

async function errorsOf(child: ChildProcessWithoutNullStreams): Promise<string> {
  let text = "";
  for await (const piece of child.stderr) text += String(piece);
  return text;
}

const hello = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "script", version: "1" } },
};
const call = (id: number, name: string, args: object = {}): object => ({
  ...{ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } },
});
/** What a client of the newest revision sends with each request, instead of a handshake. */
const newest = (name: string): object => ({
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name, version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
});
const lines = (messages: readonly object[]): string =>
  messages.map((message) => `${JSON.stringify(message)}\n`).join("");

describe("chronicle mcp, as a process", () => {
  it("answers all requests that a script pipes in, prints only the protocol on stdout, and ends with its input", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one");
    await box.must(["init"]);
    box.write("a.txt", "two");
    const asked = [hello, { jsonrpc: "2.0", method: "notifications/initialized" }, call(2, "status"), call(3, "diff")];
    // The last line of a script may lack its line break.
    const { code, stdout, stderr } = box.run(["mcp"], { input: lines(asked).trimEnd() });
    const answers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: number; result: { isError?: boolean } });
    expect(answers.map((one) => one.id).sort((a, b) => a - b)).toEqual([1, 2, 3]);
    expect(answers.some((one) => one.result.isError === true)).toBe(false);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("says how to begin a missing history, works once it has begun, and begins it with --create", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one");
    const child = start(box);
    const client = new McpClient(child.stdin, child.stdout);
    const { instructions } = await client.initialize();
    expect(instructions).toContain("list_actions");
    const refused = await client.call("status");
    expect(refused).toMatchObject({ isError: true, data: { error: { code: "NOT_FOUND" } } });
    expect(refused.text).toContain("chronicle init");
    expect((await box.json(["workspaces"])).value).toMatchObject([]);
    await box.must(["init"]);
    expect((await client.call("status")).isError).toBe(false);
    child.stdin.end();
    expect(await ended(child)).toBe(0);
    mkdirSync(join(box.folder, "other"));
    const made = start(box, ["--create"], join(box.folder, "other"));
    const second = new McpClient(made.stdin, made.stdout);
    await second.initialize();
    expect((await second.call("status")).text).toContain("other");
    made.stdin.end();
    expect(await ended(made)).toBe(0);
  });

  it("follows a change of the exclude patterns while it runs", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const child = start(box);
    const client = new McpClient(child.stdin, child.stdout);
    await client.initialize();
    await client.call("status");
    await box.must(["config", "excludePatterns", "secret"]);
    for (const name of ["secret", "a.txt"]) box.write(name, "x");
    expect((await client.call("take_snapshot")).isError).toBe(false);
    expect((await box.call(["history", "a.txt"])).code).toBe(0);
    expect((await box.call(["history", "secret"])).code).toBe(3);
    child.stdin.end();
    expect(await ended(child)).toBe(0);
  });

  it("ends with code 0 on SIGTERM", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const child = start(box);
    const client = new McpClient(child.stdin, child.stdout);
    await client.initialize();
    await client.call("status");
    child.kill("SIGTERM");
    expect(await ended(child)).toBe(0);
  });

  it("uses the folder that the client names, unless a person named one", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const elsewhere = join(box.folder, "elsewhere");
    mkdirSync(elsewhere);
    await box.must(["init"], { cwd: "elsewhere" });
    const roots = [pathToFileURL(join(box.folder, "missing")).href, pathToFileURL(elsewhere).href];
    const now = [...roots];
    const child = start(box);
    const client = new McpClient(child.stdin, child.stdout, { roots: now });
    await client.initialize();
    expect((await client.call("status")).data["path"]).toBe(elsewhere);
    // Another project is opened in the same window.
    now.splice(0, now.length, pathToFileURL(box.project).href);
    client.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
    expect((await client.call("status")).data["path"]).toBe(box.project);
    child.stdin.end();
    expect(await ended(child)).toBe(0);
    const told = start(box, ["-C", box.project], elsewhere);
    const second = new McpClient(told.stdin, told.stdout, { roots });
    await second.initialize();
    expect((await second.call("status")).data["path"]).toBe(box.project);
    told.stdin.end();
    expect(await ended(told)).toBe(0);
  });

  it("refuses --port without --http", async () => {
    using box = new Sandbox();
    expect(await box.call(["mcp", "--port", "1"])).toMatchObject({ code: 2, stdout: "" });
  });

  it("answers a client of the newest revision without a handshake", async () => {
    using box = new Sandbox();
    const asked = [{ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: newest("new") } }];
    const { stdout } = box.run(["mcp"], { input: lines(asked) });
    const answer = JSON.parse(stdout) as { result: { tools: unknown[] } };
    expect(answer.result.tools).toHaveLength(TOOLS.length);
  });

  it("records the name of a client of the newest revision with its restore", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one");
    await box.must(["init"]);
    box.write("a.txt", "two");
    const asked = { name: "restore", arguments: { moment: "baseline" }, _meta: newest("new-client") };
    const { code } = box.run(["mcp"], {
      input: lines([{ jsonrpc: "2.0", id: 1, method: "tools/call", params: asked }]),
    });
    expect(code).toBe(0);
    const { value } = await box.json(["log"]);
    expect(JSON.stringify(value)).toContain('"client":"new-client"');
  });

  it("reports a line that is not JSON on stderr", async () => {
    using box = new Sandbox();
    const child = start(box);
    const errors = errorsOf(child);
    const client = new McpClient(child.stdin, child.stdout);
    child.stdin.write("this is not JSON\n");
    await client.initialize();
    child.stdin.end();
    expect(await ended(child)).toBe(0);
    expect(await errors).toContain("not JSON");
  });
});

describe("messages that are too long or broken", () => {
  it.each([
    ["with its id first", (args: object) => call(7, "diff", args)],
    [
      "with its id last",
      (args: object) => ({ method: "tools/call", params: { name: "diff", arguments: args }, jsonrpc: "2.0", id: 7 }),
    ],
  ])("100 MB %s are refused without being kept in memory, and the connection stays usable", async (_, make) => {
    await using project = new Project();
    await project.init();
    const { parts } = serverParts(project);
    const [input, output] = [new PassThrough(), new PassThrough()];
    const server = serveStdio(parts, input, output);
    const client = new McpClient(input, output);
    await client.initialize();
    const [head = "", tail = ""] = JSON.stringify(make({ from: "HERE" })).split("HERE");
    const before = process.memoryUsage().rss;
    input.write(head);
    const piece = Buffer.alloc(1024 ** 2, 0x61);
    for (let i = 0; i < 100; i += 1) {
      if (!input.write(piece)) await new Promise((resolve) => input.once("drain", resolve));
    }
    input.write(`${tail}\n`);
    const status = await client.call("status");
    expect(status.isError).toBe(false);
    expect(process.memoryUsage().rss - before).toBeLessThan(90 * 1024 ** 2);
    const refused = client.lines.map((line) => JSON.parse(line) as { id: number; error?: { message: string } });
    expect(refused.find((one) => one.id === 7)?.error?.message).toContain(`at most ${MAX_MESSAGE_BYTES}`);
    input.end();
    await server.done;
    await parts.workspace.close();
  });

  it("a message just below the limit is read", async () => {
    await using mcp = await McpProject.start();
    const answer = await mcp.client.call("show_action", { id: "x".repeat(MAX_MESSAGE_BYTES - 1_000) });
    expect(answer.data["error"]).toMatchObject({ code: "USAGE" });
  });

  it("JSON that is no message is skipped, and reported", async () => {
    await using mcp = await McpProject.start();
    mcp.client.send(["not", "a", "message"]);
    mcp.client.send({ jsonrpc: "2.0", id: 90, method: 12 });
    expect((await mcp.client.call("status")).isError).toBe(false);
    expect(mcp.reports.length).toBeGreaterThan(0);
  });
});

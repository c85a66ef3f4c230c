import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ended, Sandbox } from "./sandbox.ts";
import { open } from "../../src/open.ts";

/** `--store memory:`, and `home: "memory:"` in the library: a store that ends with its process. */

/** A sandbox with its own folder for temporary files. */
class TemporarySandbox extends Sandbox {
  readonly temporary = join(this.folder, "tmp");

  constructor() {
    super();
    mkdirSync(this.temporary);
  }

  override env(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
    return super.env({ TMPDIR: this.temporary, ...more });
  }

  /** The names of leftover files of stores in memory. */
  get left(): string[] {
    return readdirSync(this.temporary).filter((name) => name.startsWith("chronicle-memory-"));
  }
}

describe("--store memory:", () => {
  it.each([["status"], ["init"], ["du"], ["doctor"], ["workspaces"]])(
    "is refused by %s, with a hint",
    async (command) => {
      using box = new TemporarySandbox();
      const { code, stderr } = await box.call(["--store", "memory:", command]);
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /--store memory: exists only until the command ends.*\n.*serve --store memory: --port PORT/,
      );
      expect(box.left).toEqual([]);
      expect(readdirSync(box.project)).toEqual([]);
    },
  );

  it("keeps a history until the server ends, and leaves no files", { timeout: 60_000 }, async () => {
    using box = new TemporarySandbox();
    box.write("a", "one\n");
    const [node = "", ...first] = box.command;
    const args = [...first, "serve", "--store", "memory:", "--port", "0", "--json"];
    const env = box.env({ CHRONICLE_TOKEN: "a-token-of-the-operator-of-this-test" });
    const child = spawn(node, args, { cwd: box.project, env, stdio: ["ignore", "pipe", "inherit"] });
    const url = await new Promise<string>((resolve) => {
      let said = "";
      child.stdout.on("data", (piece) => {
        said += String(piece);
        const found = /"(http:\/\/127[^"]*)"/.exec(said)?.[1];
        if (found !== undefined) resolve(found);
      });
    });
    const ask = async (...words: string[]): Promise<string> => {
      const remote = { CHRONICLE_TOKEN: "a-token-of-the-operator-of-this-test" };
      return (await box.must(["--remote", url, ...words], { env: remote })).stdout;
    };
    await ask("workspaces", "create", "trial");
    writeFileSync(join(box.folder, "given"), "put\n");
    await ask("-w", "trial", "put", "x", join(box.folder, "given"));
    expect(await ask("-w", "trial", "cat", "x")).toBe("put\n");
    await ask("-w", "trial", "undo");
    expect(await ask("-w", "trial", "verify")).toContain("ok: ");
    expect(box.left).toHaveLength(1);
    child.kill("SIGTERM");
    expect(await ended(child)).toBe(0);
    expect(box.left).toEqual([]);
  });

  it("works for `chronicle mcp`, and leaves no files", { timeout: 60_000 }, () => {
    using box = new TemporarySandbox();
    box.write("a", "one\n");
    const call = (id: number, name: string): object => ({
      ...{ jsonrpc: "2.0", id, method: "tools/call" },
      params: { name, arguments: {} },
    });
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const asked = [
      { jsonrpc: "2.0", id: 1, method: "initialize", params: hello },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      call(2, "status"),
    ];
    const input = asked.map((one) => `${JSON.stringify(one)}\n`).join("");
    const { code, stdout } = box.run(["mcp", "--create", "--store", "memory:"], { input });
    expect(code).toBe(0);
    expect(stdout).toContain(box.project);
    expect(box.left).toEqual([]);
  });
});

describe("a store in memory, in the library", () => {
  it("keeps the history of a folder as long as it is open", async () => {
    using box = new TemporarySandbox();
    box.write("a", "one\n");
    const options = { home: "memory:", configFolder: join(box.folder, "none") };
    const workspace = await open({ ...options, folder: box.project, create: true });
    box.write("a", "two\n");
    box.write("b/c", "new\n");
    await workspace.snapshot();
    await workspace.restore("0");
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one\n");
    await workspace.undo();
    expect(readFileSync(join(box.project, "b", "c"), "utf8")).toBe("new\n");
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
    expect(readdirSync(box.folder)).not.toContain("none");
    // The next store in memory is empty.
    await expect(open({ ...options, folder: box.project })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

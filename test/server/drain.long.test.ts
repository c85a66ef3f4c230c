import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { Serving } from "./serving.ts";
import { OwnTime } from "../helpers/own-time.ts";

/** How a server ends: accepted requests are answered, and acknowledged writes are kept. */

describe("a server that is told to leave", () => {
  it("answers the requests that it has accepted, accepts no more, and ends", async () => {
    const serving = await Serving.start();
    await serving.create("w");
    const uploading = request({
      host: "127.0.0.1",
      port: serving.port,
      path: "/v1/workspaces/w/files/a",
      method: "PUT",
    });
    uploading.setHeader("authorization", "Bearer operator-token-of-these-tests");
    const answered = new Promise<number | undefined>((done) => uploading.on("response", (one) => done(one.statusCode)));
    uploading.write("half, ");
    await delay(100);
    serving.server.leave("signal");
    await delay(100);
    await expect(serving.ask("/v1/me")).rejects.toThrow(/ECONNREFUSED/);
    uploading.end("whole");
    expect(await answered).toBe(200);
    await serving.done;
    const workspace = await serving.store.openById("w");
    expect((await workspace.file("a")).size).toBe(11);
    await workspace.close();
    await serving[Symbol.asyncDispose]();
  });

  it("waits for a slow request only for a while, answers it with 503, and writes nothing of it", async () => {
    await using serving = await Serving.start({ limits: { drainMs: 200 } });
    await serving.create("w");
    const socket = connect(serving.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(
      `PUT /v1/workspaces/w/files/a HTTP/1.1\r\nHost: 127.0.0.1:${serving.port}\r\n` +
        "Authorization: Bearer operator-token-of-these-tests\r\nContent-Length: 99\r\n\r\nhalf",
    );
    await delay(100);
    using own = new OwnTime();
    const pieces: string[] = [];
    socket.on("data", (piece) => pieces.push(piece.toString()));
    const ended = new Promise((done) => socket.once("close", done));
    serving.server.leave("signal");
    await serving.done;
    expect(own.ms).toBeLessThan(3_000);
    await ended;
    // A client without an answer gets 503, and nothing of its half-sent file is written.
    expect(pieces.join("")).toMatch(/^HTTP\/1\.1 503 .*"code":"UNAVAILABLE".*within 0\.2 s/s);
    const workspace = await serving.store.openById("w");
    await expect(workspace.file("a")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await workspace.close();
  });

  it("ends streams of events", async () => {
    const serving = await Serving.start();
    await serving.create("w");
    const following = serving.ask("/v1/workspaces/w/events?after=0");
    await delay(200);
    serving.server.leave("signal");
    const { text } = await following;
    expect(text).toContain("id: 1\n");
    await serving[Symbol.asyncDispose]();
  });
});

class Program implements Disposable {
  readonly base = mkdtempSync(join(tmpdir(), "chronicle-program-"));
  readonly children: ChildProcess[] = [];

  constructor() {
    mkdirSync(join(this.base, "project"));
  }

  env(): Record<string, string> {
    return {
      CI: "true",
      PATH: process.env["PATH"] ?? "",
      HOME: this.base,
      CHRONICLE_TOKEN: "a-token-for-these-programs",
    };
  }

  async serve(...args: readonly string[]): Promise<{ child: ChildProcess; port: number; said: () => string }> {
    const child = spawn(process.execPath, [chronicleBin(), "serve", "--port", "0", "--json", ...args], {
      cwd: join(this.base, "project"),
      env: this.env(),
    });
    this.children.push(child);
    let said = "";
    child.stderr?.on("data", (text: Buffer) => (said += text.toString()));
    const line = await new Promise<string>((done, failed) => {
      child.stdout?.once("data", (text: Buffer) => done(text.toString()));
      child.on("exit", (code) => failed(new Error(`ended with ${code}: ${said}`)));
    });
    const { urls, token_from: from } = JSON.parse(line) as { urls: string[]; token_from: string };
    if (from !== "$CHRONICLE_TOKEN") throw new Error(`the token is from ${from}`);
    return { child, port: Number(new URL(urls[0] ?? "").port), said: () => said };
  }

  fetch(port: number, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: "Bearer a-token-for-these-programs", ...init.headers };
    return fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers });
  }

  [Symbol.dispose](): void {
    for (const child of this.children) child.kill("SIGKILL");
    rmSync(this.base, { recursive: true, force: true, maxRetries: 3 });
  }
}

const held: Program[] = [];
const program = (): Program => {
  const made = new Program();
  held.push(made);
  return made;
};
afterEach(() => {
  for (const one of held.splice(0)) one[Symbol.dispose]();
});

const ended = (child: ChildProcess): Promise<number | null> =>
  child.exitCode === null ? new Promise((done) => child.on("exit", done)) : Promise.resolve(child.exitCode);

describe("the program", () => {
  it("loses nothing that it has acknowledged, however often it is killed", async () => {
    const made = program();
    const acknowledged = new Map<string, string>();
    let n = 0;
    for (let round = 0; round < 4; round += 1) {
      const { child, port } = await made.serve();
      if (round === 0) {
        const body = JSON.stringify({ name: "w" });
        await made.fetch(port, "/v1/workspaces", {
          method: "POST",
          body,
          headers: { "content-type": "application/json" },
        });
      }
      let going = true;
      const writer = async (): Promise<void> => {
        while (going) {
          const path = `f${(n += 1)}`;
          const content = `content ${path} ${"x".repeat(n % 500)}`;
          try {
            const answer = await made.fetch(port, `/v1/workspaces/w/files/${path}`, { method: "PUT", body: content });
            if (answer.status === 200) acknowledged.set(path, content);
          } catch {
            return;
          }
        }
      };
      const before = acknowledged.size;
      const writers = [1, 2, 3, 4, 5, 6].map(writer);
      await delay(400);
      // On a busy machine, this time is too short for many writes.
      while (acknowledged.size < before + 6) await delay(20);
      child.kill("SIGKILL");
      await ended(child);
      going = false;
      await Promise.all(writers);
    }
    expect(acknowledged.size).toBeGreaterThan(20);
    const { child, port } = await made.serve();
    for (const [path, content] of acknowledged) {
      expect(await (await made.fetch(port, `/v1/workspaces/w/files/${path}`)).text()).toBe(content);
    }
    const verified = await made.fetch(port, "/v1/workspaces/w/verify");
    expect(await verified.json()).toMatchObject({ ok: true });
    child.kill("SIGTERM");
    expect(await ended(child)).toBe(0);
    expect(existsSync(join(made.base, ".local/state/chronicle/run/serve.sock"))).toBe(false);
  });

  it("hosts the folder that it is started in", async () => {
    const made = program();
    const { child, port } = await made.serve();
    let id: string | null = null;
    while (id === null) {
      id = ((await (await made.fetch(port, "/v1/me")).json()) as { default_workspace: string | null })
        .default_workspace;
    }
    await made.fetch(port, `/v1/workspaces/${id}/files/a.txt`, { method: "PUT", body: "written on disk" });
    expect(readFileSync(join(made.base, "project/a.txt"), "utf8")).toBe("written on disk");
    child.kill("SIGINT");
    expect(await ended(child)).toBe(0);
  });

  it("ends at once at the second signal", async () => {
    const made = program();
    const { child, port } = await made.serve();
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(
      `POST /v1/workspaces HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer a-token-for-these-programs\r\n` +
        "Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
    );
    await delay(300);
    child.kill("SIGTERM");
    await delay(200);
    expect(child.exitCode).toBeNull();
    using own = new OwnTime();
    child.kill("SIGTERM");
    expect(await ended(child)).toBe(1);
    expect(own.ms).toBeLessThan(2_000);
    socket.destroy();
  });

  it("does not print the token on stderr", async () => {
    const made = program();
    const { child, said } = await made.serve();
    child.kill("SIGTERM");
    await ended(child);
    expect(said()).not.toContain("a-token");
  });
});

import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { generateKeyPairSync } from "node:crypto";
import { request as ask } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { innerIo } from "../cli/memory-io.ts";
import { CommandContext } from "../../src/cli/support/context.ts";
import { Input } from "../../src/process/input.ts";
import { plannedPorts } from "../../src/cli/serving/serve-plan.ts";
import { CERTIFICATE, KEY } from "./tls-files.ts";

/** `chronicle serve` as a program: what it listens on, what it says, and what it refuses to do. */

let base: string;
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "chronicle-serving-"));
  writeFileSync(join(base, "cert.pem"), CERTIFICATE);
  writeFileSync(join(base, "key.pem"), KEY);
  writeFileSync(join(base, "noise.pem"), "noise");
  const { privateKey: other } = generateKeyPairSync("ed25519");
  const form = { type: "pkcs8", format: "pem" } as const;
  writeFileSync(join(base, "other.pem"), other.export(form));
  writeFileSync(join(base, "locked.pem"), other.export({ ...form, cipher: "aes-256-cbc", passphrase: "x" }));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

class Running implements AsyncDisposable {
  readonly home: string;
  readonly #child;
  #said = "";

  constructor(args: readonly string[], env: Record<string, string> = {}, home = mkdtempSync(join(base, "home-"))) {
    this.home = home;
    mkdirSync(join(home, "project"), { recursive: true });
    this.#child = spawn(process.execPath, [chronicleBin(), "serve", ...args], {
      cwd: join(home, "project"),
      env: { CI: "true", PATH: process.env["PATH"] ?? "", HOME: home, ...env },
    });
    this.#child.stderr.on("data", (text: Buffer) => (this.#said += text.toString()));
    this.#child.stdout.on("data", (text: Buffer) => (this.#said += text.toString()));
  }

  async said(what: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = what.exec(this.#said);
      if (found !== null) return found;
      if (this.#child.exitCode !== null) throw new Error(`ended with ${this.#child.exitCode}: ${this.#said}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  get text(): string {
    return this.#said;
  }

  async end(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    this.#child.kill("SIGTERM");
    return new Promise((done) => this.#child.on("exit", done));
  }

  ended(): Promise<number | null> {
    return this.#child.exitCode === null
      ? new Promise((done) => this.#child.on("exit", done))
      : Promise.resolve(this.#child.exitCode);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

describe("chronicle serve", () => {
  it("says what it listens on and how to ask it, and what it says works", async () => {
    await using running = new Running(["--port", "0"]);
    const [, command = ""] = await running.said(/ask it: (curl .*)\n/);
    const asked = spawn("sh", ["-c", `${command} -s`]);
    let answer = "";
    asked.stdout.on("data", (text: Buffer) => (answer += text.toString()));
    await new Promise((done) => asked.on("exit", done));
    expect(JSON.parse(answer)).toHaveProperty("items");
    const file = join(running.home, ".config/chronicle/operator.token");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(running.text).not.toContain(readFileSync(file, "utf8").trim());
    await running.said(/project is workspace [0-9a-f-]{36}/);
    expect(await running.end()).toBe(0);
  });

  it("gives way only to a server that is to stay", async () => {
    await using helper = new Running(["--idle", "60"]);
    await helper.said(/listening on/);
    await using stays = new Running(["--port", "0"], {}, helper.home);
    await stays.said(/ask it/);
    expect(await helper.ended()).toBe(0);
    // A server that a hook has started may be in any folder, so it begins no history there.
    expect(helper.text).not.toContain("is workspace");
    await using another = new Running([], {}, helper.home);
    expect([await another.ended(), another.text]).toEqual([
      0,
      expect.stringMatching(/process \d+ already serves .*kill \d+/s),
    ]);
    await using refused = new Running(["--port", "0"], {}, helper.home);
    expect([await refused.ended(), refused.text]).toEqual([
      6,
      expect.stringMatching(/^chronicle: .*does not serve the ports that you asked for\n.*kill \d+\n.*chronicle init/),
    ]);
  });

  it("refuses a socket that the running server does not serve", async () => {
    await using first = new Running([]);
    const [, usual = ""] = await first.said(/listening on (\S+)/);
    const elsewhere = join(base, "elsewhere.sock");
    await using refused = new Running(["--socket", elsewhere], {}, first.home);
    expect([await refused.ended(), refused.text]).toEqual([
      6,
      expect.stringMatching(
        /^chronicle: .*process \d+ already serves .*does not serve the socket .*elsewhere\.sock\n.*kill \d+/,
      ),
    ]);
    await using same = new Running(["--socket", usual], {}, first.home);
    expect([await same.ended(), same.text]).toEqual([0, expect.stringMatching(/process \d+ already serves/)]);
  });

  it("speaks TLS to other machines, under the names that it is given", async () => {
    const args = ["--listen", "127.0.0.1:0", "--allow-host", "files.example", "--tls-cert", join(base, "cert.pem")];
    await using running = new Running([...args, "--tls-key", join(base, "key.pem")], {
      CHRONICLE_TOKEN: "x".repeat(30),
    });
    const [, port = ""] = await running.said(/listening on https:\/\/127\.0\.0\.1:(\d+)/);
    const status = (host: string, token: string): Promise<number | undefined> =>
      new Promise((done, failed) => {
        const headers = { host, authorization: `Bearer ${token}` };
        const options = {
          host: "127.0.0.1",
          port: Number(port),
          path: "/v1/me",
          headers,
          ca: CERTIFICATE,
          servername: "files.example",
        };
        ask(options, (answer) => done(answer.resume().statusCode))
          .on("error", failed)
          .end();
      });
    expect(await status("files.example", "x".repeat(30))).toBe(200);
    expect(await status(`files.example:${port}`, "x".repeat(30))).toBe(200);
    expect(await status("files.example", "y".repeat(30))).toBe(401);
    expect(await status(`127.0.0.1:${port}`, "x".repeat(30))).toBe(421);
  });

  it("refuses a socket in a folder that others can enter", async () => {
    const open = join(base, "open");
    mkdirSync(open);
    chmodSync(open, 0o777);
    await using running = new Running(["--socket", join(open, "s.sock")]);
    expect([await running.ended(), running.text]).toEqual([
      6,
      expect.stringMatching(/can be entered by others.*choose a folder of your own/s),
    ]);
    expect(running.text).not.toContain("chmod");
  });

  it("says why it cannot have a port", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((done) => taken.once("listening", done));
    const { port } = taken.address() as AddressInfo;
    await using running = new Running(["--port", String(port)]);
    expect([await running.ended(), running.text]).toEqual([
      6,
      expect.stringContaining(`chronicle: port ${port} of 127.0.0.1 is taken by another program\n  choose another`),
    ]);
    taken.close();
    const listen = ["--listen", "203.0.113.7:0", "--allow-host", "a.example", "--behind-proxy"];
    await using elsewhere = new Running(listen);
    expect([await elsewhere.ended(), elsewhere.text]).toEqual([
      2,
      expect.stringContaining("203.0.113.7 is no address of this machine"),
    ]);
  });

  it("names an allowed host when it says how to ask it", async () => {
    const listen = ["--listen", "127.0.0.1:0", "--allow-host", "files.example"];
    const tls = ["--tls-cert", join(base, "cert.pem"), "--tls-key", join(base, "key.pem")];
    await using direct = new Running([...listen, ...tls]);
    expect((await direct.said(/ask it.*\n/))[0]).toMatch(/^ask it: .* https:\/\/files\.example:\d+\/v1/);
    await using behind = new Running([...listen, "--behind-proxy"]);
    expect((await behind.said(/ask it.*\n/))[0]).toMatch(/^ask it through the proxy: .* https:\/\/files\.example\/v1/);
  });
});

describe("what the options ask of ports", () => {
  const plan = (options: Record<string, unknown>) =>
    plannedPorts(new CommandContext(innerIo([], { cwd: () => base }), new Input(options, [], 0), []));

  it("is loopback alone, unless --listen says otherwise", () => {
    expect(plan({})).toEqual([]);
    expect(plan({ port: 7420 }).map(({ place }) => place.host)).toEqual(["127.0.0.1", "::1"]);
    expect(plan({ listen: "0.0.0.0:80", allowHost: ["a.example"], behindProxy: true })).toEqual([
      { place: { host: "0.0.0.0", port: 80 }, hosts: ["a.example"], sharedWith: [] },
    ]);
    expect(plan({ listen: "[::]:80", allowHost: ["a"], behindProxy: true })[0]?.place.host).toBe("::");
  });

  it.each([
    [{ listen: "0.0.0.0:80", allowHost: ["a"] }, "for everybody to read"],
    [{ listen: "0.0.0.0:80", behindProxy: true }, "needs --allow-host"],
    [{ listen: "0.0.0.0", allowHost: ["a"], behindProxy: true }, "no HOST:PORT"],
    [{ listen: "x:99999", allowHost: ["a"], behindProxy: true }, "no HOST:PORT"],
    [{ listen: "0.0.0.0:80", allowHost: ["a"], tlsCert: "cert.pem" }, "go together"],
    [{ listen: "x:1", allowHost: ["a"], tlsCert: "none.pem", tlsKey: "key.pem" }, "cannot read --tls-cert none.pem"],
    [
      { listen: "x:1", allowHost: ["a"], tlsCert: "noise.pem", tlsKey: "key.pem" },
      "--tls-cert noise.pem is no PEM file",
    ],
    [
      { listen: "x:1", allowHost: ["a"], tlsCert: "key.pem", tlsKey: "key.pem" },
      "--tls-cert key.pem holds no certificate",
    ],
    [
      { listen: "x:1", allowHost: ["a"], tlsCert: "cert.pem", tlsKey: "cert.pem" },
      "--tls-key cert.pem holds no private key",
    ],
    [
      { listen: "x:1", allowHost: ["a"], tlsCert: "cert.pem", tlsKey: "other.pem" },
      "does not belong to the certificate",
    ],
    [{ listen: "x:1", allowHost: ["a"], tlsCert: "cert.pem", tlsKey: "locked.pem" }, "is locked with a passphrase"],
    [{ port: 70_000 }, "no port 70000"],
    [{ allowHost: ["a"] }, "goes with --listen"],
    [{ port: 1, tlsCert: "c" }, "goes with --listen"],
    [{ allowOrigin: ["https://a.example"] }, "goes with a port"],
    [{ port: 1, allowOrigin: ["*"] }, "is no origin"],
    [{ port: 1, allowOrigin: ["null"] }, "is no origin"],
    [{ port: 1, allowOrigin: ["https://a.example/path"] }, "is no origin"],
  ])("is refused if it is unsafe or wrong: %j", (options, text) => {
    expect(() => plan(options)).toThrow(text);
  });
});

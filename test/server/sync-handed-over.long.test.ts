import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { chronicleBin } from "../helpers/cli-package.ts";

const base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-handed-")));
const children: ChildProcess[] = [];
const WAIT = { timeout: 180_000, interval: 200 };

afterAll(async () => {
  for (const child of children) {
    if (child.exitCode === null && child.signalCode === null && child.kill("SIGKILL")) await once(child, "exit");
  }
  rmSync(base, { recursive: true, force: true, maxRetries: 20 });
});

/** Starts a process that serves the store of `who`. */
function serve(who: string, args: readonly string[]): ChildProcess {
  const cwd = join(base, who);
  mkdirSync(cwd, { recursive: true });
  const env = { CI: "true", PATH: process.env["PATH"] ?? "", HOME: join(base, `${who}-home`), LC_ALL: "C.UTF-8" };
  const child = spawn(process.execPath, [chronicleBin(), "serve", "--quiet", ...args], { cwd, env, stdio: "ignore" });
  children.push(child);
  return child;
}

const socketOf = (who: string): string => join(base, `${who}-home/.local/state/chronicle/run/serve.sock`);

async function answers(who: string, stays: boolean): Promise<void> {
  await expect.poll(async () => (await whoAnswers(socketOf(who), "0.1.0"))?.stays, WAIT).toBe(stays);
}

it(
  "a sync that is begun while another process takes the store over is run by that process",
  { timeout: 600_000 },
  async () => {
    mkdirSync(join(base, "origin"));
    writeFileSync(join(base, "origin/a.txt"), "from the origin");
    serve("origin", ["--replication"]);
    await answers("origin", true);
    const first = serve("desk", ["--idle", "600"]);
    await answers("desk", false);
    const desk = join(base, "followed");
    const body = JSON.stringify({ upstream: `unix:${socketOf("origin")}`, folder: desk });
    const socket = connect(socketOf("desk"));
    socket.on("error", () => undefined);
    await once(socket, "connect");
    const head = `POST /v1/syncs HTTP/1.1\r\nHost: chronicle\r\nContent-Type: application/json\r\nIdempotency-Key: k1\r\n`;
    socket.write(`${head}Expect: 100-continue\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`);
    // The first process must have begun to read the request. If it ended before that, it would reset the request.
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 100 /);
    // The first process has the request, but is stopped. The second one takes its socket, and finds no syncs yet.
    first.kill("SIGSTOP");
    socket.write(body);
    serve("desk", []);
    await answers("desk", true);
    const answer = once(socket, "data");
    first.kill("SIGCONT");
    expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 201 /);
    await expect
      .poll(() => existsSync(join(desk, "a.txt")) && readFileSync(join(desk, "a.txt"), "utf8"), WAIT)
      .toBe("from the origin");
    if (first.exitCode === null) await once(first, "exit");
    // The second process continues the sync.
    writeFileSync(join(base, "origin/b.txt"), "later");
    await expect.poll(() => existsSync(join(desk, "b.txt")), WAIT).toBe(true);
  },
);

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { StoreHealth } from "../../src/daemon/store-health.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { problemOf } from "../../src/server/answers/problem.ts";
import { poisoned } from "../../src/storage/files/blob-trouble.ts";
import { ServerProcess } from "../helpers/server-process.ts";
import { canMount } from "../helpers/trouble.ts";

/**
 * A server on a sick or full disk. A preloaded library makes system calls of the real process fail on the paths that
 * a control file names. The full disk is a small tmpfs.
 */

const folder = mkdtempSync(join(tmpdir(), "chronicle-sick-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const library = join(folder, "sick-disk.so");
const source = join(import.meta.dirname, "..", "helpers", "sick-disk.c");
const canPreload =
  process.platform === "linux" &&
  spawnSync("gcc", ["-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], { stdio: "ignore" }).status === 0;

const EIO = 5;
const EDQUOT = 122;

/** A server whose disk can be made sick. */
class SickServer extends ServerProcess {
  readonly #control: string;

  constructor() {
    const control = join(mkdtempSync(join(folder, "c-")), "sick");
    super([], { LD_PRELOAD: library, SICK_DISK: control });
    this.#control = control;
  }

  /** Calls of this kind on paths that hold `part` fail from now on. */
  sicken(call: "fsync" | "write" | "statx", errno: number, part: string): void {
    writeFileSync(this.#control, `${call} ${errno} ${part}\n`);
  }

  heal(): void {
    rmSync(this.#control, { force: true });
  }
}

interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown> & { readonly data?: { readonly errno?: string } };
}

async function ask(server: ServerProcess, method: string, path: string, body?: string): Promise<Reply> {
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const reply = await fetch(`${server.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await reply.text();
  return { status: reply.status, body: text === "" ? {} : (JSON.parse(text) as Reply["body"]) };
}

async function makeWorkspace(server: ServerProcess, name: string): Promise<string> {
  const { body } = await ask(server, "POST", "/v1/workspaces", JSON.stringify({ name }));
  return String(body["id"] ?? body["workspace"]);
}

const put = (server: ServerProcess, id: string, content: string): Promise<Reply> =>
  ask(server, "PUT", `/v1/workspaces/${id}/files/a.txt`, content);

/** Asks again until the reply has this status, for ten seconds at most. Returns the last reply. */
async function until(asking: () => Promise<Reply>, status: number): Promise<Reply> {
  for (let left = 40; ; left -= 1) {
    const reply = await asking();
    if (reply.status === status || left === 0) return reply;
    await delay(250);
  }
}

function diagnostics(server: ServerProcess): string {
  const file = join(server.home, "run", "diagnostics.log");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

describe.skipIf(!canPreload)("Truth 34: a server on a sick disk (needs gcc)", () => {
  it("stays alive if it cannot look at its socket, and notes the error once", async () => {
    await using server = new SickServer();
    await server.start();
    server.sicken("statx", EIO, "/run/s.sock");
    await delay(2_500);
    expect(server.lives).toBe(true);
    expect((await ask(server, "GET", "/healthz")).status).toBe(200);
    server.heal();
    expect(
      diagnostics(server)
        .split("\n")
        .filter((line) => line.includes("EIO")),
    ).toEqual([expect.any(String)]);
    expect((await until(() => ask(server, "GET", "/readyz"), 200)).status).toBe(200);
  });

  it("refuses writes only to the log whose sync failed, and takes them again by itself once the disk works", async () => {
    await using server = new SickServer();
    await server.start();
    const [sick, sound] = [await makeWorkspace(server, "sick"), await makeWorkspace(server, "sound")];
    expect((await put(server, sick, "one")).status).toBe(200);
    expect((await put(server, sound, "one")).status).toBe(200);
    server.sicken("fsync", EIO, `/workspaces/${sick}/`);
    for (const code of ["IO", "POISONED"]) {
      const { status, body } = await put(server, sick, "two");
      expect.soft([code, status]).toEqual([code, code === "IO" ? 500 : 503]);
      expect
        .soft(body)
        .toMatchObject({ code, data: { errno: "EIO" }, detail: expect.stringContaining("disk fails (EIO)") });
    }
    expect((await put(server, sound, "two")).status).toBe(200);
    const ready = await ask(server, "GET", "/readyz");
    expect(ready).toMatchObject({ status: 503, body: { ok: false, errno: "EIO" } });
    expect(diagnostics(server)).toMatch(/EIO/);
    server.heal();
    expect((await put(server, sick, "three")).status).toBe(200);
    expect((await until(() => ask(server, "GET", "/readyz"), 200)).body).toMatchObject({ ok: true });
    expect(diagnostics(server)).toMatch(/takes writes again/);
    await server.kill("SIGTERM");
    await server.start();
    const read = await fetch(`${server.url}/v1/workspaces/${sick}/files/a.txt`, {
      headers: { authorization: `Bearer ${server.token}` },
    });
    expect(await read.text()).toBe("three");
    expect((await ask(server, "GET", `/v1/workspaces/${sick}/verify`)).body).toMatchObject({ ok: true });
  });

  it("takes the contents of all workspaces again once the disk works, after one sync of contents failed", async () => {
    await using server = new SickServer();
    await server.start();
    const [one, other] = [await makeWorkspace(server, "one"), await makeWorkspace(server, "other")];
    expect((await put(server, one, "early")).status).toBe(200);
    server.sicken("fsync", EIO, `/store/`);
    expect((await put(server, one, "late")).body).toMatchObject({ data: { errno: "EIO" } });
    expect((await put(server, other, "late")).body).toMatchObject({ code: "POISONED", data: { errno: "EIO" } });
    expect(await ask(server, "GET", "/readyz")).toMatchObject({ status: 503, body: { errno: "EIO" } });
    server.heal();
    expect((await put(server, one, "late")).status).toBe(200);
    expect((await put(server, other, "late")).status).toBe(200);
    await server.kill();
    await server.start();
    for (const id of [one, other]) {
      expect((await ask(server, "GET", `/v1/workspaces/${id}/verify`)).body).toMatchObject({ ok: true });
    }
  });

  it("answers 507 if the quota is used up", async () => {
    await using server = new SickServer();
    await server.start();
    const id = await makeWorkspace(server, "one");
    server.sicken("write", EDQUOT, `/store/`);
    const { status, body } = await put(server, id, "a content");
    expect(status).toBe(507);
    expect(body).toMatchObject({ code: "IO", data: { errno: "EDQUOT" }, hint: expect.stringContaining("quota") });
    expect(await ask(server, "GET", "/readyz")).toMatchObject({ status: 503, body: { errno: "EDQUOT" } });
    server.heal();
    expect((await put(server, id, "a content")).status).toBe(200);
  });
});

describe.skipIf(!canMount)("Truth 34: a server on a full disk (needs a mount)", () => {
  it("answers 507 with the reason, and once there is room takes writes and records its folder again", async () => {
    await using server = new ServerProcess();
    mkdirSync(server.home, { mode: 0o700 });
    expect(spawnSync("mount", ["-t", "tmpfs", "-o", "size=8m,mode=700", "none", server.home]).status).toBe(0);
    try {
      await server.start();
      const id = await makeWorkspace(server, "one");
      expect((await put(server, id, "before")).status).toBe(200);
      await server.kill("SIGTERM");
      rmSync(join(server.home, "blobs", "index.db"));
      const filler = join(server.home, "filler");
      spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=4k"], { stdio: "ignore" });
      writeFileSync(join(server.project, "edited.txt"), "while the disk is full\n");
      await server.start();
      const { status, body } = await put(server, id, "x".repeat(50_000));
      expect.soft(status).toBe(507);
      expect
        .soft(body)
        .toMatchObject({ data: { errno: "ENOSPC" }, detail: expect.stringContaining("has no room (ENOSPC)") });
      expect
        .soft(await ask(server, "GET", "/readyz"))
        .toMatchObject({ status: 503, body: { ok: false, errno: "ENOSPC" } });
      expect.soft((await ask(server, "GET", "/healthz")).status).toBe(200);
      const read = await fetch(`${server.url}/v1/workspaces/${id}/files/a.txt`, {
        headers: { authorization: `Bearer ${server.token}` },
      });
      expect.soft(await read.text()).toBe("before");
      rmSync(filler);
      expect.soft((await put(server, id, "x".repeat(50_000))).status).toBe(200);
      expect.soft((await until(() => ask(server, "GET", "/readyz"), 200)).status).toBe(200);
      const { body: me } = await ask(server, "GET", "/v1/me");
      const hosted = String(me["default_workspace"]);
      const found = await until(() => ask(server, "GET", `/v1/workspaces/${hosted}/files/edited.txt/history`), 200);
      expect.soft(found.status).toBe(200);
      expect.soft(diagnostics(server)).toMatch(/ENOSPC/);
    } finally {
      await server.kill();
      spawnSync("umount", ["-l", server.home]);
    }
  }, 30_000);
});

/** Runs `doing` in a process of its own where nobody awaits it. Returns the exit status and the output. */
function ended(doing: string): { readonly status: number | null; readonly told: string } {
  const io = new URL("../../src/cli/start.ts", import.meta.url).href;
  const script = `
    import { processIo } from ${JSON.stringify(io)};
    processIo("1.0.0").onUncaught((error) => console.log("noted " + error.code));
    const failed = (code) => Object.assign(new Error(code), { code });
    ${doing}
    setTimeout(() => { console.log("lives"); process.exit(0); }, 200);`;
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  return { status: ran.status, told: ran.stdout };
}

describe("Truth 34: an uncaught error", () => {
  it.each([
    ["EIO", `setTimeout(() => { throw failed("EIO"); });`],
    ["ENOSPC", `Promise.reject(failed("ENOSPC"));`],
    ["ERR_SQLITE_ERROR", `setImmediate(() => { throw Object.assign(failed("ERR_SQLITE_ERROR"), { errcode: 13 }); });`],
  ])("of the machine does not end the process (%s)", (code, doing) => {
    expect(ended(doing)).toEqual({ status: 0, told: `noted ${code}\nlives\n` });
  });

  it("of the program ends the process, and is noted", () => {
    expect(ended(`setTimeout(() => { throw new TypeError("a mistake"); });`)).toEqual({
      status: 1,
      told: "noted undefined\n",
    });
  });
});

describe("Truth 34: a log that cannot be taken up again", () => {
  it("is reported by the store's health and in each problem, with what to do", () => {
    const disk = SimDisk.fromTree({ "/store/workspaces/w": { folder: 0o700 } });
    const health = new StoreHealth({ disk, home: "/store", onHealed: () => expect.unreachable() });
    const path = "/store/workspaces/w/events.wal";
    const error = poisoned(path, { why: "it may be in the file", errno: "EIO", path, stays: true });
    health.note(error);
    const told = { errno: "EIO", reason: expect.stringContaining("once the server is ended and started anew") };
    expect(health.look()).toMatchObject(told);
    const problem = problemOf(error, { hidden: ["/store"], report: () => undefined });
    expect(problem).toMatchObject({ status: 503, code: "POISONED", data: { errno: "EIO" }, detail: told.reason });
  });
});

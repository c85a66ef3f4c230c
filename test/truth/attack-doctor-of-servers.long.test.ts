import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { DoctorShape } from "../../src/api/store-api.ts";
import { encodeFrame } from "../../src/replication/protocol/frame.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { ServerProcess } from "../helpers/server-process.ts";

const PATIENCE = { timeout: 120_000, interval: 100 };

/** Returns the checks of `doctor` by their names. */
function doctorOf({ base, home }: ServerProcess): Map<string, DoctorShape["checks"][number]> {
  const env = { CI: "true", PATH: process.env["PATH"], HOME: base, XDG_CONFIG_HOME: join(base, "config") };
  const { stdout, stderr } = spawnSync(process.execPath, [chronicleBin(), "--json", "--store", home, "doctor"], {
    cwd: base,
    env,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return new Map((JSON.parse(stdout) as DoctorShape).checks.map((check) => [check.name, check]));
}

/** A replica that claims to have more events than its origin. */
function lie({ socketUrl }: ServerProcess): Disposable {
  const socket = connect(socketUrl.slice("unix:".length)).on("error", () => undefined);
  const head = { sequence: 99_999, hash: "0".repeat(64) };
  const hello = { type: "Hello", versions: [2], sandbox_id: "liar", head, capabilities: [], settled_local_seq: 0 };
  socket.write(encodeFrame({ head: Buffer.from(JSON.stringify(hello)), body: undefined }, 0));
  // The origin's answer shows that it has checked the claim. Then the connection ends.
  socket.once("data", () => socket.end());
  return { [Symbol.dispose]: () => void socket.destroy() };
}

describe("Truth: doctor", { timeout: 300_000 }, () => {
  it("checks the socket that a server was told to have elsewhere, and reports a link to a missing socket", async () => {
    await using server = new ServerProcess();
    await server.start();
    const socket = server.socketUrl.slice("unix:".length);
    const now = doctorOf(server);
    expect(now.get("socket")).toEqual({ name: "socket", ok: true, detail: `answered on ${socket}` });
    expect(now.get("socket folder")).toEqual({ name: "socket folder", ok: true, detail: join(server.base, "run") });
    await server.kill();
    rmSync(socket);
    const link = join(server.home, "run", "serve.sock");
    const dangling = {
      ok: false,
      detail: expect.stringContaining(`${link} leads to ${socket}, which is not there`),
      hint: expect.stringContaining(`rm ${link}`),
    };
    expect(doctorOf(server).get("socket")).toMatchObject(dangling);
    rmSync(join(server.base, "run"), { recursive: true });
    expect(doctorOf(server).get("socket")).toMatchObject(dangling);
  });

  it("reports a false claim of a replica as a note about replicas, and not about hook calls", async () => {
    await using origin = new ServerProcess(["--replication"]);
    writeFileSync(join(origin.project, "a.txt"), "one");
    await origin.start();
    using _liar = lie(origin);
    const log = join(origin.home, "run", "diagnostics.log");
    await vi.waitFor(() => expect(existsSync(log) && readFileSync(log, "utf8")).toContain("put back"), PATIENCE);
    const found = doctorOf(origin);
    expect(found.get("hook calls")).toMatchObject({ ok: true });
    expect(found.get("replicas")).toMatchObject({
      ok: true,
      detail: expect.stringMatching(
        /^1 note about replicas in the last day .*replica liar: the replica holds event 99999/,
      ),
    });
    expect(found.get("long-lived process")).toBeUndefined();
  });
});

import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError, errnoOf } from "../../src/core/values/errors.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { sweepCrashes, type SweepContext } from "../../src/testing/crash-sweep.ts";
import { put, withWorkspace } from "../helpers/engine-sweep.ts";

/**
 * Erasing with `now` on a disk that crashes before, in the middle of and after every operation, with every fate of
 * unsynced data, and with every errno. Afterwards, the content is either erased or whole, `verify` finds no problems,
 * other contents are whole, and another erase and gc work.
 */

const folder = { folder: 0o755 };

const SECRET = "a secret that got in\n".repeat(20);

interface Prepared {
  readonly disk: SimDisk;
  readonly seq: number;
}

async function prepare(): Promise<Prepared> {
  const disk = SimDisk.fromTree({
    ...{ "/proj/a.txt": "kept\n", "/proj/secret.txt": SECRET },
    ...{ "/store": folder, "/config": folder, "/root": folder },
  });
  const seq = await withWorkspace(disk, 0, async (workspace) => {
    put(disk, "/proj/secret.txt", "rotated\n");
    put(disk, "/proj/a.txt", "changed\n");
    await workspace.snapshot();
    return (await workspace.status()).seq;
  });
  return { disk: disk.crash("keep"), seq };
}

async function textOf(workspace: WorkspaceApi, path: string): Promise<string> {
  const pieces = await Array.fromAsync((await workspace.cat(path, 1)).pieces());
  return Buffer.concat(pieces).toString("latin1");
}

/** The secret, or the code of the error: `ERASED`. */
async function secretOf(workspace: WorkspaceApi): Promise<string> {
  try {
    return await textOf(workspace, "secret.txt");
  } catch (error) {
    if (error instanceof ChronicleError) return error.code;
    throw error;
  }
}

let checks = 0;
const full = process.env["SWEEP"] === "full";
const thinned = full ? {} : { every: 5, fates: ["forget", "keep", { seed: 1 }] as const };

async function check(
  disk: SimDisk,
  { seq: least }: Prepared,
  { error, acknowledged }: SweepContext<number>,
): Promise<void> {
  if (errnoOf(error) !== undefined && !(error instanceof ChronicleError))
    throw new Error("a bare system error reached the caller", { cause: error });
  await withWorkspace(disk, 500_000, async (workspace) => {
    expect((await workspace.verify()).problems).toEqual([]);
    expect((await workspace.status()).seq).toBeGreaterThanOrEqual(Math.max(least, ...acknowledged));
    expect(await textOf(workspace, "a.txt")).toBe("kept\n");
    expect(await secretOf(workspace)).toBe((await workspace.erasures()).length > 0 ? "ERASED" : SECRET);
    if (acknowledged.length > 0) expect(await workspace.erasures()).toHaveLength(1);
    checks += 1;
    if (!full && checks % 3 !== 0) return;
    await workspace.erase({ what: "secret.txt", now: true });
    await workspace.gc();
    expect(await secretOf(workspace)).toBe("ERASED");
    expect(await textOf(workspace, "a.txt")).toBe("kept\n");
    expect((await workspace.verify()).problems).toEqual([]);
  });
}

describe("crash sweep", () => {
  it("erase at once", async () => {
    const prepared = await prepare();
    const result = await sweepCrashes<number>({
      ...thinned,
      prepare: () => prepared.disk,
      run: (disk, acknowledge) =>
        withWorkspace(disk, 1_000, async (workspace) => {
          const { event } = await workspace.erase({ what: "secret.txt", now: true });
          acknowledge(event ?? 0);
        }),
      check: (disk, context) => check(disk, prepared, context),
    });
    process.stdout.write(
      `crash sweep of erase: ${result.points} points, ${result.runs} runs, ${result.checks} checks\n`,
    );
    expect(result.points).toBeGreaterThan(20);
  });
});

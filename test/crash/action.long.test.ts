import { expect, it } from "vitest";
import type { ActionShape } from "../../src/api/action-shapes.ts";
import { errnoOf } from "../../src/core/values/errors.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { sweepCrashes, type CrashSweep, type SweepContext } from "../../src/testing/crash-sweep.ts";
import { checkSound, type Fact, newDisk, put, withWorkspace } from "../helpers/engine-sweep.ts";

/**
 * An action, its tool and its end, cut off anywhere. Once the snapshot is acknowledged, an unrecorded edit that the
 * tool destroys can be brought back. Once the end is acknowledged, the change is known to be the action's.
 */

const ALL = process.env["SWEEP_ALL"] !== undefined;
const PRECIOUS = "an edit that nobody recorded\n";

interface Acknowledged extends Fact {
  readonly id: string;
  readonly state: ActionShape["state"];
}

interface Scenario {
  readonly request: { readonly type: string; readonly payload: Readonly<Record<string, string>> };
  readonly tool: (disk: SimDisk) => void;
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  write_file: {
    request: { type: "write_file", payload: { path: "a.txt" } },
    tool: (disk) => put(disk, "/proj/a.txt", "what the tool wrote\n"),
  },
  run_command: {
    request: { type: "run_command", payload: { command: "rm a.txt; make" } },
    tool: (disk) => {
      disk.unlink("/proj/a.txt");
      put(disk, "/proj/made.txt", "by the command\n");
    },
  },
};

async function prepared(): Promise<SimDisk> {
  const disk = newDisk();
  await withWorkspace(disk, 0, async () => undefined);
  put(disk, "/proj/a.txt", PRECIOUS);
  return disk.crash("keep");
}

function text(disk: SimDisk, path: string): string | undefined {
  const size = disk.lstat(path)?.size;
  if (size === undefined) return undefined;
  const fd = disk.open(path, "read");
  const bytes = Buffer.alloc(size);
  disk.read(fd, bytes, 0);
  disk.close(fd);
  return bytes.toString();
}

async function check(disk: SimDisk, context: SweepContext<Acknowledged>): Promise<void> {
  const { acknowledged } = context;
  const last = acknowledged.at(-1);
  // The tool runs only after the snapshot is acknowledged.
  if (last === undefined) expect(text(disk, "/proj/a.txt")).toBe(PRECIOUS);
  await checkSound(disk, context);
  await withWorkspace(disk, 700_000, async (workspace) => {
    await workspace.verifyIntegrity();
    if (last === undefined) return;
    const action = await workspace.showAction(last.id);
    if (last.state !== "open") expect(action.state).toBe(last.state);
    await workspace.rollback(last.id);
    expect(text(disk, "/proj/a.txt")).toBe(PRECIOUS);
    if (last.state !== "open") expect(disk.lstat("/proj/made.txt")).toBeUndefined();
  });
}

/** Runs the tool. An error of the disk is a failure of the tool, but a crash of the machine is thrown. */
function outcomeOf(disk: SimDisk, tool: Scenario["tool"]): "done" | "failed" {
  try {
    tool(disk);
    return "done";
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    // Makes the tool's changes so far durable, so that a loss of power keeps them.
    disk.syncFolder("/proj");
    return "failed";
  }
}

async function sweepOf({ request, tool }: Scenario): Promise<CrashSweep<Acknowledged>> {
  const start = await prepared();
  return {
    prepare: () => start,
    run: (disk, acknowledge) =>
      withWorkspace(disk, 1_000, async (workspace) => {
        const action = await workspace.snapshotAction(request);
        if (action === null) throw new Error("there was nothing to keep");
        acknowledge({ seq: action.seq, hash: action.hash, id: action.id, state: "open" });
        const outcome = outcomeOf(disk, tool);
        const end = await workspace.finishAction(action.id, { outcome });
        const { seq, hash } = await workspace.head();
        acknowledge({ seq, hash, id: action.id, state: end.action.state });
      }),
    check,
  };
}

it.each(Object.keys(SCENARIOS))("a crash anywhere in a %s does not lose an unrecorded edit", async (name) => {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
  const result = await sweepCrashes({ ...(await sweepOf(scenario)), ...(ALL ? {} : { every: 4 }) });
  process.stdout.write(`crash sweep of ${name}: ${result.points} points, ${result.checks} checks\n`);
  expect(result.points).toBeGreaterThan(10);
});

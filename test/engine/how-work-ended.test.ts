import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

it("the list of recent work says which runs and actions did not succeed, with the exit code or the signal", async () => {
  await using project = new Project();
  const workspace = await project.init();
  await workspace.run({ command: ["sh", "-c", "echo 1 > a"] });
  await workspace.run({ command: ["sh", "-c", "echo 2 > a; exit 7"] });
  await workspace.run({ command: ["sh", "-c", "echo 3 > a; kill -TERM $$"] });
  const failing = workspace.action({ type: "write_file", payload: { path: "a" } }, () => {
    project.write("a", "4\n");
    throw new Error("the tool has failed");
  });
  await expect(failing).rejects.toThrow("the tool has failed");
  const { items } = await workspace.recent(4, { actions: true });
  expect(items.map(({ kind, outcome, exit_code, signal }) => ({ kind, outcome, exit_code, signal }))).toEqual([
    { kind: "action", outcome: "failed" },
    { kind: "run", outcome: "failed", signal: "SIGTERM" },
    { kind: "run", outcome: "failed", exit_code: 7 },
    { kind: "run", exit_code: 0 },
  ]);
  const { kinds, kind, outcomes, outcome } = await workspace.ticks();
  const ticks = kind.map((at, n) => `${kinds[at]} ${outcomes[outcome[n] ?? -1]}`);
  expect(ticks.filter((one) => /^(run|tool)/.test(one))).toEqual([
    "run done",
    "run failed",
    "run failed",
    "tool failed",
  ]);
});

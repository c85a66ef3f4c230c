import { afterEach, expect, it, vi } from "vitest";
import { ChronicleError } from "../../core/values/errors.ts";
import { ReplicaRig } from "../../testing/replica-rig.ts";
import { Recorder } from "../capture/recorder.ts";
import { listSessions } from "../actions/session.ts";
import { run, watch } from "./run.ts";

afterEach(() => void vi.restoreAllMocks());

it.each(["run", "watch"] as const)("a %s whose recording does not start leaves no open session", async (what) => {
  await using replica = await ReplicaRig.open({ a: "A" });
  const { context } = replica;
  vi.spyOn(Recorder.prototype, "start").mockRejectedValue(new ChronicleError("IO", "no watch is left"));
  const begun = what === "run" ? run(context, { command: ["true"] }) : watch(context, {});
  await expect(begun).rejects.toThrow("no watch is left");
  const sessions = await listSessions(context);
  expect(sessions.map(({ kind, state }) => [kind, state])).toEqual([[what, "ended"]]);
});

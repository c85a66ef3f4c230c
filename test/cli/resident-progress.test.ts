import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { askProcess } from "../../src/cli/resident/ask-process.ts";
import { performCommand } from "../../src/cli/resident/perform-command.ts";
import { CommandContext } from "../../src/cli/support/context.ts";
import { Input } from "../../src/process/input.ts";
import type { Terminal } from "../../src/daemon/command-call.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import type { Io } from "../../src/process/io.ts";
import { commandCall, VERSION } from "../helpers/resident-server.ts";
import { ServedStore } from "../helpers/served-store.ts";

const TERMINAL: Terminal = { isTerminal: true, colours: false, columns: 40 };
const FILE: Terminal = { isTerminal: false, colours: false, columns: 80 };

/** A command that reports its progress for longer than a second, and ends once `ended` resolves. */
function longCommand(ended: Promise<void>): (io: Io) => Promise<number> {
  return async (io) => {
    const context = new CommandContext(io, new Input({}, [], 0), []);
    const { onProgress } = context.progress();
    onProgress?.({ phase: "restore", done: 1, total: 4, unit: "paths" });
    await sleep(1_100);
    onProgress?.({ phase: "restore", done: 2, total: 4, unit: "paths" });
    await ended;
    context.print("done");
    return 0;
  };
}

describe.each([
  ["a terminal", TERMINAL],
  ["no terminal", FILE],
])("the progress of a command that the store's process carries out, on %s", (_, err) => {
  it("is shown meanwhile on a terminal only, and is no part of the answer", async () => {
    const ended = Promise.withResolvers<void>();
    const progress: ReadonlyMap<string, string>[] = [];
    await using served = await ServedStore.start({
      performs: {
        version: VERSION,
        perform: (call, host) => {
          progress.push(host.progress);
          const own = { configFolder: "", userHome: undefined, version: VERSION, zone: process.env["TZ"] };
          return performCommand(call, { ...own, ...host, store: served.store }, longCommand(ended.promise));
        },
      },
    });
    const shown: string[] = [];
    const call = { ...commandCall(["undo"], served.base, process.env), err };
    const answer = askProcess(new NodeDisk(), served.store.home, call, (text) => {
      shown.push(text);
      ended.resolve();
    });
    if (!err.isTerminal) void sleep(2_500).then(() => ended.resolve());
    expect(await answer).toEqual({ code: 0, output: [[1, Buffer.from("done\n")]] });
    const line = "\r\u001b[2Krestoring  ████████████░░░░░░░░░░░░ 50%";
    expect(shown[0]).toBe(err.isTerminal ? line : undefined);
    expect(progress.map(({ size }) => size)).toEqual([0]);
  });
});

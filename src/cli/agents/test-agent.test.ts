import { expect, it } from "vitest";
import { Sandbox } from "../../../test/cli/sandbox.ts";
import { innerIo } from "../../../test/cli/memory-io.ts";
import { openStore } from "../../open.ts";
import { Input } from "../../process/input.ts";
import { CommandContext } from "../support/context.ts";
import { testAgent } from "./test-agent.ts";

it("a history that a hook began is forgotten if a later hook command fails", async () => {
  using box = new Sandbox();
  const io = innerIo([], { env: box.env(), userHome: box.env()["HOME"] ?? "", cwd: () => box.project, openStore });
  const context = new CommandContext(io, new Input({}, [], 0), []);
  const begin = box.command.map((word) => `'${word}'`).join(" ");
  // The hook's input on stdin contains the folder of the session. The hook begins a history in this folder.
  const hook = `cd "$(sed 's/.*"cwd":"\\([^"]*\\)".*/\\1/')" && ${begin} init >/dev/null`;
  const result = await testAgent(context, "claude", { hook, before: "echo no >&2; exit 3" });
  await context.close();
  expect(result).toEqual({ agent: "claude", ok: false, detail: "PreToolUse ended with 3: no", took_ms: 0 });
  expect((await box.json(["workspaces"])).value).toEqual([]);
});
